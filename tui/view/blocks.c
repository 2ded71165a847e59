/* Single allocations, one a line: the first of an order, of all groups or of one. A thread takes
 * them out of the events. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/model/model.h"
#include "tui/app.h"
#include "tui/data/triage.h"
#include "tui/user/keymap.h"
#include "tui/view/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWATCH 2 /* the colour of a group, and a gap */

#define ORDER_NONE MT_ORDERS

/* From left to right. X(id, heading, width, order, rank: the first ones are kept where there is
 * little room) */
#define COLUMNS(X) \
	X(TIME, "TIME", 10, MT_ORDER_TIMESTAMP, 2) \
	X(LIFETIME, "LIFETIME", 10, MT_ORDER_LIFETIME, 1) \
	X(SIZE, "SIZE", 9, MT_ORDER_LIVE, 0) \
	X(SLACK, "SLACK", 8, ORDER_NONE, 5) \
	X(THREAD, "THREAD", 11, ORDER_NONE, 4) \
	X(ADDRESS, "ADDRESS", 15, MT_ORDER_ADDRESS, 3)
enum column {
#define X(id, heading, width, order, rank) COLUMN_##id,
	COLUMNS(X) COLUMN_COUNT,
#undef X
};
static const struct {
	const char *heading;
	int width;
	enum mt_allocation_order order;
	int rank;
} columns[] = {
#define X(id, heading, width, order, rank) {heading, width, order, rank},
	COLUMNS(X)
#undef X
};

/* What is asked, or was. */
struct asked {
	char *filter; /* NULL: nothing */
	uint32_t group;
	enum mt_allocation_order order;
	bool ascending;
};

struct mt_blocks_state {
	struct mt_list list; /* identity: number of the allocation + 1 */
	struct asked wanted, shown;
	uint64_t generation, names, events; /* of data and symbols that it was asked of */
	uint64_t asked_of;                  /* events of the last request */
	uint64_t moment_ns;                 /* of a program that runs: when it was so */
	struct mt_allocation_list blocks;   /* as shown says */
	bool given_up, renews;
	int percent; /* done, once it takes long; -1: not yet */
	char error[512];
};

static struct mt_blocks_state *state_of(struct mt_app *app)
{
	if (!app->blocks) {
		app->blocks = mt_alloc(sizeof *app->blocks);
		app->blocks->wanted = app->blocks->shown =
			(struct asked){.group = MT_NO_GROUP, .order = MT_ORDER_LIVE};
		app->blocks->percent = -1;
	}
	return app->blocks;
}

void mt_blocks_state_free(struct mt_blocks_state *t)
{
	if (!t)
		return;
	mt_allocations_free(&t->blocks);
	free(t->wanted.filter);
	free(t->shown.filter);
	free(t);
}

/* ---- asking ---- */

bool mt_blocks_asked(const struct mt_app *app)
{
	return app->data.listing && mt_worker_asked(app->data.listing);
}

bool mt_blocks_progress(struct mt_app *app, int percent)
{
	struct mt_blocks_state *t = state_of(app);
	bool news = t->percent != percent;

	t->percent = t->renews ? -1 : percent;
	return news && app->view == MT_VIEW_BLOCKS;
}

static void remember(struct mt_blocks_state *t)
{
	t->list.identity = t->list.selected < t->blocks.count
		? t->blocks.items[t->list.selected].number + 1
		: 0;
}

/* Blocks in another order stay on the screen until the new order is there; others go at once. */
static void ask(struct mt_app *app)
{
	struct mt_blocks_state *t = app->blocks;
	struct asked *w = &t->wanted;

	t->given_up = t->renews = false;
	t->percent = -1;
	t->error[0] = '\0';
	if (!t->shown.filter || t->asked_of != app->data.events || t->shown.group != w->group
		|| strcmp(t->shown.filter, w->filter)) {
		mt_allocations_free(&t->blocks);
		free(t->shown.filter);
		t->shown.filter = NULL;
		t->list = (struct mt_list){.rows = t->list.rows};
	}
	t->asked_of = app->data.events;
	mt_listing_start(app->data.listing, &app->data.recording->now, w->filter, w->group,
		w->order, w->ascending);
}

