#include "core/model/verdicts.h"
#include "core/base/assert.h"
#include "core/model/profile.h"
#include "core/trace/varint.h"

#include <stdlib.h>
#include <string.h>

#define TIME_US_MAX ((1ull << 62) / 1000)

static const struct {
	const char *name, *words;
} verdicts[] = {
#define X(id, name, words) {name, words},
	MT_VERDICTS(X)
#undef X
};

const char *mt_verdict_words(enum mt_verdict verdict)
{
	return verdict < MT_VERDICT_COUNT ? verdicts[verdict].words : "not judged";
}

const char *mt_verdict_name(enum mt_verdict verdict)
{
	return verdict < MT_VERDICT_COUNT ? verdicts[verdict].name : "";
}

void mt_verdicts_add_group(struct mt_verdicts *v, const struct mt_verdict_group *group)
{
	MT_GROW(v->groups, v->group_count, v->group_capacity);
	v->groups[v->group_count++] = *group;
	v->sums[group->verdict].count += group->sum.count;
	v->sums[group->verdict].bytes += group->sum.bytes;
}

void mt_verdicts_add_block(struct mt_verdicts *v, uint64_t number, enum mt_verdict verdict)
{
	if (v->block_count == MT_VERDICT_BLOCKS_MOST) {
		v->listed = false;
		return;
	}
	MT_GROW(v->blocks, v->block_count, v->block_capacity);
	v->blocks[v->block_count++] = number << 2 | verdict;
}

uint32_t mt_verdicts_add_root(struct mt_verdicts *v, uint32_t kind, const char *words)
{
	mt_assert(v->root_count < MT_VERDICT_ROOTS_MOST);
	MT_GROW(v->roots, v->root_count, v->root_capacity);
	v->roots[v->root_count] = (struct mt_verdict_root){kind, mt_strdup(words)};
	return v->root_count++;
}

void mt_verdicts_free(struct mt_verdicts *v)
{
	for (uint32_t i = 0; i < v->root_count; i++)
		free(v->roots[i].words);
	free(v->roots);
	free(v->ways);
	free(v->groups);
	free(v->blocks);
	*v = (struct mt_verdicts){0};
}

enum mt_verdict mt_verdicts_find(const struct mt_verdicts *v, uint64_t number)
{
	uint32_t low = 0, high = v->block_count;

