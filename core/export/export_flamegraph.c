/* A flame graph as one SVG file. Everything that a reader needs stands in the document, names and
 * numbers as text; the script only moves it. */
#include "core/export/export_parts.h"
#include "core/export/flamegraph.h"

#include <errno.h>
#include <stdlib.h>

#define WIDTH 1200
#define PAD 10
#define TOP 58 /* title, buttons and the details' line */
#define FRAME_HEIGHT 16
#define LEAST_WIDTH 0.25 /* pixels: narrower frames are left out */

struct flame {
	const struct mt_report *report;
	const struct mt_tree *tree;
	FILE *out;
	uint64_t total;
	uint32_t depth; /* of the deepest frame that is shown */
	uint64_t shown, left_out;
	unsigned height;
};

static uint64_t value_of(const struct flame *f, const struct mt_group *group)
{
	return mt_metric_value(f->report->profile, group, f->report->sort);
}

static bool is_shown(const struct flame *f, uint32_t node)
{
	double pixels = WIDTH - 2 * PAD;

	return (double)value_of(f, &mt_tree_get(f->tree, node)->total) * pixels
		>= LEAST_WIDTH * (double)f->total;
}

/* What is called is never wider than what calls it: callers of a shown frame are shown. */
static void measure(struct flame *f)
{
	for (struct mt_tree_walk walk = mt_tree_walk_begin(f->tree); mt_tree_walk_next(&walk);) {
		const struct mt_tree_node *at = mt_tree_get(f->tree, walk.node);

		if (!walk.down)
			continue;
		if (!is_shown(f, walk.node)) {
			f->left_out += value_of(f, &at->total) != 0;
			continue;
		}
		f->shown++;
		if (at->depth > f->depth)
			f->depth = at->depth;
	}
	f->height = TOP + (f->depth + 1) * FRAME_HEIGHT + PAD;
}

/* ---- head ---- */

static const char style[] =
	"text{font:12px monospace;fill:#000}.title{font-size:16px}.button{cursor:pointer;fill:#06c}"
	".frames g:hover rect,.at rect{stroke:#000;stroke-width:1.5}"
	".frames g{cursor:pointer}.frames text{pointer-events:none}";

static void put_head(const struct flame *f)
{
	const struct mt_group_column *metric = mt_metric_info(f->report->profile, f->report->sort);
	char *command = mt_report_command(f->report->profile);

	fprintf(f->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\">\n"
		"<desc>%s of ",
		WIDTH, f->height, WIDTH, f->height, metric->name);
	mt_text_put(f->out, MT_TEXT_XML, command);
	fprintf(f->out,
		", by memtui</desc>\n<style>%s</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfbf4\"/>\n"
		"<text class=\"title\" x=\"50%%\" y=\"20\" text-anchor=\"middle\">",
		style);
	mt_text_put(f->out, MT_TEXT_XML, mt_export_program(f->report->profile));
	fprintf(f->out, ": %s</text>\n", metric->words);
	fprintf(f->out,
		"<text class=\"reset button\" x=\"%d\" y=\"20\" "
		"style=\"display:none\">reset zoom</text>\n"
		"<text class=\"search button\" x=\"100%%\" dx=\"-%d\" y=\"20\" text-anchor=\"end\" "
		"style=\"display:none\">search</text>\n",
		PAD, PAD);
	free(command);
}

static void put_details(const struct flame *f)
{
	char count[MT_NUMBER_EXACT_LEN];

	fprintf(f->out,
		"<text class=\"matched\" x=\"100%%\" dx=\"-%d\" y=\"44\" "
		"text-anchor=\"end\"></text>\n"
		"<text class=\"details\" x=\"%d\" y=\"44\">",
		PAD, PAD);
	if (!f->total) {
		fprintf(f->out, "nothing to show: the sum of %s is 0",
			mt_metric_info(f->report->profile, f->report->sort)->name);
	} else if (f->left_out) {
		mt_number_exact(count, f->left_out);
		fprintf(f->out, "%s %s narrower than %g pixel %s left out", count,
			MT_PLURAL(count, "frame"), LEAST_WIDTH, f->left_out == 1 ? "is" : "are");
	}
	fputs("</text>\n", f->out);
}

/* ---- frames ---- */

/* The same name has the same colour in every graph. Bytes are green, counts are yellow to red. */
static void put_colour(const struct flame *f, const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	hash ^= hash >> 15;
	unsigned a = hash % 61, b = hash / 61 % 101;

	if (mt_metric_info(f->report->profile, f->report->sort)->unit == MT_UNIT_BYTES)
		fprintf(f->out, "rgb(%u,%u,%u)", 100 + b, 180 + a, 100 + b / 2);
	else
		fprintf(f->out, "rgb(%u,%u,%u)", 195 + a, 110 + b, 60 + b / 4);
}