/* Groups and threads that the screen does not know yet. */
static void drop_unknown(struct mt_allocation_list *blocks, const struct mt_profile *known)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < blocks->count; i++)
		if (blocks->items[i].group < known->group_count
			&& blocks->items[i].thread < known->thread_count)
			blocks->items[kept++] = blocks->items[i];
	blocks->count = kept;
}

void mt_blocks_collect(struct mt_app *app)
{
	struct mt_blocks_state *t = state_of(app);
	struct mt_allocation_list blocks = {0};
	struct mt_err err = {0};
	int result = mt_worker_collect(app->data.listing, &blocks, &err);
	uint32_t at = UINT32_MAX;

	if (!result)
		return;
	struct mt_recording *moment = mt_worker_moment(app->data.listing);

	if (moment && result > 0)
		drop_unknown(&blocks, app->data.whole);
	t->moment_ns = moment ? moment->now.profile->info.wall_ns : 0;
	mt_recording_free(moment);
	app->dirty = app->dirty || app->view == MT_VIEW_BLOCKS;
	t->percent = -1;
	if (result < 0 && app->data.live && t->shown.filter) /* what is shown stays */
		return;
	if (result < 0) {
		mt_allocations_free(&blocks);
		snprintf(t->error, sizeof t->error, "%s", err.text);
		return;
	}
	mt_allocations_free(&t->blocks);
	t->blocks = blocks;
	free(t->shown.filter);
	t->shown = t->wanted;
	t->shown.filter = mt_strdup(t->wanted.filter);
	for (uint32_t i = 0; i < blocks.count && at == UINT32_MAX; i++)
		if (blocks.items[i].number + 1 == t->list.identity)
			at = i;
	if (at == UINT32_MAX)
		t->list.held = false;
	mt_list_keep(&t->list, (uint32_t)blocks.count, at);
	remember(t);
}

static struct mt_list *list(struct mt_app *app)
{
	struct mt_blocks_state *t = state_of(app);
	struct mt_data *d = &app->data;

	if (!d->listing || (t->wanted.filter && t->generation == d->generation))
		return &t->list;
	bool old = mt_data_may_renew(d, d->listing);
	char *filter = mt_filter_text(d->filter);
	bool same = !old && t->events == d->events && t->wanted.filter
		&& !strcmp(filter, t->wanted.filter)
		&& (t->names == d->symbols->generation || !mt_data_asks_names(d));

	t->generation = d->generation;
	t->events = d->events;
	t->names = d->symbols->generation;
	free(t->wanted.filter);
	t->wanted.filter = filter;
	if (!same) {
		ask(app);
		t->renews = old && t->shown.filter;
	}
	return &t->list;
}

void mt_blocks_of_group(struct mt_app *app, uint32_t group)
{
	struct mt_blocks_state *t = state_of(app);

	if (app->view != MT_VIEW_BLOCKS)
		mt_app_go(app, MT_VIEW_BLOCKS);
	if (t->wanted.group == group)
		return;
	t->wanted.group = group;
	list(app);
	if (app->data.listing)
		ask(app);
}

/* ---- drawing ---- */

struct layout {
	bool seen[COLUMN_COUNT];
	int where; /* column */
};

static struct layout lay_out(const struct mt_blocks_state *t, int width)
{
	struct layout l = {.where = 2};
	int room = width - 2 - (width >= 60 ? 26 : 16);

	for (int rank = -1; rank < COLUMN_COUNT; rank++)
		for (int i = 0; i < COLUMN_COUNT; i++) {
			bool sorted = columns[i].order == t->shown.order;

			if ((rank < 0 ? sorted : columns[i].rank == rank && !sorted)
				&& room >= columns[i].width) {
				l.seen[i] = true;
				room -= columns[i].width;
			} else if (rank >= 0 && columns[i].rank == rank && !sorted) {
				room = 0; /* what matters less does not take its place */
			}
		}
	for (int i = 0; i < COLUMN_COUNT; i++)
		l.where += l.seen[i] ? columns[i].width : 0;
	l.where += SWATCH;
	return l;
}

