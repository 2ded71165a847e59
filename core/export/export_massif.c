/* massif's file, for ms_print and massif-visualizer: snapshots of the heap over time, a detailed
 * one at the peak and one at the end. A detailed snapshot is a tree from the allocating functions
 * to their callers, a line a node: 'n<children>: <bytes> 0x<address>: <function> (<file>:<line>)',
 * indented by depth. */
#include "core/export/export_parts.h"

#include <errno.h>
#include <stdlib.h>

#define SNAPSHOTS 100u /* as many as massif keeps, besides the detailed ones */
#define DEPTH_MAX 200u /* as massif's --depth; ms_print recurses */

struct massif {
	const struct mt_report *report;
	uint32_t snapshot;
};

static uint64_t milliseconds(uint64_t ns)
{
	return ns / 1000000;
}

static void put_snapshot(struct massif *m, uint64_t time_ns, uint64_t bytes, const char *tree)
{
	fprintf(m->report->out,
		"#-----------\nsnapshot=%u\n#-----------\ntime=%llu\nmem_heap_B=%llu\n"
		"mem_heap_extra_B=0\n"
		"mem_stacks_B=0\nheap_tree=%s\n",
		m->snapshot++, (unsigned long long)milliseconds(time_ns), (unsigned long long)bytes,
		tree);
}

/* ---- a detailed one ---- */

static uint64_t bytes_of(const struct mt_group *g, enum mt_metric metric)
{
	return metric == MT_METRIC_AT_PEAK_SIZE ? g->at_peak_bytes : g->live_bytes;
}

struct level {
	uint32_t node; /* the child to be shown next, or MT_NO_NODE */
	uint64_t rest; /* bytes of children below the threshold */
	uint32_t rest_count;
};

/* How many children are shown, and what becomes of the others. They come with the largest first. */
static uint32_t count_children(struct mt_tree *tree, uint32_t node, enum mt_metric metric,
	uint64_t least, struct level *level)
{
	uint32_t shown = 0;

	mt_tree_expand(tree, node);
	*level = (struct level){mt_tree_get(tree, node)->first_child, 0, 0};
	for (uint32_t child = level->node; child != MT_NO_NODE;
		child = mt_tree_get(tree, child)->next_sibling) {
		uint64_t bytes = bytes_of(&mt_tree_get(tree, child)->total, metric);

		if (bytes && bytes >= least) {
			shown++;
		} else if (bytes) {
			level->rest += bytes;
			level->rest_count++;
		}
	}
	return shown;
}

static void put_label(const struct massif *m, const struct mt_tree *tree, uint32_t node)
{
	const struct mt_profile *p = m->report->profile;
	struct mt_backtrace_frame frame;

	mt_tree_label(tree, node, &frame);
	char *name = mt_report_frame_name(&frame), *place = mt_report_frame_place(&frame);

	fprintf(m->report->out, " 0x%llX: ",
		(unsigned long long)(frame.pc < p->pc_count ? p->pcs[frame.pc].address : 0));
	mt_text_put(m->report->out, MT_TEXT_LINE, name);
	fprintf(m->report->out, " (%s", *frame.source ? "" : "in ");
	mt_text_put(m->report->out, MT_TEXT_LINE,
		*frame.source           ? place
			: *frame.module ? frame.module
					: "???");
	fputs(")\n", m->report->out);
	free(place);
	free(name);
}

static void put_rest(const struct massif *m, const struct level *level, uint32_t depth)
{
	if (level->rest_count)
		fprintf(m->report->out,
			"%*sn0: %llu in %u place%s, below massif's threshold (%05.2f%%)\n",
			(int)depth, "", (unsigned long long)level->rest, level->rest_count,
			level->rest_count == 1 ? "" : "s, all", m->report->threshold);
}

