#include "core/export/report_totals.h"
#include "core/query/filter_match.h"

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

int mt_report_totals(struct mt_report_totals *totals, const struct mt_report *report,
	struct mt_err *err)
{
	const struct mt_info *info = &report->profile->info;

	*totals = (struct mt_report_totals){info->allocations, info->frees, info->reallocations,
		mt_info_blocks_begun(info), mt_info_blocks_ended(info), info->allocated_bytes,
		info->leaked_count, info->leaked_bytes, info->peak_bytes, info->temporary_count,
		report->profile->group_count, mt_report_estimated_groups(report->profile) > 0,
		false};
	if (!mt_report_is_filtered(report))
		return 0;
	struct mt_selection selection = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		report->sort, false, err);

	totals->groups = selection.count;
	totals->estimated =
		mt_metric_is_estimated(report->profile, &selection.sum, MT_METRIC_LEAKED_SIZE);
	mt_selection_free(&selection);
	if (status >= 0 && report->matched && report->matched->unanswered_ns
		&& !mt_filter_needs(report->asked))
		status = add_gone(totals, report, err);
	return status;
}
