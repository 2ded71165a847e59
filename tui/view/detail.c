/* One group: its totals, its backtrace, and the source lines of the selected frame. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/triage.h"
#include "tui/user/keymap.h"
#include "tui/view/detail_facts.h"
#include "tui/view/guidance.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_MAX (8u << 20)

static void forget_source(struct mt_source_file *f)
{
	free(f->path);
	free(f->text);
	free(f->line);
	*f = (struct mt_source_file){0};
}

static char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char *text;
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > SOURCE_MAX) {
		close(fd);
		return NULL;
	}
	text = mt_alloc((size_t)status.st_size + 1);
	while (len < (size_t)status.st_size && n > 0) {
		n = read(fd, text + len, (size_t)status.st_size - len);
		len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	text[len] = '\0';
	return text;
}

static void load_source(struct mt_source_file *f, const char *path, const char *module)
{
	uint32_t capacity = 0;
	char *next;

	if (f->path && !strcmp(f->path, path))
		return;
	forget_source(f);
	f->path = mt_strdup(path);
	char *file = mt_editor_source(path, module);

	f->text = file ? read_file(file) : NULL;
	free(file);
	for (next = f->text; next && *next;) {
		MT_GROW(f->line, f->count, capacity);
		f->line[f->count++] = strsep(&next, "\n");
	}
}

static struct mt_list *list(struct mt_app *app)
{
	struct mt_detail_state *d = &app->detail;
	bool other = d->selected_group != d->group;

	if (!other && d->generation == app->data.generation)
		return &d->list;
	d->backtrace.count = 0;
	mt_backtrace_get(&d->backtrace, &app->data.profile, app->data.symbols, d->group);
	d->selected_group = d->group;
	d->generation = app->data.generation;
	if (other) {
		app->following = app->followed = NULL; /* another group's source is drawn at once */
		d->list = (struct mt_list){.rows = d->list.rows, .held = true};
		d->list.selected = d->backtrace.count
			? (uint32_t)(mt_backtrace_own(&d->backtrace) - d->backtrace.frames)
			: 0;
	}
	mt_list_keep(&d->list, d->backtrace.count, d->list.selected);
	return &d->list;
}

/* What a filter by single allocations takes of the group. */
static void matched_words(struct mt_app *app, const struct mt_group *g, char out[96])
{
	const struct mt_data *d = &app->data;
	char freed[17], live[17], matched[16], all[16];

	out[0] = '\0';
	if (!mt_data_is_matched(d))
		return;
	mt_number_count(matched, g->allocated_count);
	mt_number_count(all, d->whole->groups[app->detail.group].allocated_count);
	if (d->ranged)
		snprintf(out, 96, "   freed in range %s   left %s",
			mt_data_metric(freed, d, g, MT_METRIC_RANGE_FREED_SIZE),
			mt_data_metric(live, d, g, MT_METRIC_RANGE_LIVE_SIZE));
	else
		snprintf(out, 96, "   %s of all %s %s match", matched, all, MT_PLURAL(all, "call"));
}

static int draw_totals(struct mt_app *app, struct mt_rect r)
{
	const struct mt_profile *p = &app->data.profile;
	const struct mt_group *g = &p->groups[app->detail.group];
	char live[17], blocks[17], all[17], count[17], average[17], least[16], most[16], first[16],
		last[16], temporary[17], peak[17], own[17], matched[96], sizes[64];
	struct mt_screen *s = app->screen;

	mt_data_metric(live, &app->data, g, MT_METRIC_LEAKED_SIZE);
	mt_data_metric(blocks, &app->data, g, MT_METRIC_LEAKED_COUNT);
	mt_data_metric(all, &app->data, g, MT_METRIC_SIZE);
	mt_data_metric(count, &app->data, g, MT_METRIC_ALLOCATED_COUNT);
	mt_data_sum(average, p, g->allocated_count ? g->allocated_bytes / g->allocated_count : 0,
		MT_UNIT_BYTES);
	mt_number_size(least, g->min_size);
	mt_number_size(most, g->max_size);
	mt_number_time(first, g->first_ns);
	mt_number_time(last, g->last_ns);
	mt_data_metric(temporary, &app->data, g, MT_METRIC_TEMPORARY_COUNT);
	mt_data_sum(peak, p, g->at_peak_bytes, MT_UNIT_BYTES);
	mt_data_sum(own, p, g->own_peak_bytes, MT_UNIT_BYTES);
	mt_drawf(s, r.row, r.column, r.columns, MT_ROLE_TEXT,
		" %s %s in %s %s   allocated %s in %s %s of %s",
		mt_info_knows_leaks(&app->data.whole->info) ? "leaked" : "live", live, blocks,
		MT_PLURAL(blocks, "block"), all, count, MT_PLURAL(count, "call"),
		mt_profile_function_name(p, mt_profile_group_function(p, app->detail.group)));
	if (r.rows < 10)
		return 1;
	matched_words(app, g, matched);
	if (g->min_size == g->max_size)
		snprintf(sizes, sizeof sizes, "%s each", most);
	else
		snprintf(sizes, sizeof sizes, "%s to %s, average %s", least, most, average);
	mt_drawf(s, r.row + 1, r.column, r.columns, MT_ROLE_TEXT,
		" size %s   at the peak %s   own peak %s", sizes, peak, own);
	mt_drawf(s, r.row + 2, r.column, r.columns, MT_ROLE_TEXT,
		" first %s   last %s   temporary %s%s", first, last, temporary, matched);
	return 3;
}

