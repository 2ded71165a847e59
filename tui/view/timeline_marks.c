#include "tui/view/timeline_marks.h"
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/view/timeline_range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Later ones are drawn over earlier ones. */
enum mark { MARK_NONE, MARK_PAUSE, MARK_LOSS, MARK_MARKER, MARK_PEAK, MARK_SNAPSHOT };

typedef void visit(void *context, enum mark, uint64_t from_ns, uint64_t to_ns, const char *name);

static void visit_log(const struct mt_profile *p, visit *on, void *context)
{
	uint64_t paused = UINT64_MAX;
	char name[96], lost[MT_NUMBER_OF_LEN];

	for (uint32_t i = 0; i < p->log_count; i++) {
		const struct mt_log_entry *e = &p->log[i];

		if (e->type == MT_LOG_MARKER) {
			on(context, MARK_MARKER, e->time_ns, e->time_ns,
				mt_strings_get(&p->strings, e->text));
		} else if (e->type == MT_LOG_GAP) {
			snprintf(name, sizeof name, "%s lost",
				mt_number_of(lost, e->values[1] + e->values[2], "event"));
			on(context, MARK_LOSS, e->values[0], e->time_ns, name);
		} else if (e->type == MT_LOG_PAUSE && paused == UINT64_MAX) {
			paused = e->time_ns;
		} else if (e->type == MT_LOG_RESUME && paused != UINT64_MAX) {
			on(context, MARK_PAUSE, paused, e->time_ns, "recording paused");
			paused = UINT64_MAX;
		}
	}
	if (paused != UINT64_MAX)
		on(context, MARK_PAUSE, paused, p->info.wall_ns, "recording paused");
}

static void visit_all(const struct mt_app *app, visit *on, void *context)
{
	const struct mt_profile *p = app->data.whole;
	char name[32], peak[MT_NUMBER_LEN + 1];

	visit_log(p, on, context);
	mt_data_sum(peak, p, p->info.peak_bytes, MT_UNIT_BYTES);
	snprintf(name, sizeof name, "peak %s", peak);
	if (p->info.peak_bytes)
		on(context, MARK_PEAK, p->info.peak_ns, p->info.peak_ns, name);
	for (uint32_t i = 0; i < app->mark_count; i++)
		on(context, MARK_SNAPSHOT, app->marks[i].ns, app->marks[i].ns, app->marks[i].name);
}

/* ---- by columns ---- */

struct columns {
	const struct mt_timeline *timeline;
	uint8_t *marks;     /* enum mark of each */
	const char **names; /* of snapshots */
};

/* The columns of a time; false: it is not on the screen. */
static bool columns_of(const struct mt_timeline *t, uint64_t from, uint64_t to, uint32_t *first,
	uint32_t *last)
{
	if (!t->count || to < t->from_ns || from > t->to_ns)
		return false;
	*first = from < t->from_ns ? 0 : mt_timeline_column(t, from);
	*last = to > t->to_ns ? t->count - 1 : mt_timeline_column(t, to);
	if (*last >= t->count)
		*last = t->count - 1;
	return *first <= *last;
}

static void put_in_columns(void *context, enum mark mark, uint64_t from, uint64_t to,
	const char *name)
{
	struct columns *c = context;
	uint32_t first, last;

	if (!columns_of(c->timeline, from, to, &first, &last))
		return;
	for (uint32_t i = first; i <= last; i++) {
		if (c->marks[i] < (uint8_t)mark)
			c->marks[i] = (uint8_t)mark;
		if (mark == MARK_SNAPSHOT)
			c->names[i] = name;
	}
}

static struct columns columns_begin(const struct mt_app *app, const struct mt_timeline *t)
{
	struct columns c = {t, mt_alloc(t->count + 1), mt_alloc((t->count + 1) * sizeof *c.names)};

	visit_all(app, put_in_columns, &c);
	return c;
}

