#include "core/capture/thread_runs_parts.h"

#include <string.h>

#define HOT static inline __attribute__((always_inline))

/* Marks the beginnings that may lead above what their groups have reached, whatever else is open
 * then; all, where an address may be in two runs. */
static void guard_all(const struct mt_merge *m, struct mt_thread_runs *s)
{
	const struct mt_group *groups = m->model->profile->groups;
	uint64_t sizes = 0;
	bool apart = true;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct mt_thread_run *a = &s->runs[i];

		sizes += a->size_max;
		for (const struct mt_thread_run *b = s->runs; b < a; b++)
			apart &= b->highest < a->lowest || b->lowest > a->highest;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		struct mt_thread_run *a = &s->runs[i];
		uint64_t others = sizes - a->size_max;

		for (uint32_t at = 0; at < a->end; at += 2) {
			const struct mt_pair *pair = &a->pairs[at / 2];
			const struct mt_group *g = &groups[pair->group];

			a->guarded[at] = !apart
				| (g->live_bytes + pair->size + others > g->own_peak_bytes)
				| (g->live_count + s->count > g->own_peak_count);
			a->guarded[at + 1] = false;
		}
	}
}

/* The groups without the runs' open blocks, and with them again. */
static void set_aside(const struct mt_merge *m, const struct mt_thread_runs *s, bool back)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct mt_pair *pair = s->runs[i].pairs;
		struct mt_group *g = &m->model->profile->groups[pair->group];

		if (!s->runs[i].first)
			continue;
		g->live_count += back ? 1 : -1ull;
		g->live_bytes += back ? pair->size : -(uint64_t)pair->size;
	}
}

/* What comes next in a run begins a block. False: its group rises above all there was, so that
 * not only sums count; or another run has a block there, so that a free was lost. */
static bool may_begin(const struct mt_merge *m, const struct mt_thread_runs *s, const uint32_t *at,
	uint32_t which)
{
	const struct mt_pair *pair = &s->runs[which].pairs[at[which] / 2];
	const struct mt_group *g = &m->model->profile->groups[pair->group];
	uint64_t bytes = g->live_bytes + pair->size, count = g->live_count + 1;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct mt_pair *other = &s->runs[i].pairs[at[i] / 2];

		if (!(at[i] & 1))
			continue;
		if (other->address == pair->address)
			return false;
		if (other->group == pair->group) {
			bytes += other->size;
			count++;
		}
	}
	return bytes <= g->own_peak_bytes && count <= g->own_peak_count;
}

/* Takes back events up to the last moment at which no run has an open block. */
static void close_batch(struct mt_thread_runs *s, struct mt_batch *b)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < s->count; i++)
		open += b->at[i] & 1;
	while (open && b->events) {
		uint32_t which = s->choices[--b->events], same = 0;
		uint64_t time = s->runs[which].times[--b->at[which]];

		open += b->at[which] & 1 ? 1u : -1u;
		for (uint32_t i = 0; i < s->count; i++)
			same += s->runs[i].times[b->at[i]] == time;
		b->ambiguous -= same > 1;
	}
}

/* All bits or none. The compiler does not know which, and makes no branch of what follows. */
HOT uint64_t mask(bool all)
{
	uint64_t bits = -(uint64_t)all;

	__asm__("" : "+r"(bits));
	return bits;
}

/* Which event comes first, and so on, before a stamp; nearly without branches, since that cannot
 * be foreseen. Of two with the same stamp the run that is at it goes on. */
HOT struct mt_batch order(const struct mt_merge *m, struct mt_thread_runs *s, uint64_t until,
	uint32_t events_max, uint32_t runs)
{
	const struct mt_thread_run *const all = s->runs;
	uint8_t *const choices = s->choices;
	uint64_t next[MT_THREAD_RUNS_MAX], live_bytes = m->model->live_bytes;
	uint64_t top = m->model->step_max_bytes;
	uint32_t at[MT_THREAD_RUNS_MAX], which = 0;
	struct mt_batch b = {0};

	for (uint32_t i = 0; i < runs; i++) {
		at[i] = all[i].first;
		next[i] = all[i].times[at[i]];
	}
	for (; b.events < events_max; b.events++) {
		uint32_t running = which, event = at[0];
		uint64_t time = next[0];
		bool tie = false;

		which = 0;
		for (uint32_t i = 1; i < runs; i++) {
			uint64_t earlier = mask(next[i] - (i == running) < time);

			tie = (tie & !earlier) | (next[i] == time);
			which ^= (which ^ i) & (uint32_t)earlier;
			event ^= (event ^ at[i]) & (uint32_t)earlier;
			time ^= (time ^ next[i]) & earlier;
		}
		if (__builtin_expect(time >= until, 0))
			break;
		live_bytes += (uint64_t)all[which].changes[event];
		if (__builtin_expect(all[which].guarded[event] | (live_bytes > top), 0)) {
			memcpy(b.at, at, sizeof at); /* which is to stay in registers */
			if (live_bytes > m->model->profile->info.peak_bytes
				|| !may_begin(m, s, b.at, which))
				break;
			top = live_bytes > top ? live_bytes : top;
		}
		for (uint32_t i = 0; i < runs; i++) {
			at[i] += which == i;
			next[i] = all[i].times[at[i]];
		}
		choices[b.events] = (uint8_t)which;
		b.ambiguous += tie;
	}
	memcpy(b.at, at, sizeof at);
	b.max_bytes = top; /* what is taken back comes next, in the same step */
	close_batch(s, &b);
	return b;
}

struct mt_batch mt_thread_runs_order(const struct mt_merge *m, struct mt_thread_runs *s,
	uint64_t until, uint32_t events_max)
{
	struct mt_batch b = {0};

	if (s->count < 2)
		return b;
	set_aside(m, s, false);
	guard_all(m, s);
	if (s->count == 2)
		b = order(m, s, until, events_max, 2);
	else
		b = order(m, s, until, events_max, s->count);
	set_aside(m, s, true);
	return b;
}
