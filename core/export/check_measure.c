/* The numbers of one trace that check compares with limits, and between what they really lie. */
#include "core/export/blind.h"
#include "core/export/check_parts.h"
#include "core/export/report_parts.h"
#include "core/model/verdicts.h"
#include "core/query/diff.h"
#include "core/query/filter_match.h"

#include <stdlib.h>

#define INTERVAL_95 1.96 /* standard errors */

static bool is_sampled(const struct mt_report *report)
{
	return mt_info_is_sampled(&report->profile->info)
		|| (report->baseline && mt_info_is_sampled(&report->baseline->profile->info));
}

static bool leaves_out(const struct mt_report *report)
{
	return mt_info_leaves_out(&report->profile->info)
		|| (report->baseline && leaves_out(report->baseline));
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_leak(struct mt_judged *j, uint32_t group, uint64_t blocks, uint64_t bytes)
{
	if (blocks || bytes)
		j->leaks[j->leak_count++] =
			(struct mt_check_leak){.group = group, .blocks = blocks, .bytes = bytes};
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Stacks that leak more than in the baseline, in bytes or in blocks. */
static int compare_leaks(struct mt_judged *j, const struct mt_report *report, struct mt_err *err)
{
	const struct mt_report *old = report->baseline;
	struct mt_selection selection = {0};
	int status = mt_select(&selection, old->profile, old->symbols, old->filter,
		MT_METRIC_LEAKED_SIZE, false, err);
	struct mt_diff_side a = {old->profile, old->symbols, &selection};
	struct mt_diff_side b = {report->profile, report->symbols, &j->selection};
	struct mt_diff diff = {0};

	if (status < 0)
		return status;
	mt_diff_get(&diff, &a, &b, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED, false);
	j->leaks = mt_alloc((diff.count + 1u) * sizeof *j->leaks);
	for (uint32_t i = 0; i < diff.count; i++) {
		const struct mt_diff_entry *e = &diff.entries[i];

		uint32_t count = j->leak_count;

		if (e->group_b != MT_NO_GROUP)
			add_leak(j, e->group_b, less(e->b.live_count, e->a.live_count),
				less(e->b.live_bytes, e->a.live_bytes));
		if (j->leak_count > count) {
			j->leaks[count].blocks_before = e->a.live_count;
			j->leaks[count].bytes_before = e->a.live_bytes;
		}
		if (e->doubtful) {
			j->doubtful_blocks += lesser(e->b.live_count, e->a.live_count);
			j->doubtful_bytes += lesser(e->b.live_bytes, e->a.live_bytes);
		}
	}
	mt_diff_free(&diff);
	mt_selection_free(&selection);
	return 0;
}

static int find_leaks(struct mt_judged *j, const struct mt_report *report, struct mt_err *err)
{
	if (report->baseline)
		return compare_leaks(j, report, err);
	j->leaks = mt_alloc((j->selection.count + 1u) * sizeof *j->leaks);
	for (uint32_t i = 0; i < j->selection.count; i++) {
		const struct mt_group *group = &report->profile->groups[j->selection.groups[i]];

		add_leak(j, j->selection.groups[i], group->live_count, group->live_bytes);
	}
	return 0;
}

static void see(struct mt_judged *j, const struct mt_report *report)
{
	const struct mt_info *info = &report->profile->info;
	uint64_t seen[MT_CHECK_COUNT] = {
		[MT_CHECK_PEAK] = info->peak_bytes,
		[MT_CHECK_ALLOCATIONS] = info->allocations,
		[MT_CHECK_ALLOCATED] = info->allocated_bytes,
		[MT_CHECK_TEMPORARY] = info->temporary_count,
	};

	for (uint32_t i = 0; i < j->leak_count; i++) {
		seen[MT_CHECK_LEAKED] += j->leaks[i].bytes;
		seen[MT_CHECK_LEAKED_COUNT] += j->leaks[i].blocks;
	}
	for (int i = 0; i < MT_CHECK_COUNT; i++)
		j->values[i] = (struct mt_check_value){seen[i], seen[i], seen[i]};
	if (report->set)
		j->values[MT_CHECK_PEAK].least = mt_set_peak_least(report->set);
	for (uint32_t i = 0; i < j->selection.count; i++) {
		const struct mt_group *group = &report->profile->groups[j->selection.groups[i]];

		if (!mt_profile_is_estimated(report->profile, group))
			continue;
		j->estimated_blocks += group->live_count;
		j->estimated_bytes += group->live_bytes;
	}
}

/* What --max-size took away, the groups' totals still have, where the filter asks of groups alone:
 * bytes and temporaries exactly; of the allocations it is not known which of the reallocs that are
 * gone were of a live block. All of them together never had more than the sum of their own peaks,
 * nor less than the largest. */
static int see_groups(struct mt_judged *j, const struct mt_report *report, struct mt_err *err)
{
	const struct mt_profile *whole = report->source ? report->source->profile : NULL;
	const struct mt_info *info = &report->profile->info;
	struct mt_selection all = {0};
	uint64_t largest = 0;

	if (!whole || !report->matched || !report->matched->unanswered_ns
		|| mt_filter_needs(report->asked))
		return 0;
	int status = mt_select(&all, whole, report->symbols, report->asked, MT_METRIC_LEAKED_SIZE,
		false, err);

	for (uint32_t i = 0; i < all.count; i++) {
		const struct mt_group *g = &whole->groups[all.groups[i]];

		largest = g->own_peak_bytes > largest ? g->own_peak_bytes : largest;
	}
	if (status >= 0) {
		uint64_t reallocs = mt_report_reallocs_most(whole, &all);
		uint64_t most = less(all.sum.allocated_count, info->reallocations);
		uint64_t bytes = all.sum.allocated_bytes;
		bool peaks = mt_metric_is_known(whole, &all.sum, MT_METRIC_OWN_PEAK_SIZE);

		j->by_groups = true;
		j->values[MT_CHECK_ALLOCATED] = (struct mt_check_value){bytes, bytes, bytes};
		j->values[MT_CHECK_TEMPORARY] = (struct mt_check_value){all.sum.temporary_count,
			all.sum.temporary_count, all.sum.temporary_count};
		j->values[MT_CHECK_ALLOCATIONS] = (struct mt_check_value){most,
			less(most, less(reallocs, info->reallocations)), most};
		largest = info->peak_bytes > largest || !peaks ? info->peak_bytes : largest;
		j->values[MT_CHECK_PEAK] = (struct mt_check_value){largest, largest,
			peaks ? all.sum.own_peak_bytes : UINT64_MAX};
	}
	mt_selection_free(&all);
	return status;
}

/* Leaks that a rule may mean, and blocks whose free may have been lost. */
static void doubt_leaks(struct mt_judged *j, const struct mt_report *report)
{
	const struct mt_suppressed *s = report->suppressed;
	uint64_t blocks = j->estimated_blocks, bytes = j->estimated_bytes;

	if (s && !s->verdicts) {
		blocks += s->undecided_blocks;
		bytes += s->undecided_bytes;
	}
	for (uint32_t i = 0; s && s->verdicts && i < j->selection.count; i++) {
		uint32_t id = j->selection.groups[i];
		const struct mt_group *group = &report->profile->groups[id];

		if (s->verdicts[id] != MT_SUPPRESS_UNDECIDED
			|| mt_profile_is_estimated(report->profile, group))
			continue;
		blocks += group->live_count;
		bytes += group->live_bytes;
	}
	j->values[MT_CHECK_LEAKED].least = less(j->values[MT_CHECK_LEAKED].seen, bytes);
	j->values[MT_CHECK_LEAKED_COUNT].least =
		less(j->values[MT_CHECK_LEAKED_COUNT].seen, blocks);
	j->values[MT_CHECK_LEAKED].most = more(j->values[MT_CHECK_LEAKED].seen, j->doubtful_bytes);
	j->values[MT_CHECK_LEAKED_COUNT].most =
		more(j->values[MT_CHECK_LEAKED_COUNT].seen, j->doubtful_blocks);
}

/* Up to how many samples may have been expected where so many were seen, in 97.5 of 100 cases. */
static const double expected_most[MT_SAMPLES_FEW] = {3.69, 5.58, 7.23, 8.77, 10.25, 11.67, 13.06,
	14.43, 15.77, 17.09};

/* Of a sampled recording: the interval that holds the truth in 95 of 100 cases. That blocks of so
 * many bytes leave no sample has the probability exp(-bytes/T), whatever their sizes: so few
 * samples still bound the bytes from above, but not the blocks; where allocations are drawn, the
 * blocks alone. interval: T of what is bounded; 0: it is not. */
static void bound(struct mt_check_value *v, double error, uint64_t samples, uint64_t interval)
{
	if (error >= 0 && samples >= MT_SAMPLES_FEW) {
		uint64_t reach = (uint64_t)(INTERVAL_95 * error) + (error > 0);

		v->least = less(v->least, reach);
		v->most = more(v->most, reach);
		return;
	}
	v->least = 0;
	v->most = interval && samples < MT_SAMPLES_FEW
		? more(v->most, (uint64_t)(expected_most[samples] * (double)interval))
		: UINT64_MAX;
}

static void doubt_samples(struct mt_judged *j, const struct mt_report *report)
{
	static const struct {
		enum mt_check_limit limit;
		enum mt_metric metric;
		bool bytes;
	} sampled[] = {{MT_CHECK_LEAKED, MT_METRIC_LEAKED_SIZE, true},
		{MT_CHECK_LEAKED_COUNT, MT_METRIC_LEAKED_COUNT, false},
		{MT_CHECK_ALLOCATED, MT_METRIC_SIZE, true},
		{MT_CHECK_ALLOCATIONS, MT_METRIC_ALLOCATED_COUNT, false},
		{MT_CHECK_PEAK, MT_METRIC_AT_PEAK_SIZE, true}};
	const struct mt_profile *p = report->profile;
	const struct mt_group *sum = &j->selection.sum;

	for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++)
		/* of a baseline's errors the differences tell nothing */
		bound(&j->values[sampled[i].limit],
			report->baseline ? -1 : mt_metric_error(p, sum, sampled[i].metric),
			report->baseline ? UINT64_MAX
					 : mt_metric_samples(p, sum, sampled[i].metric),
			sampled[i].bytes ? p->info.sample_bytes : p->info.sample_every);
}

bool mt_check_is_incomplete(const struct mt_report *report)
{
	return !mt_report_is_whole(report)
		|| (report->baseline && mt_check_is_incomplete(report->baseline));
}

/* What lives in it may still be freed; but what was freed in it has not leaked. */
static bool stopped(const struct mt_report *report)
{
	return report->profile->info.stopped || (report->baseline && stopped(report->baseline));
}

bool mt_check_is_empty(const struct mt_report *report)
{
	if (report->set && mt_set_paused(report->set))
		return true;
	return !mt_report_whole(report)->info.allocations;
}

/* Part of what the program, or those that it started, allocated was not seen: nobody knows how
 * much. */
static bool is_blind_beyond(const struct mt_report *report, const char *allowed)
{
	const struct mt_profile *p = mt_report_whole(report);

	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].count && !mt_blind_matches(p, &p->blind[i], allowed))
			return true;
	return report->baseline && is_blind_beyond(report->baseline, allowed);
}

