/* speedscope's file format (www.speedscope.app/file-format-schema.json): a sampled profile per
 * metric, whose samples are stacks with a weight. */
#include "core/export/export_parts.h"

#include <errno.h>
#include <stdlib.h>

#ifndef MT_VERSION
#define MT_VERSION "unknown"
#endif

static const enum mt_metric metrics[] = {MT_METRIC_LEAKED_SIZE, MT_METRIC_AT_PEAK_SIZE,
	MT_METRIC_SIZE, MT_METRIC_LEAKED_COUNT, MT_METRIC_ALLOCATED_COUNT,
	MT_METRIC_TEMPORARY_COUNT};
#define METRICS (sizeof metrics / sizeof *metrics)

struct scope {
	const struct mt_report *report;
	const struct mt_tree *tree;
	struct mt_json json;
	uint32_t *frame_of; /* by tree node */
	uint32_t *path;     /* frames from the outermost to the present node's */
	uint32_t depth, capacity;
};

static void put_string(struct mt_json *json, const char *key, const char *text)
{
	mt_json_key(json, key);
	mt_json_string(json, text);
}

/* ---- frames: each function of a file once ---- */

static void put_frame(struct scope *s, const struct mt_backtrace_frame *frame, const char *name)
{
	mt_json_line(&s->json);
	mt_json_open(&s->json, '{');
	put_string(&s->json, "name", name);
	if (*frame->source || *frame->module)
		put_string(&s->json, "file", *frame->source ? frame->source : frame->module);
	if (frame->line) {
		mt_json_key(&s->json, "line");
		mt_json_number(&s->json, frame->line);
	}
	mt_json_close(&s->json, '}');
}

static void put_frames(struct scope *s)
{
	struct mt_backtrace_frame frame = {
		.function = MT_EXPORT_NO_STACK,
		.source = "",
		.module = "",
	};
	struct mt_strings seen;

	mt_strings_init(&seen); /* id 0 is the frame of the root */
	s->frame_of = mt_alloc(mt_tree_count(s->tree) * sizeof *s->frame_of);
	mt_json_key(&s->json, "shared");
	mt_json_open(&s->json, '{');
	mt_json_key(&s->json, "frames");
	mt_json_open(&s->json, '[');
	put_frame(s, &frame, frame.function);
	for (struct mt_tree_walk walk = mt_tree_walk_begin(s->tree); mt_tree_walk_next(&walk);) {
		if (!walk.down)
			continue;
		mt_tree_label(s->tree, walk.node, &frame);
		char *name = mt_report_frame_name(&frame);
		char *key = mt_format("%s\n%s\n%s", name, frame.source, frame.module);
		uint32_t before = seen.count;

		s->frame_of[walk.node] = mt_strings_add(&seen, key);
		if (seen.count != before)
			put_frame(s, &frame, name);
		free(name);
		free(key);
	}
	mt_json_close(&s->json, ']');
	mt_json_close(&s->json, '}');
	mt_strings_free(&seen);
}

/* ---- profiles ---- */

static uint64_t value_of(const struct scope *s, const struct mt_group *group, enum mt_metric metric)
{
	return mt_metric_value(s->report->profile, group, metric);
}

static void put_sample(struct scope *s)
{
	uint32_t root = 0;
	const uint32_t *path = s->depth ? s->path : &root;

	mt_json_open(&s->json, '[');
	for (uint32_t i = 0; i < (s->depth ? s->depth : 1); i++)
		mt_json_number(&s->json, path[i]);
	mt_json_close(&s->json, ']');
}

/* The stacks that have some of the metric, or what they have of it. */
static void put_stacks(struct scope *s, enum mt_metric metric, bool weights)
{
	uint64_t value = value_of(s, &mt_tree_get(s->tree, mt_tree_root(s->tree))->self, metric);

	s->depth = 0;
	mt_json_key(&s->json, weights ? "weights" : "samples");
	mt_json_open(&s->json, '[');
	for (struct mt_tree_walk walk = mt_tree_walk_begin(s->tree);;) {
		if (value && walk.down && weights)
			mt_json_number(&s->json, value);
		else if (value && walk.down)
			put_sample(s);
		if (!mt_tree_walk_next(&walk))
			break;
		if (!walk.down) {
			s->depth--;
			continue;
		}
		MT_GROW(s->path, s->depth, s->capacity);
		s->path[s->depth++] = s->frame_of[walk.node];
		value = value_of(s, &mt_tree_get(s->tree, walk.node)->self, metric);
	}
	mt_json_close(&s->json, ']');
}

static void put_profile(struct scope *s, enum mt_metric metric)
{
	const struct mt_group_column *info = mt_metric_info(s->report->profile, metric);

	mt_json_line(&s->json);
	mt_json_open(&s->json, '{');
	put_string(&s->json, "type", "sampled");
	put_string(&s->json, "name", info->words);
	put_string(&s->json, "unit", info->unit == MT_UNIT_BYTES ? "bytes" : "none");
	mt_json_key(&s->json, "startValue");
	mt_json_number(&s->json, 0);
	mt_json_key(&s->json, "endValue");
	mt_json_number(&s->json,
		value_of(s, &mt_tree_get(s->tree, mt_tree_root(s->tree))->total, metric));
	put_stacks(s, metric, false);
	put_stacks(s, metric, true);
	mt_json_close(&s->json, '}');
}

/* The metric that was asked for comes first; it may be none of the usual ones. */
static void put_profiles(struct scope *s)
{
	mt_json_key(&s->json, "profiles");
	mt_json_open(&s->json, '[');
	put_profile(s, s->report->sort);
	for (size_t i = 0; i < METRICS; i++)
		if (metrics[i] != s->report->sort)
			put_profile(s, metrics[i]);
	mt_json_close(&s->json, ']');
}

int mt_export_speedscope(const struct mt_report *report, struct mt_err *err)
{
	struct mt_tree *tree = mt_export_tree(report, NULL, err);
	struct scope s = {.report = report, .tree = tree, .json = {.out = report->out}};

	if (!tree)
		return -EINVAL;
	char *command = mt_report_command(report->profile);

	mt_json_open(&s.json, '{');
	put_string(&s.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	put_string(&s.json, "exporter", "memtui " MT_VERSION);
	put_string(&s.json, "name", command);
	mt_json_key(&s.json, "activeProfileIndex");
	mt_json_number(&s.json, 0);
	put_frames(&s);
	put_profiles(&s);
	mt_json_close(&s.json, '}');
	putc('\n', report->out);
	free(command);
	free(s.frame_of);
	free(s.path);
	mt_tree_free(tree);
	return 0;
}
