#include "core/export/report_leakcheck.h"
#include "core/export/report_parts.h"
#include "core/export/verdict_words.h"
#include "core/leakcheck/describe.h"

#include <stdlib.h>

#define STEPS 32u /* of a way to a block that are shown */

struct leakcheck_report {
	const struct mt_report *report;
	const struct mt_leakcheck *check;
	const bool *shown;
	struct mt_describer *describer; /* NULL: the process runs again, or has gone */
	struct mt_backtrace backtrace;
	struct mt_json json;
};

static bool is_shown(const struct leakcheck_report *r, const struct mt_leakcheck_group *g)
{
	for (int v = 0; v < MT_VERDICT_COUNT; v++)
		if (r->shown[v] && g->sums[v].count)
			return true;
	return false;
}

/* Calls put for the groups that are to be shown; returns how many there are in all. */
static uint64_t each_group(struct leakcheck_report *r,
	void (*put)(struct leakcheck_report *, uint64_t rank, const struct mt_leakcheck_group *))
{
	uint64_t rank = 0;

	for (uint32_t i = 0; i < r->check->group_count; i++) {
		const struct mt_leakcheck_group *g = &r->check->groups[i];

		if (!is_shown(r, g))
			continue;
		if (!r->report->count || rank < r->report->count)
			put(r, rank + 1, g);
		rank++;
	}
	return rank;
}

/* Blocks may have been freed, or made, without our knowing. */
static bool is_estimated(const struct leakcheck_report *r)
{
	return r->report->profile->info.lost_events;
}

static const char *about(const struct leakcheck_report *r)
{
	return is_estimated(r) ? "~" : "";
}

