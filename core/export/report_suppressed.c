/* What was suppressed: shown wherever leaks are without it. */
#include "core/export/check.h"
#include "core/export/report_parts.h"

#include <errno.h>
#include <string.h>

void mt_report_suppressed(const struct mt_report *report, const char *indent)
{
	const struct mt_suppressed *s = report->suppressed;
	char bytes[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN], rules[MT_NUMBER_OF_LEN];

	if (!s || !s->all_blocks)
		return;
	mt_report_number(bytes, report, MT_UNIT_BYTES, s->all_bytes);
	mt_report_number(blocks, report, MT_UNIT_COUNT, s->all_blocks);
	fprintf(report->out, "%ssuppressed %s in %s %s by %s\n", indent, bytes, blocks,
		MT_PLURAL(blocks, "block"), mt_number_of(rules, s->rules_used, "rule"));
}

void mt_report_json_suppressed(struct mt_json *json, const struct mt_report *report)
{
	const struct mt_suppressed *s = report->suppressed;

	mt_json_put_number(json, "suppressed_count", s ? s->all_blocks : 0);
	mt_json_put_number(json, "suppressed_bytes", s ? s->all_bytes : 0);
}

void mt_report_json_rules(struct mt_json *json, const struct mt_report *report)
{
	uint32_t count = report->suppressions ? mt_suppressions_count(report->suppressions) : 0;

	mt_json_key(json, "suppressions");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct mt_suppression *rule = mt_suppressions_at(report->suppressions, i);

		if (rule->builtin && !rule->groups)
			continue;
		mt_json_line(json);
		mt_json_open(json, '{');
		mt_json_put_string(json, "rule", rule->text);
		mt_json_put_string(json, "source", rule->source);
		mt_json_put_number(json, "line", rule->line);
		mt_json_put_number(json, "groups", rule->groups);
		mt_json_put_number(json, "suppressed_count", rule->blocks);
		mt_json_put_number(json, "suppressed_bytes", rule->bytes);
		mt_json_close(json, '}');
	}
	mt_json_close(json, ']');
}

void mt_report_unused_rules(const struct mt_report *report)
{
	uint32_t count = report->suppressions ? mt_suppressions_count(report->suppressions) : 0;
	bool some = false;

	for (uint32_t i = 0; i < count; i++) {
		const struct mt_suppression *rule = mt_suppressions_at(report->suppressions, i);

		if (rule->builtin || rule->groups)
			continue;
		fputs(some ? "" : "\nsuppressions that match nothing\n", report->out);
		some = true;
		fputs("  ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, rule->source);
		fprintf(report->out, ":%u: ", rule->line);
		mt_text_put(report->out, MT_TEXT_LINE, rule->text);
		putc('\n', report->out);
	}
}

void mt_report_used_rules(const struct mt_report *report)
{
	uint32_t count = report->suppressions ? mt_suppressions_count(report->suppressions) : 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct mt_suppression *rule = mt_suppressions_at(report->suppressions, i);
		char bytes[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN];

		if (!rule->groups)
			continue;
		mt_report_number(bytes, report, MT_UNIT_BYTES, rule->bytes);
		mt_report_number(blocks, report, MT_UNIT_COUNT, rule->blocks);
		fprintf(report->out, "  %s in %s %s by ", bytes, blocks,
			MT_PLURAL(blocks, "block"));
		mt_text_put(report->out, MT_TEXT_LINE, rule->text);
		fputs("  (", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, rule->source);
		fprintf(report->out, ":%u)\n", rule->line);
	}
}

/* Leaves those of the selection that rules are wanted for; the groups of a report that leak are not
 * suppressed. */
static uint32_t wanted(const struct mt_report *report, struct mt_selection *selection)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < selection->count; i++) {
		uint32_t id = selection->groups[i];

		if (report->profile->groups[id].live_count)
			selection->groups[count++] = id;
	}
	return count;
}

int mt_report_suppressions(const struct mt_report *report, struct mt_err *err)
{
	bool lsan = report->what && !strcmp(report->what, "lsan");
	const char *group = report->asked ? mt_filter_get(report->asked, MT_FILTER_GROUP) : NULL;
	struct mt_selection selection = {0};
	struct mt_buffer text = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		MT_METRIC_LEAKED_SIZE, false, err);
	uint32_t count = status < 0 ? 0 : wanted(report, &selection);

	if (status >= 0 && group && !count)
		status = mt_fail(err, -EINVAL,
			"%s: group %s leaks nothing, or is already suppressed or filtered out; "
			"'memtui suppress' without --group names the groups that leak",
			report->path, group);
	else if (status >= 0 && !count)
		fputs(mt_report_knows_leaks(report)
				? "# all leaks are already suppressed\n"
				: "# all live blocks at the end of the recording are already "
				  "suppressed\n",
			report->out);
	if (status >= 0 && count) {
		mt_suppress_write(&text, lsan ? MT_SUPPRESS_LSAN : MT_SUPPRESS_VALGRIND,
			report->profile, report->symbols, selection.groups, count);
		fwrite(text.data, 1, text.len, report->out);
	}
	mt_buffer_free(&text);
	mt_selection_free(&selection);
	return status;
}
