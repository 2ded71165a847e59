#include "core/export/blind.h"
#include "core/export/check.h"
#include "core/export/report_parts.h"
#include "core/query/diff.h"
#include "core/query/filter_match.h"

#include <stdlib.h>
#include <string.h>

#define LEAKS 5 /* shown */

static const struct {
	const char *name, *heading;
	enum mt_unit unit;
} limits[] = {
#define X(id, name, unit, heading, words) {name, heading, MT_UNIT_##unit},
	MT_CHECK_LIMITS(X)
#undef X
};

enum outcome { PASS, FAIL, UNKNOWN };

/* What was measured, and between what it really lies. */
struct value {
	uint64_t seen, least, most;
};

/* What a group leaks; with a baseline, beyond that. */
struct leak {
	uint32_t group;
	uint64_t blocks, bytes;
	uint64_t blocks_before, bytes_before; /* in the baseline */
};

struct judged {
	struct leak *leaks; /* the largest first */
	uint32_t leak_count;
	/* taken for the baseline's by a nameless frame's module */
	uint64_t doubtful_blocks, doubtful_bytes;
	struct mt_selection selection; /* by what leaked */
	struct value values[MT_CHECK_COUNT];
	struct mt_limit limits[MT_CHECK_COUNT];
	enum outcome outcomes[MT_CHECK_COUNT];
	uint64_t estimated_blocks, estimated_bytes;
	bool holds, exact;
	bool by_groups; /* single events are gone, and the whole groups answer */
};

/* ---- what is known ---- */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_leak(struct judged *j, uint32_t group, uint64_t blocks, uint64_t bytes)
{
	if (blocks || bytes)
		j->leaks[j->leak_count++] =
			(struct leak){.group = group, .blocks = blocks, .bytes = bytes};
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Stacks that leak more than in the baseline, in bytes or in blocks. */
static int compare_leaks(struct judged *j, const struct mt_report *report, struct mt_err *err)
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

static int find_leaks(struct judged *j, const struct mt_report *report, struct mt_err *err)
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

static void see(struct judged *j, const struct mt_report *report)
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
		j->values[i] = (struct value){seen[i], seen[i], seen[i]};
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
static int see_groups(struct judged *j, const struct mt_report *report, struct mt_err *err)
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
		bool peaks = mt_metric_is_known(&all.sum, MT_METRIC_OWN_PEAK_SIZE);

		j->by_groups = true;
		j->values[MT_CHECK_ALLOCATED] = (struct value){bytes, bytes, bytes};
		j->values[MT_CHECK_TEMPORARY] = (struct value){all.sum.temporary_count,
			all.sum.temporary_count, all.sum.temporary_count};
		j->values[MT_CHECK_ALLOCATIONS] =
			(struct value){most, less(most, less(reallocs, info->reallocations)), most};
		largest = info->peak_bytes > largest || !peaks ? info->peak_bytes : largest;
		j->values[MT_CHECK_PEAK] = (struct value){largest, largest,
			peaks ? all.sum.own_peak_bytes : UINT64_MAX};
	}
	mt_selection_free(&all);
	return status;
}

