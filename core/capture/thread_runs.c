#include "core/capture/thread_runs.h"
#include "core/capture/events.h"
#include "core/capture/thread_runs_parts.h"
#include "core/trace/pair_encoder.h"

#include <stdlib.h>

#define FEW 8u          /* pairs of a run are asked for at least */
#define EVENTS_MIN 16u  /* that are worth it */
#define PAUSE_MAX 1024u /* attempts left out where there were fewer */

void mt_thread_runs_free(struct mt_thread_runs *s)
{
	free(s);
}

/* ---- one ring after the other ---------------------------------------------------------------- */

/* The end of an open block, which the model knows already. */
static void take_end(struct mt_merge *m, const struct mt_thread_run *s, struct mt_columns *columns)
{
	struct mt_event e;

	mt_event_fill(&e, m, s->ring, &s->ring->open->cell, MT_EVENT_FREE,
		(uint16_t)s->pairs->function, 0);
	mt_columns_encode(columns, &e);
	s->ring->open = NULL;
}

static void take_pairs(struct mt_merge *m, const struct mt_thread_run *s, uint32_t end,
	struct mt_columns *columns)
{
	struct mt_group *groups = m->model->profile->groups;
	uint32_t thread = s->ring->thread, count = end - s->first;
	uint64_t same_until = 0, begin_ns = m->now_ns, end_ns = begin_ns, bytes = 0;
	struct mt_pair_encoder encoder =
		mt_pair_encoder_begin(columns, thread, m->next_number, count);

	for (uint32_t i = s->first; i < end; i++) {
		const struct mt_pair pair = s->pairs[i];

		if (__builtin_expect(pair.end >= same_until, 0)) {
			mt_event_set_time(m, pair.begin);
			begin_ns = m->now_ns;
			mt_event_set_time(m, pair.end);
			end_ns = m->now_ns;
			same_until = m->stamp_end;
			mt_pair_encode_times(&encoder, begin_ns, end_ns);
		}
		mt_model_pair(m->model, &groups[pair.group], pair.size, begin_ns);
		mt_pair_encode(&encoder, pair.address, pair.size, pair.group,
			(uint16_t)pair.function);
		begin_ns = end_ns;
		bytes += pair.size;
	}
	mt_pair_encoder_end(&encoder);
	m->next_number += count;
	mt_model_pairs(m->model, thread, count, bytes, m->next_number, end_ns);
}

/* The run's events up to one; from_ns: when the batch begins. */
static void take(struct mt_merge *m, const struct mt_thread_run *s, uint32_t end,
	struct mt_columns *columns, uint64_t from_ns)
{
	struct mt_ring *r = s->ring;

	m->now_ns = from_ns;
	m->stamp_end = 0;
	if (s->first) {
		mt_event_set_time(m, s->times[1]);
		take_end(m, s, columns);
	}
	if (end / 2 > s->first)
		take_pairs(m, s, end / 2, columns);
	m->model->profile->info.events += end - s->first;
	r->time = s->times[end - 1];
	r->consumed = r->decoded += end - s->first;
	if (r->consumed - r->published_tail >= MT_RING_STEP)
		mt_merge_step(m, r);
}

/* Open blocks end before anything rises: in what order does not matter but for that. False: one is
 * in the table by now. */
static bool end_open_blocks(struct mt_merge *m, const struct mt_thread_runs *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->runs[i].first && !s->runs[i].ring->open->cell.address)
			return false;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct mt_thread_run *run = &s->runs[i];
		struct mt_block block;

		if (!run->first)
			continue;
		block = mt_pool_block(
			mt_live_table_close(&m->live, run->ring->open, run->pairs->address));
		mt_model_free(m->model, &block, m->now_ns);
	}
	return true;
}

static void take_all(struct mt_merge *m, struct mt_thread_runs *s, const struct mt_batch *b,
	struct mt_columns *columns)
{
	uint64_t from_ns = m->now_ns, to_ns = from_ns;