/* A frame without call frame information says so: others may be missing before it. Where there is
 * room, the mark of an inlined one is a word. */
static void draw_frame(struct mt_app *app, struct mt_rect r, bool selected, bool focus,
	const struct mt_backtrace_frame *frame)
{
	struct mt_backtrace_frame marked = *frame;
	char *name = mt_format("%s %s", frame->function,
		frame->by_frame_pointer ? "(no call frame information)" : "(inlined)");
	bool fits = mt_text_width(name) <= r.columns - r.columns * 2 / 5;

	if (frame->by_frame_pointer || (frame->inlined && fits)) {
		marked.function = name;
		marked.inlined = false;
	}
	mt_frame_where(app, r.row, r.column, r.columns, selected, focus, &marked);
	free(name);
}

static void draw_frames(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	char above[MT_NUMBER_OF_LEN], keys[64], words[128] = "backtrace, innermost first";

	mt_list_fit(l, r.rows - 1);
	if (l->top)
		snprintf(words, sizeof words,
			mt_keymap_words(keys, sizeof keys, "backtrace, %s above: {up}"),
			mt_number_of(above, l->top, "inner frame"));
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE, words);
	if (!l->count)
		mt_draw(app->screen, r.row + 1, r.column + 2, r.columns - 2, MT_ROLE_DIM,
			"no stack was recorded");
	for (int i = 0; i < r.rows - 1 && l->top + (uint32_t)i < l->count; i++) {
		uint32_t index = l->top + (uint32_t)i;
		bool selected = index == l->selected;
		enum mt_role role = selected ? MT_ROLE_SELECTED : MT_ROLE_NUMBER;
		int row = r.row + 1 + i;

		if (selected)
			mt_draw_fill(app->screen, row, r.column, r.columns, role);
		mt_drawf(app->screen, row, r.column, 5, role, "%s#%u",
			selected ? mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_CURSOR) : " ",
			index);
		draw_frame(app, (struct mt_rect){row, r.column + 6, 1, r.columns - 6}, selected,
			focus, &app->detail.backtrace.frames[index]);
		mt_frame_hit(app, (struct mt_rect){row, r.column, 1, r.columns}, MT_HIT_LINE,
			MT_VIEW_DETAIL, index);
	}
}

/* Tabs as blanks up to every eighth column; other control characters are mt_draw's business. */
static void untabify(const char *line, char *out, size_t len)
{
	size_t at = 0, column = 0;

	for (; *line && *line != '\r' && at + 9 < len; line++) {
		if (*line == '\t') {
			do
				out[at++] = ' ';
			while (++column % 8);
		} else {
			out[at++] = *line;
			column += ((uint8_t)*line & 0xc0) != 0x80;
		}
	}
	out[at] = '\0';
}