bool mt_check_is_blind(const struct mt_report *report)
{
	return is_blind_beyond(report, report->check->allow_unseen);
}

/* Libraries past the tracer may free what was seen. */
static bool has_unseen_frees(const struct mt_report *report)
{
	return mt_report_whole(report)->info.counters[MT_COUNTER_UNSEEN_LIBRARIES] != 0;
}

/* Which blocks match depends on times whose error nobody knows. */
static bool asks_estimated_times(const struct mt_report *report)
{
	return report->asked && mt_filter_compares_times(report->asked)
		&& mt_info_estimates_times(&mt_report_whole(report)->info);
}

/* What was lost at the end is known if the recording was asked to find out, and came to it. */
static bool lacks_own_leak_check(const struct mt_report *report)
{
	const struct mt_profile *p = report->profile;

	if (!report->check->leak_check)
		return false;
	return report->set ? !mt_set_is_leak_checked(report->set)
			   : !p->verdicts || !p->verdicts->at_end;
}

static bool lacks_leak_check(const struct mt_report *report)
{
	return lacks_own_leak_check(report)
		|| (report->baseline && lacks_own_leak_check(report->baseline));
}

static void doubt(struct mt_judged *j, const struct mt_report *report)
{
	const struct mt_info *info = &report->profile->info;
	bool lossy = info->lost_events || info->implied_frees;
	bool unknown = info->invalid_records || !mt_report_counts_losses(report);
	/* The history that the filter asks of is not whole. */
	bool cut = report->matched && report->matched->unanswered_ns && !j->by_groups;

	doubt_leaks(j, report);
	if (is_sampled(report))
		doubt_samples(j, report);
	if (leaves_out(report))
		j->values[MT_CHECK_TEMPORARY] = (struct mt_check_value){0, 0, UINT64_MAX};
	for (int i = 0; i < MT_CHECK_COUNT; i++) {
		struct mt_check_value *v = &j->values[i];
		bool leak = mt_check_is_of_leaks(i);

		if (mt_check_is_blind(report) || (leak && lacks_leak_check(report)))
			v->most = UINT64_MAX;
		if (leak && lacks_leak_check(report))
			v->least = 0;
		if (mt_check_is_incomplete(report) || lossy || unknown || (cut && !leak))
			v->most = i == MT_CHECK_ALLOCATIONS && !mt_check_is_incomplete(report)
					&& !unknown && !cut && v->most != UINT64_MAX
				? more(v->most, info->lost_events)
				: UINT64_MAX;
		if ((leak && (mt_check_is_incomplete(report) || stopped(report))) || unknown
			|| ((lossy || has_unseen_frees(report)) && i == MT_CHECK_PEAK))
			v->least = 0;
		if (lossy && i == MT_CHECK_TEMPORARY)
			v->least = less(v->seen, info->lost_events);
		if (asks_estimated_times(report)) {
			v->least = 0;
			v->most = UINT64_MAX;
		}
	}
}

