/* The call tree from the root down. Functions with too small a share of the whole are left out:
 * their callers say how many and how much. */
#include "core/export/report_parts.h"
#include "core/export/table.h"
#include "core/query/fold.h"

#include <stdlib.h>

#define INDENT_MAX 80

/* A node on the way from the root to where the walk is. */
struct level {
	uint32_t shown;        /* children printed so far */
	uint32_t omitted;      /* children left out */
	struct mt_group total; /* of those */
	uint32_t indent;
};

struct walk {
	const struct mt_report *report;
	struct mt_tree *tree;
	struct mt_json json;
	struct level *levels;
	uint32_t depth, capacity;
	enum mt_metric share; /* decides what is too small */
	double least;         /* values below are */
	uint64_t all_omitted;
	struct mt_group all_total;
	struct mt_folds folds;
};

/* ---- nodes ---- */

static void omitted_json(struct walk *walk, const char *key, uint64_t functions,
	const struct mt_group *total)
{
	mt_json_key(&walk->json, key);
	mt_json_open(&walk->json, '{');
	mt_json_key(&walk->json, "functions");
	mt_json_number(&walk->json, functions);
	mt_json_key(&walk->json, "total");
	mt_report_json_metrics(&walk->json, walk->report->profile, total);
	mt_json_close(&walk->json, '}');
}

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
	mt_report_csv_end(walk->report);
	free(name);
}

static double share_of(const struct mt_report *report, const struct mt_group *part,
	const struct mt_group *all)
{
	uint64_t whole = mt_metric_value(report->profile, all, report->sort);

	return whole ? 100.0 * (double)mt_metric_value(report->profile, part, report->sort)
			/ (double)whole
		     : 0;
}

/* ± is one column. */
static void put_number(FILE *out, const char *number, uint32_t width)
{
	uint32_t columns = mt_text_columns(number);

	fprintf(out, "%*s%s", width > columns ? (int)(width - columns) : 0, "", number);
}

/* The columns before the name; returns how many characters they take. */
static uint32_t numbers_text(struct walk *walk, uint32_t indent, const struct mt_group *total,
	const struct mt_group *self)
{
	const struct mt_report *report = walk->report;
	const struct mt_group *all = &mt_tree_get(walk->tree, 0)->total;
	char total_text[MT_METRIC_LEN], self_text[MT_METRIC_LEN];
	uint32_t width = report->exact ? 15 : 10, before = 2 * width + 2;
	uint32_t most = report->width ? report->width / 3 : INDENT_MAX;

	mt_report_metric(total_text, report, total, report->sort);
	mt_report_metric(self_text, report, self, report->sort);
	put_number(report->out, total_text, width);
	fputs("  ", report->out);
	put_number(report->out, self_text, width);
	if (mt_metric_sums(report->profile, report->sort))
		before += (uint32_t)fprintf(report->out, "  %5.1f%%", share_of(report, total, all));
	indent *= 2;
	return before
		+ (uint32_t)fprintf(report->out, "  %*s", (int)(indent > most ? most : indent), "");
}

/* Where the program's own functions end, so does the tree that people read: what leads on to malloc
 * is part of that row, as on the screen. --min-percent 0 shows all. */
static bool is_folded(const struct mt_report *report)
{
	return report->format == MT_FORMAT_TEXT && report->min_percent > 0;
}

static bool ends_here(const struct walk *walk, uint32_t node)
{
	return is_folded(walk->report) && mt_tree_ends_here(walk->tree, node);
}

/* Inverted, it begins there. */
static enum mt_tree_kind kind_of(const struct mt_report *report)
{
	return !report->inverted    ? MT_TREE_TOP_DOWN
		: is_folded(report) ? MT_TREE_FROM_OWN
				    : MT_TREE_INVERTED;
}

/* On a terminal, what takes all of its caller stays below it, so that deep chains leave room for
 * names. */
static uint32_t indent_of(const struct walk *walk, uint32_t node)
{
	const struct mt_tree_node *at = mt_tree_get(walk->tree, node);
	const struct mt_report *report = walk->report;

	if (!walk->depth)
		return 0;
	uint64_t value = mt_metric_value(report->profile, &at->total, report->sort);
	bool all = report->width && value
		&& value
			== mt_metric_value(report->profile,
				&mt_tree_get(walk->tree, at->parent)->total, report->sort);

	return walk->levels[walk->depth - 1].indent + (at->parent && all ? 0 : 1);
}

static void enter_text(struct walk *walk, uint32_t node)
{
	bool ends = ends_here(walk, node);
	const struct mt_tree_node *at = mt_tree_get(walk->tree, node);
	struct mt_backtrace_frame frame;

	mt_tree_label(walk->tree, node, &frame);
	mt_report_put_frame(walk->report,
		numbers_text(walk, indent_of(walk, node), &at->total,
			ends ? &at->total : &at->self),
		&frame, "");
}