/* As many characters as have room; the last two say that there are more. */
static void put_label(const struct flame *f, const char *name, double pixels)
{
	double room = (pixels - 2 * MT_FLAME_INSET) / MT_FLAME_CHARACTER;
	size_t most = room < 3 ? 0 : (size_t)room, count = 0;
	char *line = mt_text_line(name), *cut = line;

	if (!most) {
		free(line);
		return;
	}
	for (const char *at = line; count <= most && mt_text_next(&at); count++)
		if (count + 3 == most)
			cut = line + (at - line);
	if (count > most)
		*cut = '\0';
	mt_text_put(f->out, MT_TEXT_XML, line);
	fputs(count > most ? ".." : "", f->out);
	free(line);
}

/* "48.1M (50,463,211), 12.34%" */
static void put_value(const struct flame *f, const struct mt_group *group)
{
	struct mt_report plain = *f->report;
	char text[MT_METRIC_LEN], exact[MT_NUMBER_EXACT_LEN];
	uint64_t value = value_of(f, group);

	plain.exact = false;
	mt_report_metric(text, &plain, group, f->report->sort);
	mt_number_exact(exact, value);
	fprintf(f->out, "%s (%s), %.2f%%", text, exact, 100.0 * (double)value / (double)f->total);
}

static void put_tip(const struct flame *f, uint32_t node, const struct mt_backtrace_frame *frame,
	const char *name)
{
	const struct mt_tree_node *at = mt_tree_get(f->tree, node);
	char *place = mt_report_frame_place(frame);

	mt_text_put(f->out, MT_TEXT_XML, name);
	putc('\n', f->out);
	mt_text_put(f->out, MT_TEXT_XML, place);
	fputs(frame->inlined ? *place ? ", inlined\n" : "inlined\n" : *place ? "\n" : "", f->out);
	put_value(f, &at->total);
	if (value_of(f, &at->self) && at->first_child != MT_NO_NODE) {
		fputs("\nby itself ", f->out);
		put_value(f, &at->self);
	}
	free(place);
}

/* start: sum of what stands left of it on its level. */
static void put_frame(const struct flame *f, uint32_t node, uint64_t start)
{
	const struct mt_tree_node *at = mt_tree_get(f->tree, node);
	uint64_t value = value_of(f, &at->total);
	double x = (double)start / (double)f->total, width = (double)value / (double)f->total;
	double pixels = WIDTH - 2 * PAD;
	unsigned y = (f->depth - at->depth) * FRAME_HEIGHT;
	struct mt_backtrace_frame frame;

	mt_tree_label(f->tree, node, &frame);
	char *name = mt_report_frame_name(&frame);

	fprintf(f->out, "<g data-x=\"%llu\" data-w=\"%llu\" data-d=\"%u\"><title>",
		(unsigned long long)start, (unsigned long long)value, at->depth);
	put_tip(f, node, &frame, name);
	fprintf(f->out,
		"</title><rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%d\" fill=\"",
		100 * x, y, 100 * width, FRAME_HEIGHT - 1);
	put_colour(f, name);
	fprintf(f->out, "\"/><text x=\"%.2f\" y=\"%u\">", pixels * x + MT_FLAME_INSET, y + 12);
	put_label(f, name, pixels * width);
	fputs("</text></g>\n", f->out);
	free(name);
}

static void put_frames(struct flame *f)
{
	/* by depth: of the next frame there */
	uint64_t *starts = mt_alloc((f->depth + 2) * sizeof *starts);
	uint32_t root = mt_tree_root(f->tree);

	fprintf(f->out, "<svg class=\"frames\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\">\n",
		PAD, TOP, WIDTH - 2 * PAD, f->height - TOP);
	if (f->total)
		put_frame(f, root, 0);
	for (struct mt_tree_walk walk = mt_tree_walk_begin(f->tree);
		f->total && mt_tree_walk_next(&walk);) {
		const struct mt_tree_node *at = mt_tree_get(f->tree, walk.node);

		if (!is_shown(f, walk.node))
			continue;
		if (walk.down) {
			starts[at->depth + 1] = starts[at->depth];
			put_frame(f, walk.node, starts[at->depth]);
		} else {
			starts[at->depth] += value_of(f, &at->total);
		}
	}
	fputs("</svg>\n", f->out);
	free(starts);
}

int mt_export_flamegraph(const struct mt_report *report, struct mt_err *err)
{
	struct mt_group sum;
	struct mt_tree *tree = mt_export_tree(report, &sum, err);
	struct flame f = {.report = report, .tree = tree, .out = report->out};

	if (!tree)
		return -EINVAL;
	f.total = value_of(&f, &sum);
	measure(&f);
	put_head(&f);
	put_details(&f);
	put_frames(&f);
	fprintf(f.out, "<script type=\"text/ecmascript\"><![CDATA[\n%s]]></script>\n</svg>\n",
		mt_flame_script);
	mt_tree_free(tree);
	return 0;
}
