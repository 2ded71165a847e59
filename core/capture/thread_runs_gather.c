#include "core/capture/events.h"
#include "core/capture/thread_runs_parts.h"

uint64_t mt_thread_runs_not_before(const struct mt_ring *r, uint64_t position, uint64_t time)
{
	struct mt_wire_record record;

	if (position >= r->first_head)
		return UINT64_MAX;
	record = mt_ring_read(r, position);
	return mt_ring_is_plain(&record) ? time + mt_wire_record_delta(&record) : time + 1;
}

/* The end of the ring's open block as the first pair. False: that is not what comes next. */
static bool gather_end(struct mt_thread_run *s)
{
	const struct mt_ring *r = s->ring;
	const struct mt_pool_cell *cell = &r->open->cell;
	struct mt_wire_record record = mt_ring_read(r, r->decoded);
	struct mt_pair *pair = s->pairs;

	*pair = (struct mt_pair){
		.address = cell->address,
		.end = r->time + mt_wire_record_delta(&record),
		.size = (uint32_t)cell->size,
		.group = cell->group,
		.function = mt_wire_record_node(&record),
	};
	s->times[1] = pair->end;
	s->changes[1] = -(int64_t)pair->size;
	s->size_max = pair->size;
	s->lowest = s->highest = pair->address;
	return r->decoded < r->limit && pair->address && pair->size == cell->size
		&& pair->function < MT_FUNCTION_COUNT
		&& mt_pairs_is_end(&record, pair->address >> 3);
}

/* Reads up to so many pairs that end before a stamp. Returns up to when that is all there is. */
static uint64_t gather(struct mt_merge *m, struct mt_thread_run *s, uint32_t most, uint64_t until)
{
	const struct mt_pair_groups groups = mt_pair_groups(m);
	struct mt_ring *r = s->ring;
	bool many = m->model->live_count >= MT_PREFETCH_MANY;
	uint64_t lowest = UINT64_MAX, highest = 0, size_max = 0, opened = 0;
	uint64_t position = r->decoded, time = r->time, next;
	uint32_t count = 0;

	s->first = s->end = 0;
	if (r->open) {
		if (!gather_end(s)) {
			next = mt_thread_runs_not_before(r, position, time);
			return next < until ? next : until;
		}
		s->first = count = 1;
		lowest = highest = opened = s->lowest;
		size_max = s->size_max;
		time = s->times[1];
		position++;
	}
	for (; count < most && position + 2 <= r->limit; position += 2, count++) {
		struct mt_wire_record begin = mt_ring_read(r, position);
		struct mt_wire_record end = mt_ring_read(r, position + 1);
		struct mt_pair *pair = &s->pairs[count];

		if (!mt_pair_read(&begin, &end, time, groups, pair) || pair->end >= until
			|| (pair->address != opened
				&& !mt_live_table_lacks(&m->live, pair->address)))
			break;
		if (many)
			mt_prefetch_look(m, r, position);
		time = pair->end;
		s->times[2 * count] = pair->begin;
		s->times[2 * count + 1] = pair->end;
		s->changes[2 * count] = pair->size;
		s->changes[2 * count + 1] = -(int64_t)pair->size;
		size_max = pair->size > size_max ? pair->size : size_max;
		lowest = pair->address < lowest ? pair->address : lowest;
		highest = pair->address > highest ? pair->address : highest;
	}
	s->times[2 * count] = UINT64_MAX;
	s->end = 2 * count;
	s->size_max = size_max;
	s->lowest = lowest;
	s->highest = highest;
	next = mt_thread_runs_not_before(r, position, time);
	return next < until ? next : until;
}

/* Whether a run's thread has another one, too: then its pairs are not by themselves. */
static bool has_twin(const struct mt_thread_runs *s, const struct mt_ring *r)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->runs[i].ring->thread == r->thread)
			return true;
	return false;
}

/* Open blocks that do not end in time are not the batch's. */
static void drop_late(struct mt_thread_runs *s, uint64_t until)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct mt_thread_run *run = &s->runs[i];

		if (!run->first || run->times[1] < until)
			continue;
		run->first = run->end = 0;
		run->times[0] = UINT64_MAX;
	}
}

uint64_t mt_thread_runs_gather(struct mt_merge *m, struct mt_thread_runs *s, uint64_t until)
{
	s->count = 0;
	for (uint32_t i = 0; i < m->order.count; i++) {
		struct mt_ring *r = &m->rings[m->order.entries[i].ring];
		struct mt_thread_run *run = &s->runs[s->count];
		uint64_t next = m->order.entries[i].time;

		if (s->count < MT_THREAD_RUNS_MAX && !r->ready && r->has_thread
			&& !has_twin(s, r)) {
			run->ring = r;
			until = gather(m, run, s->most, until);
			s->count += run->end > 0;
			continue;
		}
		until = next < until ? next : until;
	}
	drop_late(s, until);
	return until;
}
