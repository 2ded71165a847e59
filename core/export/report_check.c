#include "core/export/blind.h"
#include "core/export/check_parts.h"
#include "core/export/report_parts.h"
#include "core/model/verdicts.h"

#include <stdlib.h>
#include <string.h>

#define LEAKS 5 /* shown */

static void judge(struct mt_judged *j, const struct mt_report *report)
{
	bool some = false;

	j->holds = j->exact = true;
	for (int i = 0; i < MT_CHECK_COUNT; i++) {
		j->limits[i] = report->check->limits[i];
		some |= j->limits[i].given;
	}
	/* with its value of 0 */
	j->limits[MT_CHECK_LEAKED].given |=
		!some || (report->check->leak_check && !j->limits[MT_CHECK_LEAKED_COUNT].given);
	for (int i = 0; i < MT_CHECK_COUNT; i++) {
		const struct mt_check_value *v = &j->values[i];
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

/* ---- of several recordings, who leaks ---- */

static int by_leaked(const void *a, const void *b)
{
	const struct mt_set_member *x = *(const struct mt_set_member *const *)a;
	const struct mt_set_member *y = *(const struct mt_set_member *const *)b;

	if (x->leaked_bytes != y->leaked_bytes)
		return x->leaked_bytes < y->leaked_bytes ? 1 : -1;
	return strcmp(x->path, y->path);
}

/* The members that leak, the most bytes first; the caller frees. */
static const struct mt_set_member **leaking(const struct mt_set *set, uint32_t *count)
{
	const struct mt_set_member **members =
		mt_alloc(((size_t)mt_set_count(set) + 1) * sizeof *members);

	*count = 0;
	for (uint32_t i = 0; i < mt_set_count(set); i++)
		if (mt_set_member(set, i)->leaked_count)
			members[(*count)++] = mt_set_member(set, i);
	qsort(members, *count, sizeof *members, by_leaked);
	return members;
}

static void processes_json(struct mt_json *json, const struct mt_report *report)
{
	uint32_t count;

	if (!report->set)
		return;
	const struct mt_set_member **members = leaking(report->set, &count);

	mt_json_put_number(json, "recordings", mt_set_count(report->set));
	mt_json_put_number(json, "unread", report->unread);
	if (report->baseline || !mt_set_knows_members(report->set)) {
		free(members);
		return;
	}
	mt_json_key(json, "processes");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < count; i++) {
		mt_json_line(json);
		mt_json_open(json, '{');
		mt_json_put_number(json, "pid", members[i]->info.pid);
		mt_json_put_string(json, "name", members[i]->name);
		mt_json_put_string(json, "trace", members[i]->path);
		mt_json_put_number(json, "leaked_size", members[i]->leaked_bytes);
		mt_json_put_number(json, "leaked_count", members[i]->leaked_count);
		mt_json_close(json, '}');
	}
	mt_json_close(json, ']');
	free(members);
}

/* ---- JSON ---- */

static void leak_json(struct mt_json *json, const struct mt_report *report,
	const struct mt_check_leak *leak, struct mt_backtrace *backtrace)
{
	uint32_t id = leak->group;
	const struct mt_group *group = &report->profile->groups[id];

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_number(json, "group", id);
	mt_json_key(json, "kind");
	mt_json_string(json,
		mt_profile_function_name(report->profile,
			mt_profile_group_function(report->profile, id)));
	mt_json_put_number(json, "leaked_size", leak->bytes);
	mt_json_put_number(json, "leaked_count", leak->blocks);
	if (report->baseline) {
		mt_json_put_string(json, "state", leak->blocks_before ? "grew" : "new");
		mt_json_put_number(json, "baseline_leaked_size", leak->bytes_before);
		mt_json_put_number(json, "baseline_leaked_count", leak->blocks_before);
	}
	mt_report_json_estimated(json, report->profile, group);
	mt_backtrace_get(backtrace, report->profile, report->symbols, id);
	mt_report_json_backtrace(json, backtrace);
	mt_json_close(json, '}');
}

static void limit_json(struct mt_json *json, const struct mt_judged *j, int i)
{
	static const char *const outcomes[] = {"pass", "fail", "unknown"};

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_check_json_value(json, i, &j->values[i]);
	mt_json_put_number(json, "limit", j->limits[i].value);
	mt_json_put_bool(json, "holds", j->outcomes[i] == PASS);
	mt_json_put_string(json, "outcome", outcomes[j->outcomes[i]]);
	mt_json_close(json, '}');
}

static void check_json(const struct mt_report *report, const struct mt_judged *j)
{
	struct mt_json writer = {.out = report->out}, *json = &writer;
	struct mt_backtrace backtrace = {0};

	mt_json_open(json, '{');
	mt_json_put_bool(json, "holds", j->holds);
	mt_json_put_bool(json, "exact", j->exact);
	mt_json_put_bool(json, "complete", !mt_check_is_incomplete(report));
	mt_json_put_bool(json, "leak_check", report->profile->lost_alone);
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
	mt_check_json_images(json, report);
	processes_json(json, report);
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

void mt_check_limit_words(char *out, size_t size, const struct mt_report *report,
	const struct mt_judged *j, int i, int heading_width)
{
	char seen[MT_NUMBER_EXACT_LEN], limit[MT_NUMBER_EXACT_LEN];
	const struct mt_check_value *v = &j->values[i];

	mt_report_number(seen, report, mt_check_unit(i), v->seen);
	mt_report_number(limit, report, mt_check_unit(i), j->limits[i].value);
	snprintf(out, size, "%-*s %s%s, at most %s", heading_width, mt_check_heading(i),
		v->least == v->seen && v->most == v->seen ? "" : "~", seen, limit);
}

static void limit_text(const struct mt_report *report, const struct mt_judged *j, int i)
{
	static const char *const words[] = {"PASS", "FAIL", "UNKNOWN"};
	char line[3 * MT_NUMBER_EXACT_LEN];

	mt_check_limit_words(line, sizeof line, report, j, i, 14);
	fprintf(report->out, "%-8s%s\n", words[j->outcomes[i]], line);
}

static void leak_text(const struct mt_report *report, const struct mt_check_leak *leak,
	struct mt_backtrace *backtrace)
{
	uint32_t id = leak->group;
	const char *about = mt_metric_is_estimated(report->profile, &report->profile->groups[id],
				    MT_METRIC_LEAKED_SIZE)
		? "~"
		: "";
	char bytes[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN];
	const struct mt_backtrace_frame *own;

	mt_report_number(bytes, report, MT_UNIT_BYTES, leak->bytes);
	mt_report_number(blocks, report, MT_UNIT_COUNT, leak->blocks);
	fprintf(report->out, "  %s%s in %s%s %s by %s", about, bytes, about, blocks,
		MT_PLURAL(blocks, "block"),
		mt_profile_function_name(report->profile,
			mt_profile_group_function(report->profile, id)));
	mt_backtrace_get(backtrace, report->profile, report->symbols, id);
	own = mt_backtrace_own(backtrace);
	if (own) {
		char *whole = mt_report_frame_name(own), *place = mt_report_frame_place(own);
		char *name = mt_name_fold(whole, "\xe2\x80\xa6", true); /* report has the whole */

		fputs(" in ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, name);
		free(whole);
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

/* What the program allocated meanwhile nobody knows. */
static bool paused_throughout(const struct mt_report *report)
{
	const struct mt_profile *p = mt_report_whole(report);
	uint32_t pauses = 0;

	for (uint32_t i = 0; i < p->log_count; i++)
		pauses += p->log[i].type == MT_LOG_PAUSE;
	return pauses && mt_check_is_empty(report);
}

/* Said of what passes, too: a gate that measures nothing is no gate. */
static void say_unseen(const struct mt_report *report)
{
	char recordings[MT_NUMBER_OF_LEN];

	mt_report_blind(report, "");
	if (!report->images)
		mt_report_images(report, "");
	if (paused_throughout(report)) {
		fputs("no allocation was recorded: the recording was paused\n", report->out);
	} else if (report->set && mt_set_paused(report->set)) {
		fprintf(report->out, "no allocation was recorded in %s: paused\n",
			mt_number_of(recordings, mt_set_paused(report->set), "recording"));
	} else if (mt_check_is_empty(report)) {
		fputs("no allocation was recorded\n", report->out);
	}
	if (report->unread)
		fprintf(report->out, "%s could not be read\n",
			mt_number_of(recordings, report->unread, "recording"));
}

static bool is_unknown(const struct mt_judged *j)
{
	bool unknown = false;

	for (int i = 0; i < MT_CHECK_COUNT; i++)
		unknown |= j->limits[i].given && j->outcomes[i] == UNKNOWN;
	return unknown;
}

static void advice(const struct mt_report *report, const struct mt_judged *j)
{
	if (j->exact)
		return;
	if ((mt_check_is_blind(report) || mt_check_images_are_blind(report)) && is_unknown(j))
		fputs("--allow-unseen=PATTERNS accepts programs that were not seen\n", report->out);
	if (!j->holds && !report->check->allow_incomplete)
		fputs("--allow-incomplete decides by the data in the trace\n", report->out);
}

static void next_steps(const struct mt_report *report, const struct mt_judged *j)
{
	const char *path = report->path ? report->path : "TRACE";

	fputs("\nnext steps\n", report->out);
	if (j->outcomes[MT_CHECK_PEAK] == FAIL) {
		fputs("  memtui report --sort at_peak_size ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, mt_check_path_of_peak(report, j));
		fputs("  shows the largest groups at the peak\n", report->out);
	}
	fputs(report->profile->lost_alone ? "  memtui leak-check " : "  memtui report ",
		report->out);
	mt_text_put(report->out, MT_TEXT_LINE, path);
	fputs("  shows the largest leaks with their backtraces\n", report->out);
	if (report->set)
		return;
	fputs("  memtui suppress ", report->out);
	mt_text_put(report->out, MT_TEXT_LINE, path);
	fputs(" >>known.supp  accepts these leaks from now on, with "
	      "--suppressions known.supp\n",
		report->out);
}

static void say_reachable(const struct mt_report *report)
{
	const struct mt_verdicts *v = report->profile->verdicts;
	char count[MT_NUMBER_EXACT_LEN], bytes[MT_NUMBER_EXACT_LEN];

	if (!report->profile->lost_alone || !v)
		return;
	for (int i = MT_VERDICT_POSSIBLE; i <= MT_VERDICT_REACHABLE; i++) {
		mt_report_number(count, report, MT_UNIT_COUNT, v->sums[i].count);
		mt_report_number(bytes, report, MT_UNIT_BYTES, v->sums[i].bytes);
		if (v->sums[i].count)
			fprintf(report->out, "%s in %s %s %s %s not count\n", bytes, count,
				MT_PLURAL(count, "block"), mt_verdict_words((enum mt_verdict)i),
				v->sums[i].count == 1 ? "does" : "do");
	}
}

static void say_processes(const struct mt_report *report, const struct mt_judged *j)
{
	char processes[MT_NUMBER_OF_LEN], all[MT_NUMBER_OF_LEN], bytes[MT_NUMBER_EXACT_LEN],
		blocks[MT_NUMBER_EXACT_LEN];
	uint32_t count;

	if (!report->set || !j->leak_count || report->baseline
		|| !mt_set_knows_members(report->set))
		return;
	const struct mt_set_member **members = leaking(report->set, &count);

	fprintf(report->out,
		mt_report_knows_leaks(report) ? "\n%s of %s leak%s; the largest\n"
					      : "\n%s of %s may leak%.0s; the largest\n",
		mt_number_of(processes, count, "process"),
		mt_number_of(all, mt_set_count(report->set), "recording"), count == 1 ? "s" : "");
	for (uint32_t i = 0; i < count && i < (report->count ? report->count : LEAKS); i++) {
		const struct mt_set_member *m = members[i];

		mt_report_number(bytes, report, MT_UNIT_BYTES, m->leaked_bytes);
		mt_report_number(blocks, report, MT_UNIT_COUNT, m->leaked_count);
		fprintf(report->out, "  %s in %s %s by ", bytes, blocks,
			MT_PLURAL(blocks, "block"));
		mt_text_put(report->out, MT_TEXT_LINE, m->name);
		fprintf(report->out, " [%u]  ", m->info.pid);
		mt_text_put(report->out, MT_TEXT_LINE, m->path);
		fputs("\n", report->out);
	}
	free(members);
}

void mt_check_text(const struct mt_report *report, const struct mt_judged *j)
{
	uint64_t shown = report->count ? report->count : LEAKS;
	struct mt_backtrace backtrace = {0};
	char places[MT_NUMBER_OF_LEN];

	for (int i = 0; i < MT_CHECK_COUNT; i++)
		if (j->limits[i].given) {
			limit_text(report, j, i);
			mt_check_say_shares(report, j, i);
		}
	say_reachable(report);
	mt_report_suppressed(report, "");
	say_unseen(report);
	if (!j->exact)
		mt_check_reasons(report, j, "");
	mt_check_say_images(report, j);
	advice(report, j);
	if (j->leak_count)
		fprintf(report->out,
			mt_report_knows_leaks(report) ? "\n%s leak%s%s; the largest\n"
						      : "\n%s may leak%.0s%s; the largest\n",
			mt_number_of(places, j->leak_count, "place"), j->leak_count == 1 ? "s" : "",
			report->baseline ? " more than in the baseline" : "");
	for (uint32_t i = 0; i < j->leak_count && i < shown; i++)
		leak_text(report, &j->leaks[i], &backtrace);
	mt_backtrace_free(&backtrace);
	say_processes(report, j);
	mt_report_unused_rules(report);
	if (!j->holds)
		next_steps(report, j);
}

int mt_report_check(const struct mt_report *report, struct mt_err *err)
{
	struct mt_judged judged;
	int status = mt_check_measure(&judged, report, err);

	if (status >= 0) {
		mt_check_fold(&judged, report);
		judge(&judged, report);
		if (report->format == MT_FORMAT_JSON)
			check_json(report, &judged);
		else if (report->format == MT_FORMAT_JUNIT)
			mt_check_junit(report, &judged);
		else
			mt_check_text(report, &judged);
		status = !judged.holds;
	}
	mt_judged_free(&judged);
	return status;
}