	if (!v->listed || number >= v->next_number)
		return MT_VERDICT_NONE;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (v->blocks[middle] >> 2 < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < v->block_count && v->blocks[low] >> 2 == number
		? (enum mt_verdict)(v->blocks[low] & 3)
		: MT_VERDICT_REACHABLE;
}

/* ---- the payload ----------------------------------------------------------------------------- */

/* A holder that is near in the list is a small number. */
static uint64_t code_of(uint32_t holder, uint32_t own)
{
	if (holder == MT_HOLDER_NONE)
		return 0;
	return holder & MT_HOLDER_ROOT ? 1 + (uint64_t)(holder & ~MT_HOLDER_ROOT) * 2
				       : 2 + mt_zigzag((uint64_t)holder - own) * 2;
}

static void encode_ways(const struct mt_verdicts *v, struct mt_buffer *payload)
{
	uint64_t before = 0;

	mt_varint_add(payload, v->root_count);
	for (uint32_t i = 0; i < v->root_count; i++) {
		size_t len = strlen(v->roots[i].words);

		if (len > MT_VERDICT_WORDS_MOST)
			len = MT_VERDICT_WORDS_MOST;
		mt_varint_add(payload, v->roots[i].kind);
		mt_varint_add(payload, len);
		mt_buffer_add(payload, v->roots[i].words, len);
	}
	mt_varint_add(payload, v->way_count);
	for (uint32_t i = 0; i < v->way_count; i++) {
		const struct mt_verdict_way *w = &v->ways[i];

		mt_varint_add(payload, w->number - before);
		mt_varint_add(payload, code_of(w->holder, i));
		mt_varint_add(payload, w->word);
		before = w->number;
	}
}

void mt_verdicts_encode(const struct mt_verdicts *v, struct mt_buffer *payload)
{
	uint64_t before = 0;

	mt_varint_add(payload, v->moment_ns / 1000);
	mt_varint_add(payload, v->next_number);
	mt_varint_add(payload, v->image);
	mt_varint_add(payload, v->at_end);
	mt_varint_add(payload, v->listed);
	mt_varint_add(payload, v->group_count);
	for (uint32_t i = 0; i < v->group_count; i++) {
		const struct mt_verdict_group *g = &v->groups[i];

		mt_varint_add(payload, g->group - before);
		mt_varint_add(payload, g->verdict);
		if (g->verdict == MT_VERDICT_INDIRECT)
			mt_varint_add(payload, g->leader);
		mt_varint_add(payload, g->sum.count);
		mt_varint_add(payload, g->sum.bytes);
		before = g->group;
	}
	before = 0;
	mt_varint_add(payload, v->listed ? v->block_count : 0);
	for (uint32_t i = 0; v->listed && i < v->block_count; i++) {
		uint64_t number = v->blocks[i] >> 2;

		mt_varint_add(payload, (number - before) << 2 | (v->blocks[i] & 3));
		before = number;
	}
	encode_ways(v, payload);
}

static void read_roots(struct mt_verdicts *v, struct mt_cursor *in)
{
	uint64_t count = mt_cursor_bounded(in, MT_VERDICT_ROOTS_MOST);

	for (uint64_t i = 0; i < count && !in->bad; i++) {
		uint32_t kind = (uint32_t)mt_cursor_bounded(in, UINT32_MAX);
		uint64_t len = mt_cursor_bounded(in, MT_VERDICT_WORDS_MOST);
		const uint8_t *bytes = mt_cursor_bytes(in, len);
		char words[MT_VERDICT_WORDS_MOST + 1] = "";

		if (!bytes || memchr(bytes, 0, len)) {
			mt_cursor_fail(in);
			return;
		}
		memcpy(words, bytes, len);
		mt_verdicts_add_root(v, kind, words);
	}
}

static uint32_t read_holder(const struct mt_verdicts *v, struct mt_cursor *in, uint64_t own,
	uint64_t count)
{
	uint64_t code = mt_cursor_varint(in);

	if (!code)
		return MT_HOLDER_NONE;
	if (code & 1) {
		if (code / 2 < v->root_count)
			return MT_HOLDER_ROOT | (uint32_t)(code / 2);
	} else if (own + mt_unzigzag(code / 2 - 1) < count) {
		return (uint32_t)(own + mt_unzigzag(code / 2 - 1));
	}
	mt_cursor_fail(in);
	return MT_HOLDER_NONE;
}

static void read_ways(struct mt_verdicts *v, struct mt_cursor *in)
{
	uint64_t count = mt_cursor_bounded(in, mt_cursor_left(in) / 3), number = 0;

	if (count > MT_VERDICT_WAYS_MOST)
		mt_cursor_fail(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		uint64_t step = mt_cursor_bounded(in, v->next_number);

		number += step;
		if (number >= v->next_number || (i && !step))
			mt_cursor_fail(in);
		MT_GROW(v->ways, v->way_count, v->way_capacity);
		struct mt_verdict_way *w = &v->ways[v->way_count++];

		w->number = number;
		w->holder = read_holder(v, in, i, count);
		w->word = (uint32_t)mt_cursor_bounded(in, UINT32_MAX);
	}
}

static void read_groups(struct mt_verdicts *v, struct mt_cursor *in, uint32_t group_count)
{
	uint64_t count = mt_cursor_bounded(in, mt_cursor_left(in) / 4), group = 0;

	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct mt_verdict_group g;

		group += mt_cursor_bounded(in, group_count);
		if (group >= group_count)
			mt_cursor_fail(in);
		g.group = g.leader = (uint32_t)group;
		g.verdict = (enum mt_verdict)mt_cursor_bounded(in, MT_VERDICT_COUNT - 1);
		if (g.verdict == MT_VERDICT_INDIRECT)
			g.leader = (uint32_t)mt_cursor_bounded(in, group_count - 1ull);
		g.sum.count = mt_cursor_bounded(in, UINT64_MAX >> 20);
		g.sum.bytes = mt_cursor_bounded(in, UINT64_MAX >> 4);
		if (!in->bad)
			mt_verdicts_add_group(v, &g);
	}
}

