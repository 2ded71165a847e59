#include "tui/data/triage.h"
#include "core/base/text.h"
#include "core/export/number.h"
#include "core/query/fold.h"
#include "core/query/sort.h"
#include "tui/data/difference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the store ---- */

/* The name of the program as the recording knows it, or as the session does. */
static char *program_name(const struct mt_data *d)
{
	if (d->whole->argument_count)
		return mt_strdup(mt_strings_get(&d->whole->strings, d->whole->arguments[0]));
	return d->client && d->command
		? mt_format("%.*s", (int)strcspn(d->command, " "), d->command)
		: NULL;
}

static void open_store(struct mt_triage_ui *t, const struct mt_data *d)
{
	char *name = t->file ? NULL : program_name(d), *path;

	if (t->file) {
		t->store = mt_triage_new(*t->file ? t->file : NULL, false);
	} else if (name || !d->client) {
		path = mt_triage_path(name ? name : "_");
		t->store = mt_triage_new(path, true);
		free(path);
	}
	free(name);
}

static void tell(struct mt_app *app, const char *words)
{
	struct mt_triage_ui *t = app->triage;

	if (*words && strcmp(words, t->told))
		mt_app_say(app, "%s", words);
	snprintf(t->told, sizeof t->told, "%s", words);
}

static void read_store(struct mt_app *app)
{
	struct mt_triage_ui *t = app->triage;
	struct mt_err err = {0};
	char words[256];
	uint32_t first, damaged;
	int result = mt_triage_read(t->store, &err);

	damaged = mt_triage_damaged(t->store, &first);
	if (result < 0)
		tell(app, err.text);
	else if (result > 0 && damaged) {
		snprintf(words, sizeof words, "%s: line %u is invalid%s; memtui keeps it unchanged",
			mt_triage_file(t->store), first, damaged > 1 ? ", and others are" : "");
		tell(app, words);
	} else if (result > 0) {
		tell(app, "");
	}
}

/* ---- what is shown of each group ---- */

bool mt_triage_is_by_rule(const struct mt_triage_ui *t, uint32_t group)
{
	return mt_by_rule_has(&t->by_rule, group);
}

static void show_groups(struct mt_triage_ui *t, const struct mt_data *d)
{
	const struct mt_profile *p = d->whole;
	uint32_t count = mt_triage_count(t->store);
	uint64_t *sums = mt_alloc(((size_t)count + 1) * sizeof *sums);
	uint32_t *places = mt_resize(NULL, ((size_t)p->group_count + 1) * sizeof *places), seen = 0;
	uint8_t *used = mt_alloc((size_t)count + 1);

	t->shown = mt_resize(t->shown, (size_t)p->group_count + 1);
	t->shown_count = p->group_count;
	for (uint32_t g = 0; g < p->group_count; g++) {
		places[g] = count ? mt_triage_place(t->store, mt_fingerprints_get(&t->prints, p, g))
				  : UINT32_MAX;
		if (places[g] == UINT32_MAX)
			continue;
		sums[places[g]] += p->groups[g].live_bytes;
		seen += !used[places[g]];
		used[places[g]] = 1;
	}
	for (uint32_t g = 0; g < p->group_count; g++) {
		const struct mt_judgement *j =
			places[g] == UINT32_MAX ? NULL : mt_triage_at(t->store, places[g]);

		t->shown[g] = !j ? mt_triage_is_by_rule(t, g) ? MT_TRIAGE_SUPPRESSED : MT_TRIAGE_NEW
			: p->groups[g].live_count
				&& mt_judgement_came_back(j, p->info.start_unix_ns, sums[places[g]],
					d->live)
			? MT_TRIAGE_CAME_BACK
			: (uint8_t)j->state;
	}
	t->elsewhere = count - seen;
	free(sums);
	free(places);
	free(used);
}

bool mt_triage_queued(enum mt_triage_state shown)
{
	return shown == MT_TRIAGE_NEW || (int)shown == MT_TRIAGE_CAME_BACK;
}

uint64_t mt_triage_suppressed_bytes(const struct mt_app *app, const struct mt_profile *p)
{
	const struct mt_triage_ui *t = app->triage;
	uint64_t sum = 0;

	for (uint32_t g = 0; g < p->group_count && g < t->shown_count; g++)
		if (t->shown[g] == MT_TRIAGE_SUPPRESSED)
			sum += p->groups[g].live_bytes;
	return sum;
}

