#include "core/capture/ahead.h"

/* A batch of events at a time, in three rounds, each of which needs what the one before has
 * brought. What it reads may be nonsense; it is right nearly always. */
#define BATCH 32

struct batch {
	unsigned begins, ends;
	const struct mt_pool_bucket *homes[BATCH]; /* of blocks that end */
	uint32_t tags[BATCH];
	const struct mt_pool_cell *ended[BATCH];
	const uint32_t *begun[BATCH]; /* groups of blocks that begin */
};

static void fetch_tables(struct mt_merge *m, struct mt_ring *r, uint64_t from, unsigned count,
	struct batch *b)
{
	for (unsigned i = 0; i < count; i++) {
		struct mt_wire_record record = mt_ring_read(r, from + i);
		unsigned type = mt_wire_record_type(&record);
		uint32_t node = mt_wire_record_node(&record);
		uint64_t hash = mt_pool_hash(mt_wire_record_pointer(&record) << 3);
		bool end = type == MT_RECORD_FREE || type == MT_RECORD_RELEASE;

		b->homes[b->ends] = mt_pool_home(&m->match.pool, hash);
		b->tags[b->ends] = mt_pool_tag(hash);
		b->begun[b->begins] =
			&m->tables.groups[node < m->segment->nodes.capacity ? node : 0];
		__builtin_prefetch(b->homes[b->ends], 1);
		__builtin_prefetch(b->begun[b->begins]);
		b->ends += end;
		b->begins += !end;
	}
}

void mt_ahead_fetch(struct mt_merge *m, struct mt_ring *r, uint64_t position)
{
	const struct mt_group *groups = m->model->profile->groups;
	uint64_t left = r->first_head - position;
	unsigned count = left < BATCH ? (unsigned)left : BATCH;
	struct batch b;

	b.begins = b.ends = 0;
	fetch_tables(m, r, position, count, &b);
	for (unsigned i = 0; i < b.begins; i++)
		mt_model_prefetch(&groups[*b.begun[i] ? *b.begun[i] - 1 : 0]);
	for (unsigned i = 0; i < b.ends; i++) {
		b.ended[i] = mt_pool_guess(&m->match.pool, b.homes[i], b.tags[i]);
		__builtin_prefetch(b.ended[i], 1);
	}
	for (unsigned i = 0; i < b.ends; i++)
		mt_model_prefetch(&groups[b.ended[i]->group]);
	r->looked = position + count;
}
