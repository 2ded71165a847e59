#include "core/model/sampling.h"
#include "core/query/filter_match.h"
#include "core/query/fold.h"
#include "core/query/rows.h"

#include <stdlib.h>

struct counter {
	const struct mt_profile *whole;
	struct mt_group *threads;  /* by thread index */
	struct mt_late *late;      /* the same */
	struct mt_profile *errors; /* which has the estimates of the threads */
	uint64_t to_ns, threshold;
};

static int count(void *context, const struct mt_allocation *a)
{
	struct counter *c = context;
	struct mt_group *sum = &c->threads[a->thread];
	bool live = a->end_ns == MT_LIVE, late = !live && a->end_ns > c->to_ns;
	struct mt_weight w = mt_profile_weigh(c->whole, a->group, a->number, a->size);

	if (!sum->allocated_count || a->time_ns < sum->first_ns)
		sum->first_ns = a->time_ns;
	if (!sum->allocated_count || a->size < sum->min_size)
		sum->min_size = a->size;
	sum->last_ns = a->time_ns > sum->last_ns ? a->time_ns : sum->last_ns;
	sum->max_size = a->size > sum->max_size ? a->size : sum->max_size;
	sum->allocated_count += w.blocks;
	sum->allocated_bytes += w.bytes;
	sum->live_count += live ? w.blocks : 0;
	sum->live_bytes += live ? w.bytes : 0;
	c->late[a->thread].count += late ? w.blocks : 0;
	c->late[a->thread].bytes += late ? w.bytes : 0;
	if (mt_info_is_sampled(&c->whole->info)) {
		struct mt_estimates *e = mt_profile_estimates(c->errors, a->thread);

		mt_estimate_add(&e->allocated, &w, a->size);
		if (live)
			mt_estimate_add(&e->live, &w, a->size);
	}
	sum->temporary_count += !live && a->between <= c->threshold;
	return 0;
}

/* The threads as if they were groups: they fold in the same way. */
static void add_row(struct mt_rows *rows, const struct mt_profile *whole,
	const struct mt_profile *threads, uint32_t thread)
{
	const struct mt_group *sum = &threads->groups[thread];
	const struct mt_thread *at = &whole->threads[thread];
	char *name = mt_format("%u %s", at->tid, mt_strings_get(&whole->strings, at->name));
	struct mt_row *row = mt_rows_at(rows, name);

	/* threads of one id and name, one after another, are one row */
	mt_fold(&rows->folds, &row->sum, threads, sum);
	row->sum.flags = MT_GROUP_NO_PEAKS;
	if (mt_profile_is_estimated(whole, sum))
		row->sum.flags |= MT_GROUP_ESTIMATED;
	free(name);
}

int mt_rows_by_thread(struct mt_rows *rows, const struct mt_source *source,
	struct mt_filter *filter, enum mt_metric sort, bool ascending, struct mt_err *err)
{
	struct mt_filter_bounds bounds = {0};
	struct mt_profile errors = {0};
	struct counter counter = {.whole = source->profile,
		.errors = &errors,
		.threads = mt_alloc((source->profile->thread_count + 1) * sizeof *counter.threads),
		.late = mt_alloc((source->profile->thread_count + 1) * sizeof *counter.late)};
	int status = filter ? mt_filter_compile(&bounds, filter, source->profile, err) : 0;

	counter.threshold = bounds.temporary_threshold;
	counter.to_ns = filter ? bounds.to_ns : UINT64_MAX;
	mt_filter_bounds_free(&bounds);
	if (status >= 0)
		status = mt_scan_allocations(source, filter, 0, count, &counter, err);
	const struct mt_profile threads = {.groups = counter.threads,
		.group_count = source->profile->thread_count,
		.late = counter.late,
		.estimates = errors.estimates,
		.estimate_count = errors.estimate_count,
		.info = {.sample_bytes = source->profile->info.sample_bytes,
			.sample_every = source->profile->info.sample_every,
			.record_min = source->profile->info.record_min,
			.record_max = source->profile->info.record_max}};

	for (uint32_t i = 0; i < threads.group_count && status >= 0; i++)
		if (counter.threads[i].allocated_count)
			add_row(rows, source->profile, &threads, i);
	free(counter.threads);
	free(counter.late);
	free(errors.estimates);
	if (status >= 0)
		mt_rows_sort(rows, source->profile, sort, ascending);
	return status < 0 ? status : 0;
}