static void columns_end(struct columns *c)
{
	free(c->marks);
	free(c->names);
}

void mt_timeline_draw_marks(struct mt_app *app, struct mt_rect r, const struct mt_timeline *t)
{
	static const enum mt_glyph glyphs[] = {
		[MARK_PAUSE] = MT_GLYPH_PAUSED,
		[MARK_LOSS] = MT_GLYPH_LOST,
		[MARK_MARKER] = MT_GLYPH_EVENT,
		[MARK_PEAK] = MT_GLYPH_PEAK,
	};
	struct columns c = columns_begin(app, t);
	bool utf8 = mt_screen_utf8(app->screen);

	for (uint32_t i = 0; i < t->count && (int)i < r.columns; i++) {
		if (c.marks[i] == MARK_NONE || i == app->timeline.cursor
			|| c.marks[i] == MARK_SNAPSHOT)
			continue;
		mt_draw(app->screen, r.row, r.column + (int)i, 1,
			c.marks[i] == MARK_LOSS ? MT_ROLE_ERROR : MT_ROLE_PROMPT,
			mt_glyph(utf8, glyphs[c.marks[i]]));
	}
	/* Last: a name takes more columns than its own, up to the edge. */
	for (uint32_t i = 0; i < t->count && (int)i < r.columns; i++) {
		int width = c.marks[i] == MARK_SNAPSHOT ? mt_text_width(c.names[i]) : 0;
		int column = (int)i + width > r.columns ? r.columns - width : (int)i;

		if (width && column >= 0)
			mt_draw(app->screen, r.row, r.column + column, width, MT_ROLE_PROMPT,
				c.names[i]);
	}
	columns_end(&c);
}

/* ---- names ---- */

struct at {
	const struct mt_timeline *timeline;
	uint32_t column;
	char *out;
	size_t len, used;
};

static void put_name(void *context, enum mark mark, uint64_t from, uint64_t to, const char *name)
{
	struct at *a = context;
	uint32_t first, last;

	if (a->used + 1 >= a->len || !columns_of(a->timeline, from, to, &first, &last)
		|| a->column < first || a->column > last)
		return;
	int n = snprintf(a->out + a->used, a->len - a->used, "%s%s%s", a->used ? ", " : "",
		mark == MARK_MARKER             ? "marker: "
			: mark == MARK_SNAPSHOT ? "snapshot "
						: "",
		name);

	a->used += (size_t)n < a->len - a->used ? (size_t)n : a->len - a->used - 1;
}

bool mt_timeline_marks_at(const struct mt_app *app, const struct mt_timeline *t, uint32_t column,
	char *out, size_t len)
{
	struct at a = {t, column, out, len, 0};

	*out = '\0';
	visit_all(app, put_name, &a);
	return a.used > 0;
}

void mt_timeline_next_mark(struct mt_app *app, int direction)
{
	struct mt_timeline t = {0};
	uint64_t from, to;
	char names[192];

	mt_timeline_span(app, &from, &to);
	mt_timeline_lay(&t, app->data.whole, from, to, app->timeline.columns);
	struct columns c = columns_begin(app, &t);
	uint32_t at = app->timeline.cursor;

	for (uint32_t n = 0; n < t.count; n++) {
		at = direction > 0 ? (at + 1) % t.count : (at + t.count - 1) % t.count;
		/* Of what takes several columns, the first one. */
		if (c.marks[at] != MARK_NONE
			&& (c.marks[at] > MARK_LOSS || !at || c.marks[at - 1] != c.marks[at]))
			break;
	}
	if (t.count && c.marks[at] != MARK_NONE
		&& mt_timeline_marks_at(app, &t, at, names, sizeof names)) {
		app->timeline.cursor = at;
		mt_timeline_moved(app);
		mt_app_say(app, "%s", names);
	} else {
		mt_app_say(app, "there are no marks in the visible part of the timeline");
	}
	columns_end(&c);
}
