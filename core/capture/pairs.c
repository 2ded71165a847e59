#include "core/capture/pairs.h"
#include "core/capture/events.h"
#include "core/capture/prefetch.h"
#include "core/trace/pair_encoder.h"

/* As part of the loop, fields stay in registers. */
#define HOT static inline __attribute__((always_inline))

/* What stays as it is from pair to pair: copied here, where the compiler sees that no store of the
 * loop changes it. */
struct view {
	struct mt_pair_groups groups_of;
	uint32_t thread;
	struct mt_group *groups;
	uint64_t bound;
	bool many; /* blocks live: memory is worth asking for ahead */
};

/* The time to that of a pair's end; false: that is not within the timeline's step, and the time
 * stays. */
bool mt_pair_reach_end(struct mt_merge *m, uint64_t stamp)
{
	uint64_t begin_ns = m->now_ns;

	mt_event_set_time(m, stamp);
	if (__builtin_expect(m->now_ns < m->model->step_end_ns, 1))
		return true;
	m->now_ns = begin_ns;
	m->stamp_end = 0;
	return false;
}

/* writer: m->writer, of which the compiler is to know whether it is NULL. */
HOT uint32_t run(struct mt_merge *m, struct mt_ring *r, uint64_t limit, uint64_t bound,
	struct mt_trace_writer *writer)
{
	const struct view v = {
		.groups_of = mt_pair_groups(m),
		.thread = r->thread,
		.groups = m->model->profile->groups,
		.bound = bound,
		.many = m->model->live_count >= MT_PREFETCH_MANY,
	};
	struct mt_pair_encoder encoder = {0};
	uint64_t position = r->decoded, time = r->time, bytes = 0;
	uint64_t same_until = 0; /* pairs that end before this stamp begin and end now */
	uint64_t begin_ns = m->now_ns, end_ns = begin_ns;
	/* an event block ends behind a pair, and what it ends with are all the sums so far */
	uint32_t count = 0, room = (m->block_events - m->unflushed) / 2;
	const struct mt_wire_record *at = &r->data[position & r->mask];

	if (mt_ring_straight(r, position) < limit - position)
		limit = position + mt_ring_straight(r, position);
	if ((limit - position) / 2 < room)
		room = (uint32_t)((limit - position) / 2);
	for (; count < room; count++, at += 2) {
		struct mt_wire_record begin = mt_ring_read_at(at);
		struct mt_wire_record end = mt_ring_read_at(at + 1);
		struct mt_pair pair;

		if (!mt_pair_read(&begin, &end, time, v.groups_of, &pair) || pair.end >= v.bound)
			break;
		if (v.many)
			mt_prefetch_look(m, r, position + 2 * count);
		if (!mt_live_table_lacks(&m->live, pair.address))
			break;
		if (__builtin_expect(pair.end >= same_until, 0)) {
			if (!mt_pair_pass_time(m, &pair, &begin_ns))
				break;
			same_until = m->stamp_end;
			end_ns = m->now_ns;
			if (writer && !encoder.columns) {
				const struct mt_pair_encoder begun = mt_trace_writer_pairs(writer,
					v.thread, m->next_number, begin_ns);

				encoder = begun; /* which has no address */
				room = begun.room < room ? begun.room : room;
			}
			if (writer)
				mt_pair_encode_times(&encoder, begin_ns, end_ns);
		}
		mt_model_pair(m->model, &v.groups[pair.group], pair.size, begin_ns);
		if (writer)
			mt_pair_encode(&encoder, pair.address, pair.size, pair.group,
				(uint16_t)pair.function);
		time = pair.end;
		begin_ns = end_ns;
		bytes += pair.size;
	}
	if (!count)
		return 0;
	if (writer)
		mt_pair_encoder_end(&encoder);
	m->next_number += count;
	mt_model_pairs(m->model, v.thread, count, bytes, m->next_number, end_ns);
	m->model->profile->info.events += 2ull * count;
	r->decoded = position + 2 * count;
	r->time = time;
	m->unflushed += writer ? 2 * count : 0;
	if (m->unflushed >= m->block_events && m->flush)
		m->flush(m->context);
	return count;
}

uint32_t mt_pairs_run(struct mt_merge *m, struct mt_ring *r, uint64_t limit, uint64_t bound)
{
	if (m->one_by_one)
		return 0;
	return m->writer ? run(m, r, limit, bound, m->writer) : run(m, r, limit, bound, NULL);
}