static void draw_source(struct mt_app *app, struct mt_rect r)
{
	struct mt_detail_state *d = &app->detail;
	struct mt_source_file *f = &d->source;
	const struct mt_backtrace_frame *frame = d->list.count
		? &d->backtrace
			   .frames[mt_app_follow(app, &d->shown, d->list.selected, d->list.count)]
		: NULL;
	char text[512];

	load_source(f, frame ? frame->source : "", frame ? frame->module : "");
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE,
		*f->path ? f->path : "source");
	if (!frame)
		return;
	if (!f->text || frame->line == 0 || frame->line > f->count) {
		mt_guidance_source(app,
			(struct mt_rect){r.row + 1, r.column, r.rows - 1, r.columns}, frame,
			f->text && frame->line);
		return;
	}
	int before = (r.rows - 1) / 2;
	uint32_t first = frame->line > (uint32_t)before ? frame->line - (uint32_t)before : 1;

	for (int i = 0; i < r.rows - 1 && first + (uint32_t)i <= f->count; i++) {
		uint32_t number = first + (uint32_t)i;
		bool here = number == frame->line;

		/* number and text in one colour: a line costs a third less over SSH */
		untabify(f->line[number - 1], text, sizeof text);
		mt_drawf(app->screen, r.row + 1 + i, r.column, r.columns,
			here ? MT_ROLE_PROMPT : MT_ROLE_TEXT, "%s%5u  %s",
			here ? mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_LINE) : " ", number,
			text);
	}
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	int totals, facts;

	if (app->detail.maximised && r.rows >= 4) {
		/* the selected frame, which the keys still move, and its source below it */
		draw_frames(app, (struct mt_rect){r.row, r.column, 2, r.columns}, focus);
		draw_source(app, (struct mt_rect){r.row + 2, r.column, r.rows - 2, r.columns});
		return;
	}
	totals = draw_totals(app, r);
	mt_draw_swatch(app->screen, r.row, r.column,
		mt_layers_of(&app->data.layers, app->detail.group), MT_ROLE_NUMBER);
	if (r.rows >= totals + 3
		&& mt_triage_draw_words(app,
			(struct mt_rect){r.row + totals, r.column, 1, r.columns},
			app->detail.group)) {
		r.row++;
		r.rows--;
	}
	facts = mt_detail_facts(app, (struct mt_rect){r.row + totals, r.column, r.rows, r.columns});
	r.row += totals + facts;
	r.rows -= totals + facts;
	if (r.columns >= 90) {
		int left = r.columns / 2;

		draw_frames(app, (struct mt_rect){r.row, r.column, r.rows, left}, focus);
		draw_source(app,
			(struct mt_rect){r.row, r.column + left + 1, r.rows, r.columns - left - 1});
	} else if (r.rows >= 9) {
		int frames = (int)l->count + 1 < r.rows / 2 ? (int)l->count + 1 : r.rows / 2;

		draw_frames(app, (struct mt_rect){r.row, r.column, frames, r.columns}, focus);
		draw_source(app,
			(struct mt_rect){r.row + frames, r.column, r.rows - frames, r.columns});
	} else {
		draw_frames(app, r, focus);
	}
}

static void step(struct mt_app *app, int by)
{
	const struct mt_selection *s = &app->data.selection;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->groups[i] == app->detail.group) {
			if (by > 0 ? i + 1 < s->count : i > 0) {
				app->detail.group = s->groups[by > 0 ? i + 1 : i - 1];
				mt_list_select(&app->groups.list, by > 0 ? i + 1 : i - 1);
				app->groups.list.identity = app->detail.group;
				app->groups.list.held = true;
			}
			return;
		}
}

static bool action(struct mt_app *app, enum mt_action what)
{
	switch (what) {
	case MT_ACTION_NEXT_GROUP: step(app, 1); return true;
	case MT_ACTION_PREVIOUS_GROUP: step(app, -1); return true;
	case MT_ACTION_GROUP_BLOCKS: mt_blocks_of_group(app, app->detail.group); return true;
	case MT_ACTION_PARENT: mt_app_back(app); return true;
	case MT_ACTION_MAXIMISE: app->detail.maximised = !app->detail.maximised; return true;
	default: return mt_list_move(list(app), what);
	}
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	const struct mt_backtrace_frame *frame = &app->detail.backtrace.frames[index];

	snprintf(out, len, "%s %s", frame->function, frame->source);
}

void mt_detail_free(struct mt_detail_state *d)
{
	forget_source(&d->source);
	mt_backtrace_free(&d->backtrace);
}

static void pick(struct mt_app *app, struct mt_pick *out)
{
	struct mt_list *l = list(app);

	out->group = app->detail.group;
	if (l->count)
		out->frame = l->selected;
}

const struct mt_view mt_view_detail = {
	.name = "Group",
	.scopes = 1u << MT_SCOPE_DETAIL | 1u << MT_SCOPE_TRIAGE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.pick = pick,
};