static void draw_heading(struct mt_app *app, struct mt_rect r, const struct layout *l)
{
	const struct mt_blocks_state *t = app->blocks;
	struct mt_screen *s = app->screen;
	int at = r.column + 2;

	mt_draw_fill(s, r.row, r.column, r.columns, MT_ROLE_HEADING);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		bool sorted = columns[i].order == t->shown.order;

		if (!l->seen[i])
			continue;
		mt_draw_right(s, r.row, at, columns[i].width - 1,
			sorted ? MT_ROLE_SORTED : MT_ROLE_HEADING, columns[i].heading);
		if (sorted)
			mt_draw(s, r.row, at + columns[i].width - 1, 1, MT_ROLE_SORTED,
				mt_glyph(mt_screen_utf8(s),
					t->shown.ascending ? MT_GLYPH_ASCENDING
							   : MT_GLYPH_DESCENDING));
		if (columns[i].order != ORDER_NONE)
			mt_frame_hit(app, (struct mt_rect){r.row, at, 1, columns[i].width},
				MT_HIT_COLUMN, MT_VIEW_BLOCKS, (uint32_t)i);
		at += columns[i].width;
	}
	mt_draw(s, r.row, r.column + l->where, r.columns - l->where, MT_ROLE_HEADING, "WHERE");
}

static void value_text(const struct mt_app *app, const struct mt_allocation *a, enum column column,
	char out[64])
{
	const struct mt_profile *p = app->data.whole;

	switch (column) {
	case COLUMN_TIME: mt_number_time(out, a->time_ns); break;
	case COLUMN_LIFETIME:
		if (a->end_ns == MT_LIVE)
			strcpy(out, "live");
		else
			mt_number_time(out, mt_allocation_lifetime(a, p));
		break;
	case COLUMN_SIZE: mt_number_size(out, a->size); break;
	case COLUMN_SLACK:
		mt_number_size(out, mt_model_slack(p, a->group, a->size, a->usable));
		break;
	case COLUMN_THREAD: mt_data_thread(out, p, a->thread); break;
	default: snprintf(out, 64, "0x%llx", (unsigned long long)a->address); break;
	}
}

static void draw_line(struct mt_app *app, const struct mt_line *line, void *layout)
{
	const struct layout *l = layout;
	const struct mt_allocation *a = &app->blocks->blocks.items[line->index];
	const struct mt_rect r = line->r;
	enum mt_role role = line->role;
	struct mt_backtrace backtrace = {0};
	struct mt_screen *s = app->screen;
	int at = r.column + 2;
	char text[64];

	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (!l->seen[i])
			continue;
		value_text(app, a, (enum column)i, text);
		mt_draw_right(s, r.row, at, columns[i].width - 1, role, text);
		at += columns[i].width;
	}
	mt_triage_draw_mark(app, r.row, r.column, role, a->group);
	mt_backtrace_get(&backtrace, app->data.whole, app->data.symbols, a->group);
	mt_draw_swatch(app->screen, r.row, r.column + l->where - SWATCH,
		mt_layers_of(&app->data.layers, a->group), role);
	mt_frame_where(app, r.row, r.column + l->where, r.columns - l->where, line->selected,
		line->focus, mt_backtrace_own(&backtrace));
	mt_backtrace_free(&backtrace);
}

/* Which of them those are that are kept, where not all are. */
static const char *first_words(const struct asked *shown)
{
	static const char *const words[][2] = {
		[MT_ORDER_TIMESTAMP] = {"latest", "first"},
		[MT_ORDER_ADDRESS] = {"highest", "lowest"},
		[MT_ORDER_SIZE] = {"largest", "smallest"},
		[MT_ORDER_LIFETIME] = {"longest-lived", "shortest-lived"},
		[MT_ORDER_LIVE] = {"live and largest", "freed and smallest"},
	};

	return words[shown->order][shown->ascending];
}