static void add_leaks(struct mt_triage_ui *t, const struct mt_data *d, bool queued)
{
	uint32_t selected = d->selection.count, count = 0;
	struct mt_sort_entry *order =
		mt_resize(NULL, ((size_t)selected + t->hidden_count + 1) * sizeof *order);

	for (uint32_t i = 0; i < selected + t->hidden_count; i++) {
		uint32_t id = i < selected ? d->selection.groups[i] : t->hidden[i - selected];

		if (!d->profile.groups[id].live_count || mt_triage_queued(t->shown[id]) != queued)
			continue;
		/* While the program runs, what lives is no leak yet: only what looks like one, or
		 * came back, is to be judged. */
		if (!d->live || t->shown[id] != MT_TRIAGE_NEW
			|| mt_data_is_suspect(d, &d->profile.groups[id]))
			order[count++] =
				(struct mt_sort_entry){~d->profile.groups[id].live_bytes, id};
	}
	mt_sort(order, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct mt_group *g = &d->profile.groups[order[i].id];

		MT_GROW(t->leaks, t->leak_count, t->leak_capacity);
		t->leaks[t->leak_count++] = order[i].id;
		t->groups[t->shown[order[i].id]]++;
		t->bytes[t->shown[order[i].id]] += g->live_bytes;
	}
	free(order);
}

void mt_triage_queue(struct mt_app *app)
{
	struct mt_triage_ui *t = app->triage;

	if (t->queue_made)
		return;
	t->queue_made = true;
	memset(t->groups, 0, sizeof t->groups);
	memset(t->bytes, 0, sizeof t->bytes);
	t->leak_count = 0;
	if (!t->store)
		return;
	add_leaks(t, &app->data, true);
	add_leaks(t, &app->data, false);
}

/* Takes suppressed groups out of what every view shows. */
static void hide(struct mt_triage_ui *t, struct mt_data *d)
{
	struct mt_selection *s = &d->selection;
	uint32_t kept = 0;

	t->hidden_count = 0;
	for (uint32_t i = 0; i < s->count && !t->show_hidden; i++)
		if (t->shown[s->groups[i]] == MT_TRIAGE_SUPPRESSED) {
			MT_GROW(t->hidden, t->hidden_count, t->hidden_capacity);
			t->hidden[t->hidden_count++] = s->groups[i];
		}
	d->hidden = t->hidden_count;
	if (!d->hidden)
		return;
	s->sum = (struct mt_group){0};
	for (uint32_t i = 0; i < s->count; i++) {
		if (t->shown[s->groups[i]] == MT_TRIAGE_SUPPRESSED)
			continue;
		mt_fold(&s->folds, &s->sum, &d->profile, &d->profile.groups[s->groups[i]]);
		s->groups[kept++] = s->groups[i];
	}
	s->count = kept;
}

/* The groups of another program: what is kept of the one before goes, and not silently. */
static void say_executed(struct mt_app *app)
{
	uint32_t snapshots = mt_difference_snapshots(app);
	char words[MT_NUMBER_OF_LEN];

	if (snapshots)
		mt_app_say(app,
			"the program called exec: %s from before dropped; S takes a new one",
			mt_number_of(words, snapshots, "snapshot"));
}

/* After each selection: names, groups or the file may be others now. */
static void on_selected(void *context, struct mt_data *d)
{
	struct mt_app *app = context;
	struct mt_triage_ui *t = app->triage;

	if (d != &app->data) /* of another process, which is not seen now */
		return;
	if (t->image != d->image) {
		mt_triage_turn(app);
		say_executed(app);
		mt_difference_leave(app);
	}
	t->queue_made = false;
	if (!t->store)
		open_store(t, d);
	if (!t->store)
		return;
	read_store(app);
	mt_fingerprints_update(&t->prints, d->whole, d->symbols);
	mt_by_rule_update(&t->by_rule, d);
	show_groups(t, d);
	hide(t, d);
}

void mt_triage_begin(struct mt_app *app, const char *path)
{
	const char *own = path ? path : getenv("MEMTUI_TRIAGE");

	app->triage = mt_alloc(sizeof *app->triage);
	app->triage->file = own ? mt_strdup(own) : NULL;
	mt_triage_turn(app);
}

/* What cannot be saved is told once the terminal is as before. It is the last try: another one's
 * lock is waited for, five seconds of looks, as who has it may be kept from running. */
static void close_store(struct mt_triage_ui *t)
{
	struct mt_err err = {0};
	int result = 0;

	for (int i = 0; t->store && i < 100 && (!i || result == -EBUSY); i++)
		result = mt_triage_save(t->store, &err);
	if (result < 0) {
		t->lost += mt_triage_unsaved(t->store);
		snprintf(t->told, sizeof t->told, "%.200s", err.text);
	}
	mt_triage_free(t->store);
	t->store = NULL;
	mt_fingerprints_free(&t->prints);
	free(t->note_groups);
	free(t->leaks);
	free(t->hidden);
	free(t->marked);
	free(t->by_rule.groups);
	free(t->shown);
}

