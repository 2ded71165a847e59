#include "core/export/report_totals.h"
#include "core/query/filter_match.h"

#include <math.h>

uint64_t mt_report_estimated_groups(const struct mt_profile *p)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < p->group_count; i++)
		count += mt_profile_is_estimated(p, &p->groups[i]);
	return count;
}

/* Where --max-size took events away, the whole groups still have what these told: of a filter on
 * groups alone, all but the peak. */
static int add_gone(struct mt_report_totals *totals, const struct mt_report *report,
	struct mt_err *err)
{
	struct mt_selection all = {0};
	int status = mt_select(&all, report->source->profile, report->symbols, report->asked,
		report->sort, false, err);

	if (status >= 0) {
		totals->allocations = all.sum.allocated_count - totals->reallocations;
		totals->frees = totals->allocations - all.sum.live_count;
		totals->allocated_count = all.sum.allocated_count;
		totals->freed_count = all.sum.allocated_count - all.sum.live_count;
		totals->allocated_bytes = all.sum.allocated_bytes;
		totals->temporary_count = all.sum.temporary_count;
		totals->groups = all.count;
		totals->calls_estimated = mt_report_reallocs_most(report->source->profile, &all)
			> totals->reallocations;
	}
	mt_selection_free(&all);
	return status;
}

double mt_report_total_error(const struct mt_report_totals *t, size_t at, uint64_t *samples)
{
	const struct mt_estimates *e = &t->errors;
	const double ended = e->allocated.blocks - e->live.blocks;
	double variance;

	*samples = e->allocated.samples;
	if (!t->sampled)
		return -1;
	switch (at) {
	case offsetof(struct mt_report_totals, allocations):
	case offsetof(struct mt_report_totals, allocated_count):
		variance = e->allocated.blocks;
		break;
	case offsetof(struct mt_report_totals, allocated_bytes):
		variance = e->allocated.bytes;
		break;
	case offsetof(struct mt_report_totals, frees):
	case offsetof(struct mt_report_totals, freed_count):
		*samples -= e->live.samples;
		variance = ended > 0 ? ended : 0;
		break;
	case offsetof(struct mt_report_totals, leaked_count):
	case offsetof(struct mt_report_totals, leaked_bytes):
		*samples = e->live.samples;
		variance = at == offsetof(struct mt_report_totals, leaked_count)
			? e->live.blocks
			: e->live.bytes;
		break;
	case offsetof(struct mt_report_totals, peak_bytes):
		*samples = e->at_peak.samples;
		variance = e->at_peak.bytes;
		break;
	default: return -1;
	}
	return sqrt(variance);
}

/* The errors of all groups that count. */
static void add_errors(struct mt_report_totals *totals, const struct mt_profile *p,
	const struct mt_selection *groups)
{
	const struct mt_estimates *e = mt_metric_estimates(p, &groups->sum);

	totals->sampled = mt_info_is_sampled(&p->info);
	totals->errors = e ? *e : (struct mt_estimates){0};
}

int mt_report_totals(struct mt_report_totals *totals, const struct mt_report *report,
	struct mt_err *err)
{
	const struct mt_info *info = &report->profile->info;

	*totals = (struct mt_report_totals){
		.allocations = info->allocations,
		.frees = info->frees,
		.reallocations = info->reallocations,
		.allocated_count = mt_info_blocks_begun(info),
		.freed_count = mt_info_blocks_ended(info),
		.allocated_bytes = info->allocated_bytes,
		.leaked_count = info->leaked_count,
		.leaked_bytes = info->leaked_bytes,
		.peak_bytes = info->peak_bytes,
		.temporary_count = info->temporary_count,
		.groups = report->profile->group_count,
		.estimated = mt_report_estimated_groups(report->profile) > 0,
	};
	if (!mt_report_is_filtered(report) && !mt_info_is_sampled(info))
		return 0;
	struct mt_selection selection = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		report->sort, false, err);

	totals->groups = selection.count;
	add_errors(totals, report->profile, &selection);
	totals->estimated =
		mt_metric_is_estimated(report->profile, &selection.sum, MT_METRIC_LEAKED_SIZE);
	mt_selection_free(&selection);
	if (status >= 0 && report->matched && report->matched->unanswered_ns
		&& !mt_filter_needs(report->asked))
		status = add_gone(totals, report, err);
	return status;
}
