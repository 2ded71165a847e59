/* Checkpoints in the making. The totals are copied at once, the live blocks in slices. */
#include "core/session/flight.h"

#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *items, size_t count, size_t size)
{
	void *copy = mt_alloc((count + 1) * size);

	if (count)
		memcpy(copy, items, count * size);
	return copy;
}

/* What mt_totals_add_part reads. */
static void copy_totals(struct mt_profile *to, const struct mt_profile *from)
{
	*to = *from;
	to->groups = copy_of(from->groups, from->group_count, sizeof *from->groups);
	to->threads = copy_of(from->threads, from->thread_count, sizeof *from->threads);
	to->samples = copy_of(from->samples, from->sample_count, sizeof *from->samples);
	to->estimates = copy_of(from->estimates, from->estimate_count, sizeof *from->estimates);
	to->free_sites = copy_of(from->free_sites, from->free_site_count, sizeof *from->free_sites);
}

static bool next_block(void *merge, struct mt_checkpoint_block *out)
{
	return mt_block_copy_next(merge, out);
}

void mt_flight_making_begin(struct mt_flight *f)
{
	struct mt_flight_making *k = &f->making;
	const struct mt_model *m = f->model;
	struct mt_checkpoint *head = &k->maker.head;

	mt_flight_making_free(f);
	*head = (struct mt_checkpoint){
		.time_ns = f->merge->now_ns,
		.next_number = f->merge->next_number,
		.thread_count = f->profile->thread_count,
	};
	head->threads = mt_alloc(((size_t)head->thread_count + 1) * sizeof *head->threads);
	for (uint32_t t = 0; t < head->thread_count && t < m->thread_capacity; t++)
		head->threads[t] =
			(struct mt_checkpoint_thread){m->threads[t].sequence, m->threads[t].last};
	mt_model_settle(f->model);
	copy_totals(&k->totals, f->profile);
	mt_block_copy_begin(f->merge);
	mt_model_reopen(f->model, head->time_ns); /* late events may follow the checkpoint */
	k->maker.writer = f->writer;
	k->maker.profile = &k->totals;
	k->maker.next = next_block;
	k->maker.context = f->merge;
	k->under_way = true;
	k->blocks = m->live_count;
	k->first_event = mt_trace_writer_count(f->writer);
	k->first_byte = mt_trace_writer_bytes(f->writer);
	f->merge->slicing = true;
}

static void free_totals(struct mt_profile *p)
{
	free(p->groups);
	free(p->threads);
	free(p->samples);
	free(p->estimates);
	free(p->free_sites);
	*p = (struct mt_profile){0};
}

bool mt_flight_making_go_on(struct mt_flight *f)
{
	struct mt_flight_making *k = &f->making;
	uint64_t blocks = k->maker.head.block_count;
	bool more = true;

	if (!k->copied) {
		k->copied = !mt_block_copy_slice(f->merge, MT_COPY_SLICE);
		k->done += MT_COPY_SLICE;
	} else {
		more = mt_checkpoint_make_part(&k->maker);
		k->done += k->maker.head.block_count - blocks;
	}
	mt_segment_tick(f->merge->segment);
	if (more)
		return true;
	mt_block_copy_end(f->merge, true);
	free_totals(&k->totals);
	f->merge->slicing = k->under_way = false;
	return false;
}

void mt_flight_making_free(struct mt_flight *f)
{
	struct mt_flight_making *k = &f->making;

	if (k->under_way && f->merge) {
		mt_block_copy_end(f->merge, false);
		f->merge->slicing = false;
	}
	free_totals(&k->totals);
	free(k->maker.head.threads);
	mt_buffer_free(&k->maker.made);
	*k = (struct mt_flight_making){0};
}