static void draw_summary(struct mt_app *app, struct mt_rect r)
{
	const struct mt_blocks_state *t = app->blocks;
	char keys[64], hint[48] = "", kept[MT_NUMBER_EXACT_LEN], count[MT_NUMBER_EXACT_LEN];
	char bytes[16], group[64] = "", age[32];

	mt_data_age_words(age, &app->data, t->moment_ns);
	if (t->wanted.group != MT_NO_GROUP) {
		snprintf(group, sizeof group, " of group #%u", t->wanted.group);
		mt_keymap_words(hint, sizeof hint, "   {parent}: all groups");
	}
	mt_number_exact(kept, t->blocks.count);
	mt_number_exact(count, t->blocks.matched);
	mt_number_size(bytes, t->blocks.matched_bytes);
	if (t->error[0])
		mt_draw(app->screen, r.row, r.column + 1, r.columns - 1, MT_ROLE_ERROR, t->error);
	else if (t->given_up)
		mt_draw(app->screen, r.row, r.column + 1, r.columns - 1, MT_ROLE_PROMPT,
			mt_keymap_words(keys, sizeof keys,
				"cancelled; {open} reads the events again"));
	else if (t->percent >= 0)
		mt_drawf(app->screen, r.row, r.column + 1, r.columns - 1, MT_ROLE_PROMPT,
			"reading events: %d %%   %s", t->percent,
			mt_keymap_words(keys, sizeof keys, "{cancel} cancels"));
	else if (t->shown.filter && t->blocks.count < t->blocks.matched)
		mt_drawf(app->screen, r.row, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
			"the %s %s of %s blocks%s, %s%s%s%s", first_words(&t->shown), kept, count,
			group, bytes, *age ? "   " : "", age, hint);
	else if (t->shown.filter)
		mt_drawf(app->screen, r.row, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
			"%s %s%s, %s%s%s%s", count, MT_PLURAL(count, "block"), group, bytes,
			*age ? "   " : "", age, hint);
}

/* Why there are no single blocks, and how there will be. */
static void draw_none(struct mt_app *app, struct mt_rect r)
{
	const struct mt_data *d = &app->data;
	const char *words[3] = {"", "", ""};
	char keys[64];

	if (d->members.count) {
		words[0] = "many recordings as one have no list of blocks";
		words[1] = "open one of them from the list of processes:";
		words[2] = mt_keymap_words(keys, sizeof keys, "{processes}, then {open}");
	} else if (d->reader) {
		words[0] = "this trace has only totals";
		words[1] = "to have blocks as well, record again:";
		words[2] = "memtui record";
	} else {
		words[0] = "stand-alone recordings have no blocks";
		words[1] = "convert it into a trace that has them:";
		words[2] = "memtui pack";
	}
	r.column += 2;
	r.columns -= 2;
	for (int i = 0; i < 3; i++) {
		int rows = mt_draw_wrapped(app->screen, r, i == 2 ? MT_ROLE_KEY : MT_ROLE_DIM,
			words[i]);

		rows = rows < r.rows ? rows : r.rows;
		r.row += rows;
		r.rows -= rows;
	}
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	struct mt_blocks_state *t = app->blocks;
	struct layout layout = lay_out(t, r.columns);

	if (!app->data.listing) {
		draw_none(app, r);
		return;
	}
	draw_summary(app, r);
	draw_heading(app, (struct mt_rect){r.row + 1, r.column, 1, r.columns}, &layout);
	if (t->shown.filter && !l->count)
		mt_draw(app->screen, r.row + 2, r.column + 2, r.columns - 2, MT_ROLE_DIM,
			*t->shown.filter ? "no block matches; \\ changes the filter"
					 : "the program allocated nothing");
	mt_frame_list(app, MT_VIEW_BLOCKS,
		(struct mt_rect){r.row + 2, r.column, r.rows - 2, r.columns}, l, focus, draw_line,
		&layout);
}

