#include "core/capture/slack.h"

#include <stdlib.h>

#define SLICE 512u /* blocks between two ticks, on a stack that may be small */

void mt_slack_free(struct mt_slack *s)
{
	free(s->entries);
	*s = (struct mt_slack){0};
}

/* The address's entry, or an empty one. */
static struct mt_slack_entry *place(const struct mt_slack *s, uint64_t address)
{
	uint32_t at = (uint32_t)(mt_pool_hash(address) >> 32) & s->mask;

	while (s->entries[at].usable && s->entries[at].address != address)
		at = (at + 1) & s->mask;
	return &s->entries[at];
}

uint64_t mt_slack_usable(const struct mt_slack *s, const struct mt_pool_cell *b)
{
	const struct mt_slack_entry *e = s->entries ? place(s, b->address) : NULL;

	return e && e->number == b->number ? e->usable : 0;
}

/* Leaves out those whose blocks are gone; grows when most are not. */
static void make_room(struct mt_slack *s, struct mt_live_table *m, const struct mt_segment *ticking)
{
	struct mt_slack old = *s;
	uint32_t live = 0, size = 1024;

	for (uint64_t i = 0; old.entries && i <= old.mask; i++) {
		struct mt_slack_entry *e = &old.entries[i];
		struct mt_live_table_place at;
		const struct mt_pool_cell *b =
			e->usable ? mt_live_table_look_up(m, e->address, &at) : NULL;

		if (!b || b->number != e->number)
			e->usable = 0;
		live += e->usable != 0;
		mt_segment_tick_at(ticking, i);
	}
	while (size < live * 4)
		size *= 2;
	*s = (struct mt_slack){mt_alloc((size_t)size * sizeof *s->entries), size - 1, live};
	for (uint64_t i = 0; old.entries && i <= old.mask; i++) {
		if (old.entries[i].usable)
			*place(s, old.entries[i].address) = old.entries[i];
		mt_segment_tick_at(ticking, i);
	}
	free(old.entries);
}

void mt_slack_note(struct mt_slack *s, struct mt_live_table *m, const struct mt_pool_cell *b,
	uint64_t size, const struct mt_segment *ticking)
{
	struct mt_slack_entry *e;

	if (!size)
		return;
	if (!s->entries || s->used > s->mask / 2)
		make_room(s, m, ticking);
	e = place(s, b->address);
	s->used += !e->usable;
	*e = (struct mt_slack_entry){b->address, b->number, size};
}

uint64_t mt_slack_sum(const struct mt_slack *s, struct mt_live_table *m, const struct mt_profile *p,
	const struct mt_segment *ticking)
{
	struct mt_pool_cell blocks[SLICE];
	struct mt_live_table_walk walk = {0};
	uint64_t sum = 0;
	uint32_t count;

	if (mt_info_is_sampled(&p->info))
		return 0;
	while ((count = mt_live_table_slice(m, &walk, blocks, SLICE))) {
		for (uint32_t i = 0; i < count; i++)
			sum += mt_model_slack(p, blocks[i].group, blocks[i].size,
				mt_slack_usable(s, &blocks[i]));
		mt_segment_tick(ticking);
	}
	return sum;
}
