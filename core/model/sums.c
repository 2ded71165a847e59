/* What the model knows of the events of one block, for the block's header. */
#include "core/model/load.h"

#include <string.h>

/* Allocations of each thread since the last call. Returns how many threads made some, and fills in
 * the first MT_TRACE_THREADS of them. */
static uint32_t tell_threads(struct mt_model *m, struct mt_trace_thread *threads)
{
	uint32_t count = 0;

	if (m->told_count < m->thread_capacity) {
		m->told = mt_resize(m->told, m->thread_capacity * sizeof *m->told);
		memset(m->told + m->told_count, 0,
			(m->thread_capacity - m->told_count) * sizeof *m->told);
		m->told_count = m->thread_capacity;
	}
	for (uint32_t t = 0; t < m->thread_capacity; t++) {
		uint64_t made = m->threads[t].sequence - m->told[t];

		if (!made)
			continue;
		m->told[t] += made;
		if (count < MT_TRACE_THREADS)
			threads[count] = (struct mt_trace_thread){t, (uint32_t)made};
		count++;
	}
	return count;
}

int mt_events_write(struct mt_trace_writer *w, struct mt_model *m, struct mt_err *err)
{
	const struct mt_info *info = &m->profile->info;
	struct mt_trace_thread threads[MT_TRACE_THREADS];
	struct mt_trace_sums sums = {
		.running = {m->live_bytes, m->live_count, info->allocations, info->frees,
			info->peak_bytes},
		.high_bytes = m->step_max_bytes > m->block_before_bytes ? m->step_max_bytes
									: m->block_before_bytes,
		.threads = threads,
	};

	sums.thread_count = tell_threads(m, threads);
	if (m->step_max_bytes > m->step_before_bytes)
		m->step_before_bytes = m->step_max_bytes;
	m->step_max_bytes = m->live_bytes;
	m->block_before_bytes = 0;
	return mt_trace_writer_flush_exact(w, &sums, err);
}