	mt_columns_thread_runs(columns, s->choices, b->events, s->count);
	m->model->step_max_bytes = b->max_bytes;
	for (uint32_t i = 0; i < s->count; i++) {
		if (b->at[i] == s->runs[i].first)
			continue;
		take(m, &s->runs[i], b->at[i], columns, from_ns);
		to_ns = m->now_ns > to_ns ? m->now_ns : to_ns;
	}
	m->now_ns = to_ns;
	m->stamp_end = 0;
	m->unflushed += b->events;
	m->model->profile->info.ambiguous += b->ambiguous;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The places of the rings in the order of what comes next; of those with the same stamp, that of
 * the last event goes on. What is not due stands where its ring was last: the order takes later
 * stamps for damage. */
static void settle(struct mt_merge *m, const struct mt_ring *last)
{
	struct mt_order_entry *first = m->order.entries;

	for (uint32_t i = 0; i < m->order.count; i++) {
		struct mt_order_entry *entry = &m->order.entries[i];
		const struct mt_ring *r = &m->rings[entry->ring];
		uint64_t next = mt_thread_runs_not_before(r, r->decoded, r->time);

		if (!r->ready)
			entry->time = next <= m->horizon ? next : r->time;
	}
	mt_order_arrange(&m->order);
	for (uint32_t i = 1; i < m->order.count; i++) {
		struct mt_order_entry *entry = &m->order.entries[i];

		if (entry->time != first->time || &m->rings[entry->ring] != last)
			continue;
		entry->ring = first->ring;
		first->ring = (uint32_t)(last - m->rings);
	}
}

/* The stamp that the batch must not reach, so that all of it is in the timeline's open step; from:
 * the first one. */
static uint64_t step_end(const struct mt_merge *m, uint64_t from)
{
	uint64_t ns = mt_clock_ns(m->clock, from), end_ns = m->model->step_end_ns, left;

	ns = ns < m->now_ns ? m->now_ns : ns;
	left = ns < end_ns ? end_ns - ns : 0;

	if (left >> 28) /* it does not end soon; whether it does is looked at again */
		return UINT64_MAX;
	return from + (left * m->stamps_per_ns >> 32);
}

/* Whether the time from the first to the last stamp of the batch goes on, within the step. */
static bool within_step(const struct mt_merge *m, const struct mt_thread_runs *s,
	const struct mt_batch *b, uint64_t from)
{
	uint32_t which = s->choices[b->events - 1];
	uint64_t to = s->runs[which].times[b->at[which] - 1];

	return to - from < 1ull << 62
		&& (int64_t)(from - m->clock->anchor) <= (int64_t)(to - m->clock->anchor)
		&& mt_clock_ns(m->clock, to) < m->model->step_end_ns;
}

/* Asks for as many pairs as came of it, and a few more; where little does, not so soon again. */
static bool learn(struct mt_thread_runs *s, uint32_t events, bool good)
{
	uint32_t most = 2 * s->most < events ? 2 * s->most : events;

	s->most = most > MT_THREAD_RUN_PAIRS ? MT_THREAD_RUN_PAIRS : most < FEW ? FEW : most;
	s->pause = good ? 0 : s->pause_after;
	s->pause_after = good ? 1 : s->pause_after < PAUSE_MAX ? 2 * s->pause_after : PAUSE_MAX;
	return good;
}

bool mt_thread_runs_take(struct mt_merge *m, uint64_t from)
{
	struct mt_thread_runs *s = m->runs;
	struct mt_columns *columns;
	uint64_t until = m->horizon < UINT64_MAX ? m->horizon + 1 : UINT64_MAX, step;
	uint32_t room = m->block_events - m->unflushed, left;
	struct mt_batch b;

	if (!s) {
		s = m->runs = mt_alloc(sizeof *s);
		s->pause_after = 1;
	}
	if (s->pause) {
		s->pause--;
		return false;
	}
	mt_event_set_time(m, from);
	step = step_end(m, from);
	/* a full block is not for the writer to close: definitions come first */
	if (room < EVENTS_MIN || step <= from)
		return false;
	columns = mt_trace_writer_columns(m->writer, m->next_number, m->now_ns, &left);
	room = left < room ? left : room;
	until = mt_thread_runs_gather(m, s, step < until ? step : until);
	b = mt_thread_runs_order(m, s, until, room);
	if (!learn(s, b.events,
		    b.events >= EVENTS_MIN && within_step(m, s, &b, from) && end_open_blocks(m, s)))
		return false;
	take_all(m, s, &b, columns);
	settle(m, s->runs[s->choices[b.events - 1]].ring);
	if (m->unflushed >= m->block_events && m->flush)
		m->flush(m->context);
	return true;
}