/* Caller frees. */
static char *root_words(const struct leakcheck_report *r, const struct mt_holder_step *step)
{
	uint32_t root = step->holder & ~MT_HOLDER_ROOT;
	struct mt_root_description d;
	char *words;

	if (!r->describer)
		return mt_leakcheck_root_words(r->check, root);
	mt_root_describe(r->describer, root, step->index, &d);
	words = mt_root_words(&d);
	mt_root_description_free(&d);
	return words;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_sum(const struct leakcheck_report *r, const char *words,
	const struct mt_verdict_sum *sum)
{
	char bytes[MT_NUMBER_EXACT_LEN], count[MT_NUMBER_EXACT_LEN];

	mt_report_number(bytes, r->report, MT_UNIT_BYTES, sum->bytes);
	mt_report_number(count, r->report, MT_UNIT_COUNT, sum->count);
	fprintf(r->report->out, "%-17s %s%s in %s%s %s\n", words, about(r), bytes, about(r), count,
		MT_PLURAL(count, "block"));
}

static void put_holder(struct leakcheck_report *r, const struct mt_holder_step *step)
{
	const struct mt_leakcheck *c = r->check;
	FILE *out = r->report->out;

	if (step->holder & MT_HOLDER_ROOT) {
		char *words = root_words(r, step);

		mt_text_put(out, MT_TEXT_LINE, words);
		free(words);
		if (step->address)
			fprintf(out, ", at %#llx", (unsigned long long)step->address);
	} else {
		const struct mt_held_block *b = &c->blocks.items[step->holder];
		char size[MT_NUMBER_EXACT_LEN], *name;

		mt_report_number(size, r->report, MT_UNIT_BYTES, b->size);
		fprintf(out, "a block of %s at %#llx", size, (unsigned long long)b->address);
		if (step->found)
			fprintf(out, "+%llu", (unsigned long long)(step->address - b->address));
		mt_backtrace_get(&r->backtrace, r->report->profile, r->report->symbols, b->group);
		if (r->backtrace.count) {
			name = mt_report_short_frame_name(r->report,
				mt_backtrace_own(&r->backtrace));
			fputs(" from ", out);
			mt_text_put(out, MT_TEXT_LINE, name);
			free(name);
		}
	}
	if (!step->found)
		fputs(" (the pointer has gone meanwhile)", out);
	fputc('\n', out);
}

static void put_way(struct leakcheck_report *r, uint32_t block)
{
	const struct mt_held_block *b = &r->check->blocks.items[block];
	struct mt_holder_step steps[STEPS];
	uint32_t count = mt_leakcheck_way(r->check, block, steps, STEPS);

	if (!count)
		return;
	fprintf(r->report->out, "   the block at %#llx is held by\n",
		(unsigned long long)b->address);
	for (uint32_t i = 0; i < count && i < STEPS; i++) {
		fputs("       ", r->report->out);
		put_holder(r, &steps[i]);
	}
	if (count > STEPS)
		fprintf(r->report->out, "       and %u more\n", count - STEPS);
}

/* Of a block that nobody has lost for certain, it is told what holds it. */
static void put_group(struct leakcheck_report *r, uint64_t rank, const struct mt_leakcheck_group *g)
{
	FILE *out = r->report->out;
	const char *separator = "";
	char bytes[MT_NUMBER_EXACT_LEN], count[MT_NUMBER_EXACT_LEN];

	fprintf(out, "\n%llu. ", (unsigned long long)rank);
	for (int v = 0; v < MT_VERDICT_COUNT; v++) {
		if (!g->sums[v].count)
			continue;
		mt_report_number(bytes, r->report, MT_UNIT_BYTES, g->sums[v].bytes);
		mt_report_number(count, r->report, MT_UNIT_COUNT, g->sums[v].count);
		fprintf(out, "%s%s%s in %s%s %s %s", separator, about(r), bytes, about(r), count,
			MT_PLURAL(count, "block"), mt_verdict_words((enum mt_verdict)v));
		separator = ", ";
	}
	fputc('\n', out);
	mt_backtrace_get(&r->backtrace, r->report->profile, r->report->symbols, g->group);
	for (uint32_t i = 0; i < r->backtrace.count; i++) {
		fputs("       ", out);
		mt_report_put_frame(r->report, 7, &r->backtrace.frames[i],
			r->backtrace.frames[i].inlined ? "  (inlined)" : "");
	}
	for (int v = MT_VERDICT_POSSIBLE; v <= MT_VERDICT_REACHABLE; v++)
		if (r->shown[v] && g->first[v] != MT_BLOCK_NONE)
			put_way(r, g->first[v]);
}

static void put_doubts(const struct leakcheck_report *r)
{
	const struct mt_leakcheck *c = r->check;
	const struct mt_info *info = &r->report->profile->info;
	FILE *out = r->report->out;
	char n[MT_NUMBER_EXACT_LEN];

	if (is_estimated(r)) {
		fputs("the numbers are estimates, since events were lost:\n", out);
		mt_report_losses(r->report, "   ");
	}
	if (mt_info_begins_within(info))
		fputs("only blocks are judged that were allocated since the recording began; what "
		      "older memory holds counts as reachable\n",
			out);
	mt_report_blind(r->report, "");
	if (c->roots.unknown_threads) {
		mt_report_number(n, r->report, MT_UNIT_COUNT, c->roots.unknown_threads);
		fprintf(out,
			"%s %s could not be stopped: what only its registers held may be wrongly "
			"lost\n",
			n, MT_PLURAL(n, "thread"));
	}
	if (c->still.own_unlisted)
		fputs("some of memtui's own memory could not be told apart: what it holds is "
		      "reachable\n",
			out);
}

static void put_text(struct leakcheck_report *r)
{
	const struct mt_leakcheck *c = r->check;
	FILE *out = r->report->out;
	char still[MT_NUMBER_LEN], walk[MT_NUMBER_LEN];
	uint64_t all;
	char *command = mt_report_command(r->report->profile);

	fputs("leak check of ", out);
	mt_text_put(out, MT_TEXT_LINE, command);
	fprintf(out, " (process %u)\n", r->report->profile->info.pid);
	free(command);
	for (int v = 0; v < MT_VERDICT_COUNT; v++)
		put_sum(r, mt_verdict_words((enum mt_verdict)v), &c->sums[v]);
	if (c->suppressed.count)
		put_sum(r, "suppressed", &c->suppressed);
	put_doubts(r);
	mt_number_time(still, c->still.still_ns);
	mt_number_time(walk, c->recorded ? c->recorded->moment_ns : c->check_ns);
	if (c->recorded)
		fprintf(out,
			c->recorded->at_end ? "checked at the end of the program, after %s\n"
					    : "checked while the program ran, after %s\n",
			walk);
	else if (c->still.no_copy == mt_still_unwanted)
		fprintf(out, "checked in %s, while the threads stood still\n", walk);
	else if (c->still.no_copy)
		fprintf(out,
			"checked in %s; the threads stood still for %s, since there is no copy: "
			"%s\n",
			walk, still, c->still.no_copy);
	else
		fprintf(out, "checked in %s; the threads stood still for %s\n", walk, still);
	all = each_group(r, put_group);
	if (r->report->count && all > r->report->count)
		fprintf(out, "\n%llu more; see them with --count\n",
			(unsigned long long)(all - r->report->count));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json_step(struct leakcheck_report *r, const struct mt_holder_step *step)
{
	struct mt_json *json = &r->json;
	char *words;

	mt_json_open(json, '{');
	if (step->holder & MT_HOLDER_ROOT) {
		words = root_words(r, step);
		mt_json_put_string(json, "root", words);
		free(words);
	} else {
		const struct mt_held_block *b = &r->check->blocks.items[step->holder];

		mt_json_put_number(json, "block", b->address);
		mt_json_put_number(json, "size", b->size);
		mt_json_put_number(json, "group", b->group);
	}
	mt_json_key(json, "pointer_at");
	if (step->found && step->address)
		mt_json_number(json, step->address);
	else
		mt_json_null(json);
	mt_json_key(json, "pointer");
	if (step->found)
		mt_json_number(json, step->word);
	else
		mt_json_null(json);
	mt_json_close(json, '}');
}

static void put_json_group(struct leakcheck_report *r, uint64_t rank,
	const struct mt_leakcheck_group *g)
{
	struct mt_json *json = &r->json;
	struct mt_holder_step steps[STEPS];
	uint32_t count;

	(void)rank;
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_number(json, "id", g->group);
	mt_json_put_string(json, "kind",
		mt_profile_function_name(r->report->profile,
			mt_profile_group_function(r->report->profile, g->group)));
	for (int v = 0; v < MT_VERDICT_COUNT; v++)
		mt_verdict_json_sum(json, (enum mt_verdict)v, &g->sums[v]);
	mt_backtrace_get(&r->backtrace, r->report->profile, r->report->symbols, g->group);
	mt_report_json_backtrace(json, &r->backtrace);
	mt_json_key(json, "held_by");
	mt_json_open(json, '[');
	for (int v = MT_VERDICT_POSSIBLE; v <= MT_VERDICT_REACHABLE; v++) {
		if (g->first[v] == MT_BLOCK_NONE)
			continue;
		count = mt_leakcheck_way(r->check, g->first[v], steps, STEPS);
		for (uint32_t i = 0; i < count && i < STEPS; i++)
			put_json_step(r, &steps[i]);
		break;
	}
	mt_json_close(json, ']');
	mt_json_close(json, '}');
}

/* How it was made. */
static void put_json_made(struct mt_json *json, const struct mt_leakcheck *c)
{
	mt_json_key(json, "stopped_ms");
	mt_json_real(json, (double)c->still.still_ns / 1e6);
	mt_json_put_bool(json, "copied", !c->still.no_copy);
	mt_json_key(json, "no_copy");
	if (c->still.no_copy)
		mt_json_string(json, c->still.no_copy);
	else
		mt_json_null(json);
	mt_json_put_number(json, "threads_not_stopped", c->roots.unknown_threads);
	mt_json_put_seconds(json, "check_seconds", c->check_ns);
}

static void put_json(struct leakcheck_report *r)
{
	struct mt_json *json = &r->json;
	const struct mt_leakcheck *c = r->check;

	char *command = mt_report_command(r->report->profile);

	mt_json_open(json, '{');
	mt_json_put_number(json, "process", r->report->profile->info.pid);
	mt_json_put_string(json, "command", command);
	free(command);
	for (int v = 0; v < MT_VERDICT_COUNT; v++)
		mt_verdict_json_sum(json, (enum mt_verdict)v, &c->sums[v]);
	mt_json_key(json, "suppressed");
	mt_json_open(json, '{');
	mt_json_put_number(json, "count", c->suppressed.count);
	mt_json_put_number(json, "bytes", c->suppressed.bytes);
	mt_json_close(json, '}');
	mt_json_put_bool(json, "estimated", is_estimated(r));
	mt_json_put_bool(json, "begins_within", mt_info_begins_within(&r->report->profile->info));
	if (c->recorded)
		mt_verdict_json_moment(json, c->recorded);
	else
		put_json_made(json, c);
	mt_json_key(json, "groups");
	mt_json_open(json, '[');
	each_group(r, put_json_group);
	mt_json_close(json, ']');
	mt_json_close(json, '}');
	fputc('\n', r->report->out);
}

void mt_report_leakcheck(const struct mt_report *report, const struct mt_leakcheck *check,
	const bool shown[MT_VERDICT_COUNT])
{
	struct leakcheck_report r = {.report = report,
		.check = check,
		.shown = shown,
		.json = {.out = report->out}};

	if (!check->recorded && (!check->still.no_copy || !check->still.still_ns))
		r.describer = mt_describer_new(check, report->profile, report->symbols);
	if (report->format == MT_FORMAT_JSON)
		put_json(&r);
	else
		put_text(&r);
	mt_describer_free(r.describer);
	mt_backtrace_free(&r.backtrace);
}
