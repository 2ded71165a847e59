#include "preload/process/samples.h"

#include "preload/base/sys.h"

#define HELD_MOST 255

bool mt_samples_start(const struct mt_wire_header *copy)
{
	struct mt_samples *table = mt_tracer.samples;
	uint64_t interval = copy->sample_bytes;
	uint64_t most = copy->record_max ? copy->record_max : UINT64_MAX;

	if (!interval && !copy->record_min && !copy->record_max) {
		mt_store(&mt_tracer.sampled, 0);
		return true;
	}
	if ((interval && interval < MT_SAMPLER_LEAST) || interval > MT_SAMPLER_MOST
		|| copy->record_min > most)
		return false;
	if (!table) {
		table = mt_sys_map(sizeof *table);
		if (!table)
			return false;
		if (mt_sys3(SYS_madvise, table, sizeof *table, MADV_WIPEONFORK) != 0) {
			mt_sys_unmap(table, sizeof *table);
			return false;
		}
		mt_sys3(SYS_madvise, table, sizeof *table, MADV_DONTDUMP);
		mt_count_private(sizeof table->held);
	}
	mt_tracer.sample_bytes = interval;
	mt_tracer.sample_seed = copy->sample_seed;
	mt_tracer.sample_call = copy->flags & MT_SEGMENT_CALLS ? MT_SAMPLER_CALL : 0;
	mt_tracer.gate_least = copy->record_min;
	mt_tracer.gate_span = most - copy->record_min;
	mt_tracer.samples = table;
	mt_store_release(&mt_tracer.sampled, 1);
	return true;
}

void mt_samples_free(void)
{
	struct mt_samples *table = mt_tracer.samples;

	mt_store(&mt_tracer.sampled, 0);
	mt_tracer.samples = NULL;
	if (table)
		mt_sys_unmap(table, sizeof *table);
}

bool mt_samples_draws(struct mt_thread_state *t, uint64_t size)
{
	if (!mt_tracer.sample_bytes)
		return true;
	if (mt_unlikely(!t->sampler.always))
		mt_sampler_begin(&t->sampler, mt_tracer.sample_bytes,
			mt_sampler_mix(mt_tracer.sample_seed + t->index));
	return mt_sampler_keeps(&t->sampler, mt_samples_size(size));
}

bool mt_samples_keeps(struct mt_thread_state *t, uint64_t address, uint64_t size)
{
	if (!mt_samples_draws(t, size))
		return false;
	mt_samples_insert(address);
	return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Puts the address into a free slot, if there is one. */
static bool put(struct mt_samples_bucket *b, uint64_t address)
{
	for (int i = 0; i < MT_SAMPLES_SLOTS; i++) {
		uint64_t none = 0;

		if (!mt_load(&b->slots[i]) && mt_swap_if(&b->slots[i], &none, address))
			return true;
	}
	return false;
}

static struct mt_samples_bucket *following(const struct mt_samples_bucket *b)
{
	uint64_t next = mt_load_acquire(&b->next);

	return next ? &mt_tracer.samples->spare[next - 1] : NULL;
}

/* A further bucket. One that two threads add at once is lost to the one that comes later. */
static struct mt_samples_bucket *lengthen(struct mt_samples_bucket *b)
{
	uint64_t place, none = 0;

	if (mt_load(&mt_tracer.samples->spare_used) >= MT_SAMPLES_SPARE)
		return NULL;
	place = mt_add(&mt_tracer.samples->spare_used, 1);
	if (place < MT_SAMPLES_SPARE)
		(void)mt_swap_if(&b->next, &none, place + 1);
	return following(b);
}

static bool insert(struct mt_samples_bucket *b, uint64_t address)
{
	while (b && !put(b, address)) {
		struct mt_samples_bucket *next = following(b);

		b = next ? next : lengthen(b);
	}
	return b != NULL;
}

static bool count_up(uint8_t *held)
{
	uint8_t old = mt_load(held);

	do {
		if (old == HELD_MOST)
			return false;
	} while (!mt_swap_if(held, &old, (uint8_t)(old + 1)));
	return true;
}

static uint64_t *find(struct mt_samples_bucket *b, uint64_t address)
{
	for (; b; b = following(b))
		for (int i = 0; i < MT_SAMPLES_SLOTS; i++)
			if (mt_load(&b->slots[i]) == address)
				return &b->slots[i];
	return NULL;
}

/* Where there is no room, each free is recorded from then on, before the block's.
 *
 * The count goes up before the slot is filled and down after it is emptied: a signal handler that
 * leaves this by longjmp leaves a count that is too high, which costs frees a look. */
void mt_samples_insert(uint64_t address)
{
	uint32_t place = mt_samples_place(address);
	struct mt_samples_bucket *b = &mt_tracer.samples->buckets[place];
	uint8_t *held = &mt_tracer.samples->held[place];

	if (mt_load(held) && find(b, address)) /* its free went past the tracer */
		return;
	if (count_up(held)) {
		mt_signal_fence();
		if (insert(b, address))
			return;
		mt_signal_fence();
		__atomic_fetch_sub(held, 1, __ATOMIC_RELAXED);
	}
	mt_count(MT_COUNTER_UNLISTED_BLOCKS, 1);
	mt_store_release(&mt_tracer.samples->full, 1);
}

bool mt_samples_take(uint64_t address)
{
	uint32_t place = mt_samples_place(address);
	uint64_t *slot;

	if (!mt_samples_may_have((const void *)address))
		return false;
	slot = find(&mt_tracer.samples->buckets[place], address);
	if (!slot)
		return mt_load(&mt_tracer.samples->full) != 0;
	if (!mt_swap_if(slot, &(uint64_t){address}, 0)) /* freed twice at once */
		return false;
	mt_signal_fence();
	__atomic_fetch_sub(&mt_tracer.samples->held[place], 1, __ATOMIC_RELAXED);
	return true;
}
