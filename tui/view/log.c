/* The log: what happened in the recording, and what memtui said in this visit, oldest first. */
#include "core/base/buffer.h"
#include "core/export/journal.h"
#include "core/export/number.h"
#include "tui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES 512 /* that are kept of what memtui said */
#define TIME 8
#define TAG 8
#define OF_NOTES (1ull << 63)

struct note {
	uint64_t time_ns;
	bool behind; /* said when nothing was recorded any more */
	char *text;
};

struct mt_log_state {
	struct mt_list list;
	struct mt_journal journal;
	struct note notes[NOTES];
	uint64_t said; /* notes so far: the newest is said - 1, at said % NOTES before it */
	/* OF_NOTES | number of the note, or an index of the journal's lines */
	uint64_t *rows;
	uint32_t shown; /* mt_app_follow */
	uint32_t row_count;
	uint64_t generation, rows_said; /* that rows were made of */
	bool made, follow;
};

static struct mt_log_state *state_of(struct mt_app *app)
{
	if (!app->log) {
		app->log = mt_alloc(sizeof *app->log);
		app->log->follow = app->data.live;
	}
	return app->log;
}

void mt_log_free(struct mt_log_state *s)
{
	if (!s)
		return;
	for (int i = 0; i < NOTES; i++)
		free(s->notes[i].text);
	mt_journal_free(&s->journal);
	free(s->rows);
	free(s);
}

void mt_log_note(struct mt_app *app, const char *text)
{
	struct mt_log_state *s = state_of(app);
	struct note *last = s->said ? &s->notes[(s->said - 1) % NOTES] : NULL, *note;

	if (!*text
		|| (last && !strcmp(last->text, text)
			&& last->time_ns == app->data.whole->info.wall_ns))
		return;
	note = &s->notes[s->said++ % NOTES];
	free(note->text);
	*note = (struct note){app->data.whole->info.wall_ns, !app->data.live, mt_strdup(text)};
}

static const char *damage(const struct mt_app *app)
{
	const struct mt_data *d = &app->data;
	const char *reason = NULL;

	if (!d->reader && d->recording) {
		struct mt_facts facts = mt_recording_facts(d->recording);

		return facts.damaged ? facts.fault : NULL;
	}
	return d->reader && mt_trace_reader_damage(d->reader, &reason)
		? reason ? reason : ""
		: NULL;
}

static const struct note *note_at(const struct mt_log_state *s, uint64_t row)
{
	return &s->notes[(row & ~OF_NOTES) % NOTES];
}

/* A name of the row that it keeps when others come before it. */
static uint64_t identity(const struct mt_log_state *s, uint32_t index)
{
	const struct mt_journal_line *line;

	if (s->rows[index] & OF_NOTES)
		return s->rows[index];
	line = &s->journal.lines[s->rows[index]];
	return (uint64_t)line->kind << 32 | line->index;
}

/* Notes stand among what has a time, and behind the end where they came behind it. */
static void merge(struct mt_log_state *s)
{
	uint64_t note = s->said > NOTES ? s->said - NOTES : 0;

	s->rows = mt_resize(s->rows, ((size_t)s->journal.count + NOTES + 1) * sizeof *s->rows);
	s->row_count = 0;
	for (uint32_t i = 0; i <= s->journal.count; i++) {
		const struct mt_journal_line *line =
			i < s->journal.count ? &s->journal.lines[i] : NULL;

		for (; note < s->said; note++) {
			const struct note *n = note_at(s, note);

			if (line
				&& (n->behind
					|| (line->time != MT_JOURNAL_SO_FAR
						&& line->kind != MT_JOURNAL_END
						&& line->time_ns <= n->time_ns)))
				break;
			s->rows[s->row_count++] = OF_NOTES | note;
		}
		if (line)
			s->rows[s->row_count++] = i;
	}
}

static struct mt_list *list(struct mt_app *app)
{
	struct mt_log_state *s = state_of(app);
	uint32_t at = UINT32_MAX;

	if (s->made && s->generation == app->data.generation && s->rows_said == s->said)
		return &s->list;
	mt_journal_make(&s->journal, app->data.whole, damage(app));
	merge(s);
	for (uint32_t i = s->row_count; s->made && i-- > 0 && at == UINT32_MAX;)
		if (identity(s, i) == s->list.identity)
			at = i;
	s->made = true;
	s->generation = app->data.generation;
	s->rows_said = s->said;
	mt_list_keep(&s->list, s->row_count, at);
	if (s->follow)
		mt_list_select(&s->list, UINT32_MAX);
	s->list.held = s->list.held || s->follow;
	s->list.identity = identity(s, s->list.selected);
	return &s->list;
}

/* ---- drawing ---- */

static void words_of(struct mt_app *app, uint64_t row, char *out, size_t len)
{
	const struct mt_log_state *s = app->log;

	if (row & OF_NOTES)
		snprintf(out, len, "%s", note_at(s, row)->text);
	else
		mt_journal_text(out, len, &s->journal.lines[row], app->data.whole,
			app->data.symbols, damage(app));
}