const char *mt_blocks_order_words(struct mt_app *app)
{
	static const char *const words[] = {
#define X(id, name, what) [MT_ORDER_##id] = what,
		MT_ALLOCATION_ORDERS(X)
#undef X
	};

	return words[state_of(app)->wanted.order];
}

/* ---- keys ---- */

static void sort_by(struct mt_app *app, enum mt_allocation_order order, bool ascending)
{
	struct mt_blocks_state *t = app->blocks;

	t->wanted.order = order;
	t->wanted.ascending = ascending;
	t->list.held = false; /* the top of the new order */
	if (app->data.listing)
		ask(app);
	mt_app_say(app, "blocks by %s, %s first", mt_blocks_order_words(app),
		first_words(&t->wanted));
}

/* As it is asked for most often: the first, the lowest, the largest, the oldest. */
static bool usually_ascends(enum mt_allocation_order order)
{
	return order == MT_ORDER_TIMESTAMP || order == MT_ORDER_ADDRESS;
}

static void sort_beside(struct mt_app *app, int by)
{
	int at = 0;

	while (columns[at].order != app->blocks->wanted.order)
		at++;
	do
		at = (at + by + COLUMN_COUNT) % COLUMN_COUNT;
	while (columns[at].order == ORDER_NONE);
	sort_by(app, columns[at].order, usually_ascends(columns[at].order));
}

static void sort_column(struct mt_app *app, uint32_t column)
{
	const struct asked *w = &state_of(app)->wanted;
	enum mt_allocation_order order = columns[column].order;

	sort_by(app, order, order == w->order ? !w->ascending : usually_ascends(order));
}

static bool cancel(struct mt_app *app)
{
	struct mt_blocks_state *t = app->blocks;

	if (!mt_blocks_asked(app))
		return false;
	mt_worker_cancel(app->data.listing);
	t->percent = -1;
	t->given_up = true;
	if (t->shown.filter) { /* what is on the screen is what is wanted then */
		t->given_up = false;
		t->wanted.order = t->shown.order;
		t->wanted.ascending = t->shown.ascending;
		mt_app_say(app, "cancelled: the blocks are unchanged");
	}
	return true;
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);
	struct mt_blocks_state *t = app->blocks;

	switch (what) {
	case MT_ACTION_OPEN:
		if (t->given_up)
			ask(app);
		else if (l->count)
			mt_app_open_group(app, t->blocks.items[l->selected].group);
		break;
	case MT_ACTION_SORT:
	case MT_ACTION_SORT_RIGHT: sort_beside(app, 1); break;
	case MT_ACTION_SORT_LEFT: sort_beside(app, -1); break;
	case MT_ACTION_SORT_WHOLE:
		mt_app_say(app, "this list has its own sort order: < > r");
		break;
	case MT_ACTION_REVERSE:
		sort_by(app, t->wanted.order,
			t->given_up ? t->wanted.ascending : !t->wanted.ascending);
		break;
	case MT_ACTION_BLOCKS:
	case MT_ACTION_PARENT: mt_blocks_of_group(app, MT_NO_GROUP); break;
	case MT_ACTION_CANCEL: return cancel(app);
	default:
		if (!mt_list_move(l, what))
			return false;
		l->held = true;
		remember(t);
	}
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	mt_list_select(list(app), index);
	app->blocks->list.held = true;
	remember(app->blocks);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	mt_group_text(app, app->blocks->blocks.items[index].group, out, len);
}

static void pick(struct mt_app *app, struct mt_pick *out)
{
	struct mt_list *l = list(app);

	if (l->count)
		out->group = app->blocks->blocks.items[l->selected].group;
}

static void leave(struct mt_app *app)
{
	if (app->data.listing)
		mt_worker_cancel(app->data.listing);
	mt_blocks_state_free(app->blocks);
	app->blocks = NULL;
}

const struct mt_view mt_view_blocks = {
	.name = "Blocks",
	.scopes = 1u << MT_SCOPE_COLUMNS | 1u << MT_SCOPE_GROUPS | 1u << MT_SCOPE_TRIAGE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.sort = sort_column,
	.pick = pick,
	.leave = leave,
};