static void read_blocks(struct mt_verdicts *v, struct mt_cursor *in)
{
	uint64_t count = mt_cursor_bounded(in, MT_VERDICT_BLOCKS_MOST), number = 0;

	for (uint64_t i = 0; i < count && !in->bad; i++) {
		uint64_t code = mt_cursor_varint(in);

		number += code >> 2;
		if (number >= v->next_number || (i && !(code >> 2))
			|| (code & 3) == MT_VERDICT_REACHABLE)
			mt_cursor_fail(in);
		else
			mt_verdicts_add_block(v, number, (enum mt_verdict)(code & 3));
	}
}

const char *mt_verdicts_decode(struct mt_verdicts *v, const struct mt_buffer *payload,
	uint32_t group_count)
{
	struct mt_cursor in = {payload->data, payload->data + payload->len, false};

	mt_verdicts_free(v);
	v->moment_ns = mt_cursor_bounded(&in, TIME_US_MAX) * 1000;
	v->next_number = mt_cursor_bounded(&in, UINT64_MAX >> 2);
	v->image = (uint32_t)mt_cursor_bounded(&in, UINT32_MAX);
	v->at_end = mt_cursor_bounded(&in, 1);
	v->listed = mt_cursor_bounded(&in, 1);
	read_groups(v, &in, group_count);
	read_blocks(v, &in);
	if (!in.bad && in.at != in.end) { /* older traces end here */
		read_roots(v, &in);
		read_ways(v, &in);
	}
	if (!in.bad && in.at == in.end)
		return NULL;
	mt_verdicts_free(v);
	return "the leak check is not what it should be";
}

/* ---- columns --------------------------------------------------------------------------------- */

/* X(verdict, count's name, heading, words, size's name, heading, words) */
#define COLUMNS(X) \
	X(LOST, "lost_count", "LOSTBLK", "blocks definitely lost", "lost_size", "LOST", \
		"bytes definitely lost") \
	X(INDIRECT, "indirect_count", "INDIRBLK", "blocks indirectly lost", "indirect_size", \
		"INDIRECT", "bytes indirectly lost") \
	X(POSSIBLE, "possible_count", "POSSBLK", "blocks possibly lost", "possible_size", \
		"POSSIBLE", "bytes possibly lost") \
	X(REACHABLE, "reachable_count", "REACHBLK", "blocks still reachable", "reachable_size", \
		"REACHED", "bytes still reachable")

static void add_column(struct mt_profile *p, enum mt_verdict verdict, bool size,
	struct mt_group_column *column)
{
	const struct mt_verdicts *v = p->verdicts;

	column->count = p->group_count;
	column->width = 1;
	column->as_of_ns = v->at_end ? 0 : v->moment_ns;
	column->values = mt_alloc((p->group_count + 1ull) * sizeof *column->values);
	for (uint32_t i = 0; i < v->group_count; i++)
		if (v->groups[i].verdict == verdict)
			column->values[v->groups[i].group] +=
				size ? v->groups[i].sum.bytes : v->groups[i].sum.count;
	if (mt_profile_add_column(p, column))
		free(column->values); /* no room: others have taken it */
}

void mt_profile_take_verdicts(struct mt_profile *p, struct mt_verdicts *v)
{
	p->verdicts = v;
#define X(id, count, count_heading, count_words, size, size_heading, size_words) \
	add_column(p, MT_VERDICT_##id, true, \
		&(struct mt_group_column){.name = size, \
			.heading = size_heading, \
			.words = size_words, \
			.unit = MT_UNIT_BYTES}); \
	add_column(p, MT_VERDICT_##id, false, \
		&(struct mt_group_column){.name = count, \
			.heading = count_heading, \
			.words = count_words, \
			.unit = MT_UNIT_COUNT, \
			.aside = true});
	COLUMNS(X)
#undef X
}