/* When it was: '~' where it was no later than that; nothing where it has no time. */
static void time_of(const struct mt_log_state *s, uint64_t row, char out[TIME + 16],
	const char **tag, bool *bad)
{
	const struct mt_journal_line *line = row & OF_NOTES ? NULL : &s->journal.lines[row];
	char number[MT_NUMBER_LEN];

	*tag = line ? mt_journal_tag((enum mt_journal_kind)line->kind) : "memtui";
	*bad = line
		&& (line->kind == MT_JOURNAL_GAP || line->kind == MT_JOURNAL_LIMIT
			|| line->kind == MT_JOURNAL_WARNING || line->kind == MT_JOURNAL_BLIND
			|| (line->kind == MT_JOURNAL_LOSS && line->index != MT_JOURNAL_NOTHING));
	out[0] = '\0';
	if (line ? line->time == MT_JOURNAL_UNSEEN || line->time == MT_JOURNAL_SO_FAR
		 : note_at(s, row)->behind)
		return;
	mt_number_time(number, line ? line->time_ns : note_at(s, row)->time_ns);
	snprintf(out, TIME + 16, "%s%s", line && line->time == MT_JOURNAL_BY_THEN ? "~" : "",
		number);
}

static void draw_line(struct mt_app *app, const struct mt_line *line, void *none)
{
	(void)none;
	const struct mt_log_state *s = app->log;
	const struct mt_rect r = line->r;
	enum mt_role role = line->role;
	bool selected = line->selected, bad;
	char when[TIME + 16], text[1024];
	const char *tag;

	time_of(s, s->rows[line->index], when, &tag, &bad);
	words_of(app, s->rows[line->index], text, sizeof text);
	mt_draw_right(app->screen, r.row, r.column + 1, TIME, role, when);
	mt_draw(app->screen, r.row, r.column + TIME + 2, TAG,
		selected      ? role
			: bad ? MT_ROLE_ERROR
			      : MT_ROLE_DIM,
		tag);
	if (!selected)
		role = mt_prompt_matches(app, text) ? MT_ROLE_MATCH : MT_ROLE_TEXT;
	mt_draw(app->screen, r.row, r.column + TIME + TAG + 2, r.columns - TIME - TAG - 2, role,
		text);
}

/* The selected line in full, broken between words. */
static void draw_whole(struct mt_app *app, struct mt_rect r)
{
	const struct mt_log_state *s = app->log;
	char text[1024];

	if (r.rows > 2) {
		mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE,
			s->follow ? "the newest line" : "this line");
		r.row++;
		r.rows--;
	}
	words_of(app,
		s->rows[mt_app_follow(app, &app->log->shown, s->list.selected, s->list.count)],
		text, sizeof text);
	mt_draw_wrapped(app->screen, (struct mt_rect){r.row, r.column + 1, r.rows, r.columns - 1},
		MT_ROLE_TEXT, text);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	struct mt_screen *s = app->screen;
	int below = r.rows >= 8 ? 3 : r.rows >= 5 ? 2 : 0;

	mt_draw_fill(s, r.row, r.column, r.columns, MT_ROLE_HEADING);
	mt_draw_right(s, r.row, r.column + 1, TIME, MT_ROLE_HEADING, "TIME");
	mt_draw(s, r.row, r.column + TIME + 2, TAG, MT_ROLE_HEADING, "WHAT");
	if (r.columns >= 80)
		mt_draw(s, r.row, r.column + TIME + TAG + 2, r.columns - TIME - TAG - 2,
			MT_ROLE_HEADING, "EVENT (~ first seen at or before)");
	mt_frame_list(app, MT_VIEW_LOG,
		(struct mt_rect){r.row + 1, r.column, r.rows - 1 - below, r.columns}, l, focus,
		draw_line, NULL);
	if (below)
		draw_whole(app,
			(struct mt_rect){r.row + r.rows - below, r.column, below, r.columns});
}

/* ---- actions ---- */

static void follow(struct mt_app *app)
{
	struct mt_log_state *s = app->log;

	s->follow = !s->follow;
	if (s->follow)
		mt_list_select(&s->list, UINT32_MAX);
	s->list.held = true;
	s->list.identity = identity(s, s->list.selected);
	/* Not noted: it would be the newest line. */
	snprintf(app->message, sizeof app->message, "%s",
		s->follow ? "the log follows the newest line; F or moving up stops this"
			  : "the log stays here; F follows the newest line");
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);
	struct mt_log_state *s = app->log;

	if (what == MT_ACTION_FOLLOW) {
		follow(app);
		return true;
	}
	if (!mt_list_move(l, what))
		return what == MT_ACTION_OPEN;
	l->held = true; /* the first line, too */
	s->follow = what == MT_ACTION_BOTTOM && app->data.live;
	l->identity = identity(s, l->selected);
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
	app->log->follow = false;
	l->identity = identity(app->log, l->selected);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	char when[TIME + 16];
	const char *tag;
	bool bad;
	int used;

	time_of(app->log, app->log->rows[index], when, &tag, &bad);
	used = snprintf(out, len, "%s ", tag);
	words_of(app, app->log->rows[index], out + used, len - (size_t)used);
}

static void leave(struct mt_app *app)
{
	if (app->log)
		app->log->made = app->log->list.held = false;
}

const struct mt_view mt_view_log = {
	.name = "Log",
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.leave = leave,
};