/* Leaks that a rule may mean, and blocks whose free may have been lost. */
static void doubt_leaks(struct judged *j, const struct mt_report *report)
{
	const struct mt_suppressed *s = report->suppressed;
	uint64_t blocks = j->estimated_blocks, bytes = j->estimated_bytes;

	for (uint32_t i = 0; s && i < j->selection.count; i++) {
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

static bool incomplete(const struct mt_report *report)
{
	const struct mt_info *info = &report->profile->info;

	return !info->ended || info->recorder_lost || report->damaged
		|| (report->baseline && incomplete(report->baseline));
}

/* What lives in it may still be freed; but what was freed in it has not leaked. */
static bool stopped(const struct mt_report *report)
{
	return report->profile->info.stopped || (report->baseline && stopped(report->baseline));
}

static bool is_empty(const struct mt_report *report)
{
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

static bool is_blind(const struct mt_report *report)
{
	return is_blind_beyond(report, report->check->allow_unseen);
}

/* Libraries past the tracer may free what was seen. */
static bool has_unseen_frees(const struct mt_report *report)
{
	return mt_report_whole(report)->info.counters[MT_COUNTER_UNSEEN_LIBRARIES] != 0;
}

/* What the program allocated meanwhile nobody knows. */
static bool paused_throughout(const struct mt_report *report)
{
	const struct mt_profile *p = mt_report_whole(report);
	uint32_t pauses = 0;

	for (uint32_t i = 0; i < p->log_count; i++)
		pauses += p->log[i].type == MT_LOG_PAUSE;
	return pauses && is_empty(report);
}

static void doubt(struct judged *j, const struct mt_report *report)
{
	const struct mt_info *info = &report->profile->info;
	bool lossy = info->lost_events || info->implied_frees;
	/* The history that the filter asks of is not whole. */
	bool cut = report->matched && report->matched->unanswered_ns && !j->by_groups;

	doubt_leaks(j, report);
	for (int i = 0; i < MT_CHECK_COUNT; i++) {
		struct value *v = &j->values[i];
		bool leak = i == MT_CHECK_LEAKED || i == MT_CHECK_LEAKED_COUNT;

		/* a gate that measured nothing is no gate */
		if (is_blind(report) || is_empty(report))
			v->most = UINT64_MAX;
		if (incomplete(report) || lossy || info->invalid_records || (cut && !leak))
			v->most = i == MT_CHECK_ALLOCATIONS && !incomplete(report)
					&& !info->invalid_records && !cut && v->most != UINT64_MAX
				? more(v->most, info->lost_events)
				: UINT64_MAX;
		if ((leak && (incomplete(report) || stopped(report))) || info->invalid_records
			|| ((lossy || has_unseen_frees(report)) && i == MT_CHECK_PEAK))
			v->least = 0;
		if (lossy && i == MT_CHECK_TEMPORARY)
			v->least = less(v->seen, info->lost_events);
	}
}

static void judge(struct judged *j, const struct mt_report *report)
{
	bool some = false;

	j->holds = j->exact = true;
	for (int i = 0; i < MT_CHECK_COUNT; i++) {
		j->limits[i] = report->check->limits[i];
		some |= j->limits[i].given;
	}
	j->limits[MT_CHECK_LEAKED].given |= !some; /* with its value of 0 */
	for (int i = 0; i < MT_CHECK_COUNT; i++) {
		const struct value *v = &j->values[i];
		uint64_t limit = j->limits[i].value;

		if (!j->limits[i].given)
			continue;
		j->exact &= v->least == v->seen && v->most == v->seen;
		j->outcomes[i] = v->most <= limit ? PASS : v->least > limit ? FAIL : UNKNOWN;
		if (j->outcomes[i] == UNKNOWN && report->check->allow_incomplete)
			j->outcomes[i] = v->seen <= limit ? PASS : FAIL;
		j->holds &= j->outcomes[i] == PASS;
	}
}

/* ---- JSON ---- */

static void leak_json(struct mt_json *json, const struct mt_report *report, const struct leak *leak,
	struct mt_backtrace *backtrace)
{
	uint32_t id = leak->group;
	const struct mt_group *group = &report->profile->groups[id];

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_key(json, "group");
	mt_json_number(json, id);
	mt_json_key(json, "kind");
	mt_json_string(json, mt_kind_name(mt_profile_group_kind(report->profile, id)));
	mt_json_key(json, "leaked_size");
	mt_json_number(json, leak->bytes);
	mt_json_key(json, "leaked_count");
	mt_json_number(json, leak->blocks);
	if (report->baseline) {
		mt_json_key(json, "state");
		mt_json_string(json, leak->blocks_before ? "grew" : "new");
		mt_json_key(json, "baseline_leaked_size");
		mt_json_number(json, leak->bytes_before);
		mt_json_key(json, "baseline_leaked_count");
		mt_json_number(json, leak->blocks_before);
	}
	mt_report_json_estimated(json, report->profile, group);
	mt_backtrace_get(backtrace, report->profile, report->symbols, id);
	mt_report_json_backtrace(json, backtrace);
	mt_json_close(json, '}');
}

static void limit_json(struct mt_json *json, const struct judged *j, int i)
{
	static const char *const outcomes[] = {"pass", "fail", "unknown"};
	const struct value *v = &j->values[i];
	char name[40];

	snprintf(name, sizeof name, "%s", limits[i].name);
	for (char *c = name; *c; c++)
		if (*c == '_')
			*c = '-';
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_key(json, "name");
	mt_json_string(json, name);
	mt_json_key(json, "limit");
	mt_json_number(json, j->limits[i].value);
	mt_json_key(json, "value");
	mt_json_number(json, v->seen);
	mt_json_key(json, "holds");
	mt_json_bool(json, j->outcomes[i] == PASS);
	mt_json_key(json, "outcome");
	mt_json_string(json, outcomes[j->outcomes[i]]);
	mt_json_key(json, "exact");
	mt_json_bool(json, v->least == v->seen && v->most == v->seen);
	mt_json_close(json, '}');
}

static void check_json(const struct mt_report *report, const struct judged *j)
{
	struct mt_json writer = {.out = report->out}, *json = &writer;
	struct mt_backtrace backtrace = {0};

	mt_json_open(json, '{');
	mt_json_key(json, "holds");
	mt_json_bool(json, j->holds);
	mt_json_key(json, "exact");
	mt_json_bool(json, j->exact);
	mt_json_key(json, "complete");
	mt_json_bool(json, !incomplete(report));
	mt_report_json_damage(json, report);
	mt_json_key(json, "limits");
	mt_json_open(json, '[');
	for (int i = 0; i < MT_CHECK_COUNT; i++)
		if (j->limits[i].given)
			limit_json(json, j, i);
	mt_json_close(json, ']');
	mt_report_json_suppressed(json, report);
	mt_report_json_rules(json, report);
	mt_blind_json(json, mt_report_whole(report));
	mt_json_key(json, "leaks");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < j->leak_count && i < (report->count ? report->count : LEAKS); i++)
		leak_json(json, report, &j->leaks[i], &backtrace);
	mt_json_close(json, ']');
	mt_json_close(json, '}');
	putc('\n', report->out);
	mt_backtrace_free(&backtrace);
}

/* ---- text, for a build log ---- */

static void limit_text(const struct mt_report *report, const struct judged *j, int i)
{
	static const char *const words[] = {"PASS", "FAIL", "UNKNOWN"};
	char seen[MT_NUMBER_EXACT_LEN], limit[MT_NUMBER_EXACT_LEN];
	const struct value *v = &j->values[i];

	mt_report_number(seen, report, limits[i].unit, v->seen);
	mt_report_number(limit, report, limits[i].unit, j->limits[i].value);
	fprintf(report->out, "%-8s%-14s %s%s, at most %s\n", words[j->outcomes[i]],
		limits[i].heading, v->least == v->seen && v->most == v->seen ? "" : "~", seen,
		limit);
}

static void leak_text(const struct mt_report *report, const struct leak *leak,
	struct mt_backtrace *backtrace)
{
	uint32_t id = leak->group;
	const char *about =
		mt_profile_is_estimated(report->profile, &report->profile->groups[id]) ? "~" : "";
	char bytes[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN];
	const struct mt_backtrace_frame *own;

	mt_report_number(bytes, report, MT_UNIT_BYTES, leak->bytes);
	mt_report_number(blocks, report, MT_UNIT_COUNT, leak->blocks);
	fprintf(report->out, "  %s%s in %s%s %s by %s", about, bytes, about, blocks,
		MT_PLURAL(blocks, "block"),
		mt_kind_name(mt_profile_group_kind(report->profile, id)));
	mt_backtrace_get(backtrace, report->profile, report->symbols, id);
	own = mt_backtrace_own(backtrace);
	if (own) {
		char *name = mt_report_frame_name(own), *place = mt_report_frame_place(own);

		fputs(" in ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, name);
		fputs(*place ? "  " : "", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, place);
		free(name);
		free(place);
	}
	fprintf(report->out, "  (group %u)", id);
	if (leak->blocks_before) {
		mt_report_number(bytes, report, MT_UNIT_BYTES, leak->bytes_before);
		fprintf(report->out, "; %s in the baseline", bytes);
	} else if (report->baseline) {
		fputs("; new", report->out);
	}
	fputs("\n", report->out);
}

/* Said of what passes, too: a gate that measures nothing is no gate. */
static void say_unseen(const struct mt_report *report)
{
	mt_report_blind(report, "");
	mt_report_images(report, "");
	if (paused_throughout(report)) {
		fputs("no allocation was recorded: the recording was paused\n", report->out);
	} else if (is_empty(report)) {
		fputs("no allocation was recorded\n", report->out);
	}
}

static bool is_unknown(const struct judged *j)
{
	bool unknown = false;

	for (int i = 0; i < MT_CHECK_COUNT; i++)
		unknown |= j->limits[i].given && j->outcomes[i] == UNKNOWN;
	return unknown;
}

/* Why something cannot be said, and what helps. */
static void reasons(const struct mt_report *report, const struct judged *j)
{
	const struct mt_info *info = &report->profile->info;
	FILE *out = report->out;

	if (j->exact)
		return;
	if (incomplete(report))
		fputs("the trace has no end: blocks that are "
		      "live in it may have been freed later\n",
			out);
	else if (stopped(report))
		fputs("the recording was stopped while the program went on: blocks that are "
		      "live in it may have been freed later\n",
			out);
	if (info->lost_events || info->implied_frees || info->invalid_records)
		fputs("events were lost: what is counted may be too much or too little\n", out);
	if (report->matched && report->matched->unanswered_ns) {
		char when[MT_NUMBER_EXACT_LEN];

		mt_report_number(when, report, MT_UNIT_TIME, report->matched->unanswered_ns);
		fprintf(out,
			"the single events of the first %s are gone (--max-size): what they alone "
			"would tell cannot be said\n",
			when);
	}
	if (report->suppressed && report->suppressed->undecided_groups)
		fprintf(out,
			"%llu leaking group%s frames without a name, which a suppression may mean: "
			"install the symbols, or record where they are\n",
			(unsigned long long)report->suppressed->undecided_groups,
			report->suppressed->undecided_groups == 1 ? " has" : "s have");
	if (j->doubtful_blocks)
		fputs("leaks of frames without a name were taken for "
		      "those of the baseline, by their module alone\n",
			out);
	if (is_blind(report) && is_unknown(j))
		fputs("--allow-unseen=PATTERNS judges although some programs were not seen\n", out);
	if (!j->holds && !report->check->allow_incomplete)
		fputs("--allow-incomplete judges by what is there\n", out);
}

static void next_steps(const struct mt_report *report, const struct judged *j)
{
	const char *path = report->path ? report->path : "TRACE";

	fputs("\nwhat to do next\n", report->out);
	if (j->outcomes[MT_CHECK_PEAK] == FAIL) {
		fputs("  memtui report --sort at_peak_size ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, path);
		fputs("  what the peak is made of\n", report->out);
	}
	fputs("  memtui report ", report->out);
	mt_text_put(report->out, MT_TEXT_LINE, path);
	fputs("  every leak with its whole stack\n  memtui suppress ", report->out);
	mt_text_put(report->out, MT_TEXT_LINE, path);
	fputs(" >>known.supp  makes known ones pass, with --suppressions known.supp\n",
		report->out);
}

static void check_text(const struct mt_report *report, const struct judged *j)
{
	uint64_t shown = report->count ? report->count : LEAKS;
	struct mt_backtrace backtrace = {0};
	char places[MT_NUMBER_OF_LEN];

	for (int i = 0; i < MT_CHECK_COUNT; i++)
		if (j->limits[i].given)
			limit_text(report, j, i);
	mt_report_suppressed(report, "");
	say_unseen(report);
	reasons(report, j);
	if (j->leak_count)
		fprintf(report->out,
			mt_report_knows_leaks(report) ? "\n%s leak%s%s; the largest\n"
						      : "\n%s may leak%.0s%s; the largest\n",
			mt_number_of(places, j->leak_count, "place"), j->leak_count == 1 ? "s" : "",
			report->baseline ? " more than in the baseline" : "");
	for (uint32_t i = 0; i < j->leak_count && i < shown; i++)
		leak_text(report, &j->leaks[i], &backtrace);
	mt_backtrace_free(&backtrace);
	mt_report_unused_rules(report);
	if (!j->holds)
		next_steps(report, j);
}

int mt_report_check(const struct mt_report *report, struct mt_err *err)
{
	struct judged judged = {0};
	int status = mt_select(&judged.selection, report->profile, report->symbols, report->filter,
		MT_METRIC_LEAKED_SIZE, false, err);

	if (status >= 0)
		status = find_leaks(&judged, report, err);
	if (status >= 0) {
		see(&judged, report);
		status = see_groups(&judged, report, err);
	}
	if (status >= 0) {
		doubt(&judged, report);
		judge(&judged, report);
		if (report->format == MT_FORMAT_JSON)
			check_json(report, &judged);
		else
			check_text(report, &judged);
		status = !judged.holds;
	}
	free(judged.leaks);
	mt_selection_free(&judged.selection);
	return status;
}