void mt_triage_turn(struct mt_app *app)
{
	struct mt_triage_ui *t = app->triage;
	struct mt_triage_ui next = {
		.file = t->file,
		.show_hidden = t->show_hidden,
		.image = app->data.image,
	};

	close_store(t);
	next.lost = t->lost;
	memcpy(next.told, t->told, sizeof next.told);
	*t = next;
	app->data.on_selected = on_selected;
	app->data.on_selected_context = app;
}

void mt_triage_end(struct mt_app *app)
{
	struct mt_triage_ui *t = app->triage;
	char leaks[MT_NUMBER_OF_LEN];

	if (!t)
		return;
	close_store(t);
	if (t->lost) {
		fprintf(stderr, "memtui: judgements of %s were not saved: ",
			mt_number_of(leaks, t->lost, "leak"));
		mt_text_put(stderr, MT_TEXT_LINE, t->told);
		putc('\n', stderr);
	}
	free(t->file);
	free(t);
	app->triage = NULL;
}

/* ---- what views ask ---- */

static int shown(const struct mt_triage_ui *t, uint32_t group)
{
	return group < t->shown_count ? t->shown[group] : MT_TRIAGE_NEW;
}

const struct mt_judgement *mt_triage_of(struct mt_app *app, uint32_t group)
{
	struct mt_triage_ui *t = app->triage;

	return t->store
		? mt_triage_find(t->store, mt_fingerprints_get(&t->prints, app->data.whole, group))
		: NULL;
}

char mt_triage_letter(struct mt_app *app, uint32_t group)
{
	struct mt_triage_ui *t = app->triage;
	int state = shown(t, group);

	if (!t->store || !mt_triage_count(t->store))
		return ' ';
	if (state == MT_TRIAGE_NEW && !app->data.profile.groups[group].live_count)
		return ' ';
	return state == MT_TRIAGE_CAME_BACK ? '!'
					    : mt_triage_state_letter((enum mt_triage_state)state);
}

const char *mt_triage_words(struct mt_app *app, uint32_t group)
{
	int state = shown(app->triage, group);

	return state == MT_TRIAGE_CAME_BACK ? "fixed, came back"
					    : mt_triage_state_name((enum mt_triage_state)state);
}

bool mt_triage_is_marked(struct mt_app *app, uint32_t group)
{
	return group < app->triage->marked_capacity && app->triage->marked[group];
}

void mt_triage_draw_mark(struct mt_app *app, int row, int column, enum mt_role role, uint32_t group)
{
	char letter[2] = {mt_triage_letter(app, group), '\0'};
	/* a selected line has one look */
	bool own = role == MT_ROLE_SELECTED || role == MT_ROLE_SELECTED_AWAY;

	if (mt_triage_is_marked(app, group))
		mt_draw(app->screen, row, column + 1, 1, own ? role : MT_ROLE_PROMPT,
			mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_MARK));
	if (*letter != ' ')
		mt_draw(app->screen, row, column + 2, 1,
			own                      ? role
				: *letter == '!' ? MT_ROLE_ERROR
				: *letter == 'N' ? MT_ROLE_DIM
						 : MT_ROLE_PROMPT,
			letter);
}

int mt_triage_draw_words(struct mt_app *app, struct mt_rect r, uint32_t group)
{
	const struct mt_judgement *j = mt_triage_of(app, group);
	time_t when = (time_t)(j ? j->time : 0);
	char day[32] = "", bytes[16];
	struct tm parts;

	if (!j)
		return 0;
	if (when && gmtime_r(&when, &parts))
		strftime(day, sizeof day, "%Y-%m-%d", &parts);
	mt_number_size(bytes, j->leaked_bytes);
	int used = mt_drawf(app->screen, r.row, r.column, r.columns, MT_ROLE_TEXT, " %c %s",
		mt_triage_letter(app, group), mt_triage_words(app, group));

	if (*day && r.columns >= 60)
		used += mt_drawf(app->screen, r.row, r.column + used, r.columns - used, MT_ROLE_DIM,
			", judged %s at %s", day, bytes);

	if (*j->note)
		mt_drawf(app->screen, r.row, r.column + used, r.columns - used, MT_ROLE_PROMPT,
			"   %s", j->note);
	return 1;
}