static void enter(struct walk *walk, uint32_t node)
{
	if (walk->report->format == MT_FORMAT_JSON)
		enter_json(walk, node);
	else if (walk->report->format == MT_FORMAT_CSV)
		enter_csv(walk, node);
	else
		enter_text(walk, node);
	MT_GROW(walk->levels, walk->depth, walk->capacity);
	walk->levels[walk->depth] = (struct level){.indent = indent_of(walk, node)};
	walk->depth++;
}

/* ---- what is left out ---- */

/* One row, as deep as the children. Its self is all that they and those below them allocated. */
static void omitted_row(struct walk *walk, const struct level *level)
{
	FILE *out = walk->report->out;

	if (walk->report->format == MT_FORMAT_CSV) {
		fprintf(out, "%u,[%u omitted],,0,", walk->depth, level->omitted);
		mt_report_csv_metrics(out, walk->report->profile, &level->total);
		mt_report_csv_metrics(out, walk->report->profile, &level->total);
		mt_report_csv_end(walk->report);
		return;
	}
	numbers_text(walk, level->indent + 1, &level->total, &level->total);
	fprintf(out, "... %u %s\n", level->omitted,
		walk->share == walk->report->sort ? "smaller" : "more");
}

static void leave(struct walk *walk)
{
	const struct level *level = &walk->levels[walk->depth - 1];
	bool json = walk->report->format == MT_FORMAT_JSON;

	if (level->omitted) {
		walk->all_omitted += level->omitted;
		mt_fold(&walk->folds, &walk->all_total, walk->report->profile, &level->total);
	}
	if (json)
		mt_json_close(&walk->json, ']');
	if (json && level->omitted)
		omitted_json(walk, "omitted", level->omitted, &level->total);
	if (json && walk->depth == 1) {
		mt_json_key(&walk->json, "min_percent");
		mt_json_real(&walk->json, walk->report->min_percent);
		omitted_json(walk, "all_omitted", walk->all_omitted, &walk->all_total);
	}
	if (json)
		mt_json_close(&walk->json, '}');
	else if (level->omitted)
		omitted_row(walk, level);
	walk->depth--;
}

/* From a child on: the first that is to be shown. */
static uint32_t to_show(struct walk *walk, uint32_t node)
{
	const struct mt_report *report = walk->report;
	struct level *level = &walk->levels[walk->depth - 1];

	for (; node != MT_NO_NODE; node = mt_tree_get(walk->tree, node)->next_sibling) {
		const struct mt_group *total = &mt_tree_get(walk->tree, node)->total;
		uint64_t value = mt_metric_value(report->profile, total, walk->share);

		if ((double)value >= walk->least
			&& !(report->count && level->shown >= report->count)) {
			level->shown++;
			return node;
		}
		level->omitted++;
		mt_fold(&walk->folds, &level->total, report->profile, total);
	}
	return MT_NO_NODE;
}

static uint32_t first_child(struct walk *walk, uint32_t node)
{
	if (walk->report->levels && mt_tree_get(walk->tree, node)->depth >= walk->report->levels)
		return MT_NO_NODE;
	if (ends_here(walk, node))
		return MT_NO_NODE;
	mt_tree_expand(walk->tree, node);
	return to_show(walk, mt_tree_get(walk->tree, node)->first_child);
}

/* The share is one of the metric, or of the bytes allocated if the metric does not add up or is 0
 * everywhere. */
static void set_least(struct walk *walk)
{
	const struct mt_report *report = walk->report;
	const struct mt_group *all = &mt_tree_get(walk->tree, mt_tree_root(walk->tree))->total;
	bool sums = mt_metric_sums(report->profile, report->sort)
		&& mt_metric_value(report->profile, all, report->sort);

	walk->share = sums ? report->sort : MT_METRIC_SIZE;
	walk->least = (double)mt_metric_value(report->profile, all, walk->share)
		* report->min_percent / 100;
}

/* ---- the walk ---- */

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

			next = to_show(walk, at->next_sibling);
			node = at->parent;
		}
		node = next;
		enter(walk, node);
		next = first_child(walk, node);
	}
}

static void heading(const struct mt_report *report)
{
	if (report->format == MT_FORMAT_CSV) {
		fputs("depth,function,source,line,module", report->out);
		mt_report_csv_metric_names(report->out, report->profile, "");
		mt_report_csv_metric_names(report->out, report->profile, "self_");
		mt_report_csv_end_names(report);
	} else if (report->format == MT_FORMAT_TEXT) {
		fprintf(report->out, "%*s  %*s%s  FUNCTION\n", report->exact ? 15 : 10,
			mt_metric_heading(report->profile, report->sort,
				mt_report_knows_leaks(report)),
			report->exact ? 15 : 10, "SELF",
			mt_metric_sums(report->profile, report->sort) ? "       %" : "");
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
			kind_of(report), report->sort);
		set_least(&walk);
		heading(report);
		walk_all(&walk);
		if (report->format == MT_FORMAT_JSON)
			putc('\n', report->out);
		mt_folds_free(&walk.folds);
		free(walk.levels);
		mt_tree_free(walk.tree);
	}
	mt_selection_free(&selection);
	return status;
}