int mt_check_measure(struct mt_judged *j, const struct mt_report *report, struct mt_err *err)
{
	int status;

	*j = (struct mt_judged){0};
	status = mt_select(&j->selection, report->profile, report->symbols, report->filter,
		MT_METRIC_LEAKED_SIZE, false, err);
	if (status >= 0)
		status = find_leaks(j, report, err);
	if (status < 0)
		return status;
	see(j, report);
	status = see_groups(j, report, err);
	if (status >= 0)
		doubt(j, report);
	return status;
}

void mt_judged_free(struct mt_judged *j)
{
	free(j->leaks);
	mt_selection_free(&j->selection);
	*j = (struct mt_judged){0};
}

void mt_check_reasons(const struct mt_report *report, const struct mt_judged *j, const char *prefix)
{
	const struct mt_info *info = &report->profile->info;
	FILE *out = report->out;

	if (report->facts.running)
		fprintf(out, "%sthe program is still running: its live blocks may be freed later\n",
			prefix);
	else if (mt_check_is_incomplete(report))
		fprintf(out,
			"%sthe trace is incomplete: its live blocks may have been "
			"freed later\n",
			prefix);
	else if (stopped(report))
		fprintf(out,
			"%sthe recording was stopped before the program ended: its "
			"live blocks may have been freed later\n",
			prefix);
	if (lacks_own_leak_check(report))
		fprintf(out,
			report->set ? "%snot every recording has a leak check of the end of its "
				      "program (record --leak-check)\n"
				: report->profile->verdicts
				? "%sthe leak check was not made at the end of the program, so "
				  "what it has lost since is not known\n"
				: "%sthe recording has no leak check of the end of the program: "
				  "record it with 'memtui record --leak-check'; a program that "
				  "ends by a signal is not judged\n",
			prefix);
	else if (lacks_leak_check(report))
		fprintf(out, "%sthe baseline has no leak check of the end of its program\n",
			prefix);
	if (report->set && mt_set_count(report->set) > 1
		&& report->check->limits[MT_CHECK_PEAK].given)
		fprintf(out,
			"%sthe processes may have had the most bytes at different moments: the "
			"peak is at most what is shown\n",
			prefix);
	if (is_sampled(report))
		fprintf(out,
			"%sthe recording is sampled: a limit is decided if all of the interval "
			"that holds the truth in 95 of 100 cases is on one side of it\n",
			prefix);
	if (!mt_report_counts_losses(report))
		fprintf(out,
			"%sthe recording does not say whether events were lost: no limit can be "
			"decided\n",
			prefix);
	if (info->lost_events || info->implied_frees || info->invalid_records)
		fprintf(out, "%sevents were lost: the counts may be too high or too low\n", prefix);
	if (asks_estimated_times(report))
		fprintf(out,
			"%sall times are estimates, because the recording does not tell the rate "
			"of its clock: limits on blocks chosen by time cannot be decided\n",
			prefix);
	if (report->matched && report->matched->unanswered_ns) {
		char when[MT_NUMBER_EXACT_LEN];

		mt_report_number(when, report, MT_UNIT_TIME, report->matched->unanswered_ns);
		fprintf(out,
			"%sthe events of the first %s were dropped (--max-size): "
			"limits that need them cannot be decided\n",
			prefix, when);
	}
	if (report->suppressed && report->suppressed->undecided_groups)
		fprintf(out,
			"%s%llu leaking group%s frames without a name, which a "
			"suppression may match: install the debug symbols, or record "
			"where they are\n",
			prefix, (unsigned long long)report->suppressed->undecided_groups,
			report->suppressed->undecided_groups == 1 ? " has" : "s have");
	if (j->doubtful_blocks)
		fprintf(out,
			"%sleaks with unnamed frames were matched with the baseline by "
			"their module only\n",
			prefix);
}
