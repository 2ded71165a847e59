#include "core/export/report_parts.h"
#include "core/export/table.h"

#include <stdlib.h>

#define INDENT_MAX 80

struct walk {
	const struct mt_report *report;
	struct mt_tree *tree;
	struct mt_json json;
	uint32_t *shown; /* by depth: children printed so far of the node there */
	uint32_t depth, capacity;
};

static void enter_json(struct walk *walk, uint32_t node)
{
	const struct mt_tree_node *at = mt_tree_get(walk->tree, node);
	struct mt_backtrace_frame frame;

	mt_tree_label(walk->tree, node, &frame);
	mt_json_open(&walk->json, '{');
	mt_report_json_frame(&walk->json, &frame);
	mt_report_json_estimated(&walk->json, walk->report->profile, &at->total);
	mt_json_key(&walk->json, "self");
	mt_report_json_metrics(&walk->json, walk->report->profile, &at->self);
	mt_json_key(&walk->json, "total");
	mt_report_json_metrics(&walk->json, walk->report->profile, &at->total);
	mt_json_key(&walk->json, "children");
	mt_json_open(&walk->json, '[');
}

static void enter_csv(struct walk *walk, uint32_t node)
{
	const struct mt_tree_node *at = mt_tree_get(walk->tree, node);
	FILE *out = walk->report->out;
	struct mt_backtrace_frame frame;

	mt_tree_label(walk->tree, node, &frame);
	char *name = mt_report_frame_name(&frame);

	fprintf(out, "%u", at->depth);
	mt_csv_field(out, false, name);
	mt_csv_field(out, false, frame.source);
	fprintf(out, ",%u", frame.line);
	mt_csv_field(out, false, frame.module);
	mt_report_csv_metrics(out, walk->report->profile, &at->total);
	mt_report_csv_metrics(out, walk->report->profile, &at->self);
	putc('\n', out);
	free(name);
}

static void enter_text(struct walk *walk, uint32_t node)
{
	const struct mt_report *report = walk->report;
	const struct mt_tree_node *at = mt_tree_get(walk->tree, node);
	uint64_t total = mt_metric_value(report->profile, &at->total, report->sort);
	uint64_t all =
		mt_metric_value(report->profile, &mt_tree_get(walk->tree, 0)->total, report->sort);
	char total_text[MT_NUMBER_EXACT_LEN + 1], self_text[MT_NUMBER_EXACT_LEN + 1];
	struct mt_backtrace_frame frame;

	mt_tree_label(walk->tree, node, &frame);
	mt_report_metric(total_text, report, &at->total, report->sort);
	mt_report_metric(self_text, report, &at->self, report->sort);
	fprintf(report->out, "%*s  %*s", report->exact ? 15 : 10, total_text,
		report->exact ? 15 : 10, self_text);
	if (mt_metric_info(report->sort)->sums)
		fprintf(report->out, "  %5.1f%%", all ? 100.0 * (double)total / (double)all : 0.0);
	uint32_t indent = at->depth * 2;
	char *name = mt_report_short_frame_name(report, &frame);
	char *place = mt_report_frame_place(&frame);

	fprintf(report->out, "  %*s", (int)(indent > INDENT_MAX ? INDENT_MAX : indent), "");
	mt_text_put(report->out, MT_TEXT_LINE, name);
	if (*place) {
		fputs("  ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, place);
	}
	putc('\n', report->out);
	free(name);
	free(place);
}

static void enter(struct walk *walk, uint32_t node)
{
	if (walk->report->format == MT_FORMAT_JSON)
		enter_json(walk, node);
	else if (walk->report->format == MT_FORMAT_CSV)
		enter_csv(walk, node);
	else
		enter_text(walk, node);
	MT_GROW(walk->shown, walk->depth, walk->capacity);
	walk->shown[walk->depth++] = 1;
}

static void leave(struct walk *walk)
{
	walk->depth--;
	if (walk->report->format == MT_FORMAT_JSON) {
		mt_json_close(&walk->json, ']');
		mt_json_close(&walk->json, '}');
	}
}

static uint32_t first_child(struct walk *walk, uint32_t node)
{
	if (walk->report->levels && mt_tree_get(walk->tree, node)->depth >= walk->report->levels)
		return MT_NO_NODE;
	mt_tree_expand(walk->tree, node);
	return mt_tree_get(walk->tree, node)->first_child;
}

/* Depth first without recursion: stacks of the program can be deeper than our own. */
static void walk_all(struct walk *walk)
{
	uint32_t node = mt_tree_root(walk->tree);

	enter(walk, node);
	for (uint32_t next = first_child(walk, node);;) {
		while (next == MT_NO_NODE) {
			leave(walk);
			if (!walk->depth)
				return;
			const struct mt_tree_node *at = mt_tree_get(walk->tree, node);

			next = at->next_sibling;
			node = at->parent;
			if (walk->report->count
				&& walk->shown[walk->depth - 1]++ >= walk->report->count)
				next = MT_NO_NODE;
		}
		node = next;
		enter(walk, node);
		next = first_child(walk, node);
	}
}

static void heading(const struct mt_report *report)
{
	const struct mt_metric_info *metric = mt_metric_info(report->sort);

	if (report->format == MT_FORMAT_CSV) {
		fputs("depth,function,source,line,module", report->out);
		mt_report_csv_metric_names(report->out, "");
		mt_report_csv_metric_names(report->out, "self_");
		putc('\n', report->out);
	} else if (report->format == MT_FORMAT_TEXT) {
		fprintf(report->out, "%*s  %*s%s  FUNCTION\n", report->exact ? 15 : 10,
			mt_metric_heading(report->sort, mt_report_knows_leaks(report)),
			report->exact ? 15 : 10, "SELF", metric->sums ? "       %" : "");
	}
}

int mt_report_tree(const struct mt_report *report, struct mt_err *err)
{
	struct mt_selection selection = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		report->sort, false, err);

	if (status >= 0) {
		struct walk walk = {.report = report, .json = {.out = report->out}};

		walk.tree = mt_tree_new(report->profile, report->symbols, &selection,
			report->inverted, report->sort);
		heading(report);
		walk_all(&walk);
		if (report->format == MT_FORMAT_JSON)
			putc('\n', report->out);
		free(walk.shown);
		mt_tree_free(walk.tree);
	}
	mt_selection_free(&selection);
	return status;
}