/* Without recursion: stacks of the program can be deeper than our own. */
static void put_nodes(const struct massif *m, struct mt_tree *tree, enum mt_metric metric,
	uint64_t bytes, uint64_t least)
{
	struct level levels[DEPTH_MAX + 1];
	uint32_t depth = 0;
	uint32_t shown = count_children(tree, mt_tree_root(tree), metric, least, &levels[0]);

	fprintf(m->report->out,
		"n%u: %llu (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n",
		shown + !!levels[0].rest_count, (unsigned long long)bytes);
	for (;;) {
		struct level *at = &levels[depth];
		uint32_t node = at->node;
		uint64_t here =
			node == MT_NO_NODE ? 0 : bytes_of(&mt_tree_get(tree, node)->total, metric);

		if (!here || here < least) {
			put_rest(m, at, depth + 1);
			if (!depth--)
				return;
			continue;
		}
		at->node = mt_tree_get(tree, node)->next_sibling;
		shown = 0;
		struct level next = {MT_NO_NODE, 0, 0};

		if (depth < DEPTH_MAX)
			shown = count_children(tree, node, metric, least, &next);
		fprintf(m->report->out, "%*sn%u: %llu", (int)depth + 1, "",
			shown + !!next.rest_count, (unsigned long long)here);
		put_label(m, tree, node);
		if (shown || next.rest_count)
			levels[++depth] = next;
	}
}

static int put_detailed(struct massif *m, uint64_t time_ns, enum mt_metric metric, const char *kind,
	struct mt_err *err)
{
	const struct mt_report *report = m->report;
	struct mt_selection selection = {0};
	int error = mt_select(&selection, report->profile, report->symbols, report->filter, metric,
		false, err);

	if (error >= 0) {
		struct mt_tree *tree = mt_tree_new(report->profile, report->symbols, &selection,
			MT_TREE_INVERTED, metric);
		uint64_t bytes = bytes_of(&selection.sum, metric);

		put_snapshot(m, time_ns, bytes, kind);
		put_nodes(m, tree, metric, bytes,
			(uint64_t)((double)bytes * report->threshold / 100));
		mt_tree_free(tree);
	}
	mt_selection_free(&selection);
	return error < 0 ? error : 0;
}

/* ---- the file ---- */

static void put_head(const struct massif *m)
{
	char *command = mt_report_command(m->report->profile);

	fprintf(m->report->out, "desc: memtui %s%s\ncmd: ", MT_VERSION,
		m->report->asked && mt_filter_active(m->report->asked)
			? ", filtered: the peak is that of the whole heap"
			: "");
	mt_text_put(m->report->out, MT_TEXT_LINE, command);
	fputs("\ntime_unit: ms\n", m->report->out);
	free(command);
}

/* None behind the end of a range: what matched was all allocated by then. The last one is open. */
static uint32_t samples_of(const struct mt_report *report)
{
	const struct mt_profile *p = report->profile;
	uint64_t steps = report->matched && p->step_ns
		? report->matched->to_ns / p->step_ns + 1
		: UINT64_MAX;

	return steps < p->sample_count ? (uint32_t)steps : p->sample_count;
}

int mt_export_massif(const struct mt_report *report, struct mt_err *err)
{
	struct massif m = {.report = report};
	const struct mt_profile *p = report->profile;
	uint64_t peak_ns = mt_report_heap_peak_ns(report);
	uint32_t count = samples_of(report), every = count / SNAPSHOTS + 1;
	bool peak = false;
	int error = 0;

	put_head(&m);
	put_snapshot(&m, 0, 0, "empty");
	for (uint32_t i = every - 1; i + 1 < count && !error; i += every) {
		uint64_t ns = (i + 1) * p->step_ns;

		if (!peak && peak_ns < ns) {
			error = put_detailed(&m, peak_ns, MT_METRIC_AT_PEAK_SIZE, "peak", err);
			peak = true;
		}
		put_snapshot(&m, ns, p->samples[i].live_bytes, "empty");
	}
	if (!peak && !error)
		error = put_detailed(&m, peak_ns, MT_METRIC_AT_PEAK_SIZE, "peak", err);
	if (!error)
		error = put_detailed(&m, p->info.wall_ns, MT_METRIC_LEAKED_SIZE, "detailed", err);
	return error;
}
