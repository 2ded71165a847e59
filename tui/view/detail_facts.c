/* Of a group's detail: how much it looks like a leak and why, its trend, and what its blocks are
 * like. */
#include "tui/view/detail_facts.h"
#include "core/export/number.h"
#include "core/export/rank_words.h"
#include "tui/data/lost.h"
#include "tui/view/sparkline.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A line that is written from left to right. */
struct line {
	struct mt_app *app;
	int row, column, end;
};

__attribute__((format(printf, 3, 4))) static void put(struct line *l, enum mt_role role,
	const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (l->column < l->end)
		l->column +=
			mt_draw(l->app->screen, l->row, l->column, l->end - l->column, role, text);
}

/* ---- the score ---- */

static void score_text(struct mt_app *app, bool narrow, char *out, size_t len)
{
	const struct mt_data *d = &app->data;
	const struct mt_group *g = &d->profile.groups[app->detail.group];
	struct mt_rank rank;
	char words[MT_RANK_WORDS], number[17];

	if (mt_data_scores_wait(d)) {
		snprintf(out, len, "leak score: being computed%s",
			d->live ? ", available after a few seconds" : "");
		return;
	}
	mt_data_rank(d, app->detail.group, &rank);
	mt_rank_words(words, &rank, g->live_count);
	snprintf(out, len, "leak score %s%s: %s", mt_data_metric(number, d, g, MT_METRIC_SUSPECT),
		narrow ? "" : " of 100", words);
}

static void draw_trend(struct mt_app *app, struct mt_rect r)
{
	struct line l = {app, r.row, r.column, r.column + r.columns};
	uint64_t points[MT_RANK_POINTS];
	uint32_t most = r.columns < 90 ? 16 : MT_RANK_POINTS;
	uint32_t count = mt_data_history(&app->data, app->detail.group, points, most);
	struct mt_rank rank;
	char span[MT_NUMBER_LEN], why[80];

	mt_data_rank(&app->data, app->detail.group, &rank);
	put(&l, MT_ROLE_DIM, " trend  ");
	if (count) {
		mt_sparkline_trend(app->screen, l.row, l.column, (int)most, MT_ROLE_GRAPH, points,
			count, 0);
		l.column += (int)count + 2;
	} else {
		put(&l, MT_ROLE_DIM, "%s   ",
			mt_data_unsampled(&app->data, why, sizeof why) ? why
				: app->data.live ? "available after a few seconds"
				: mt_history_worker_has_series(app->data.history_worker)
				? "being computed"
				: "not available: the trace has no events");
	}
	if (mt_data_scores_wait(&app->data))
		return;
	mt_number_time(span, rank.span_ns);
	put(&l, MT_ROLE_DIM, "points: growth %u/%u share %u/%u old %u/%u kept %u/%u", rank.steady,
		MT_RANK_STEADY, rank.share, MT_RANK_SHARE, rank.survivors, MT_RANK_SURVIVORS,
		rank.whole, MT_RANK_WHOLE);
}

/* ---- histograms ---- */

static uint64_t largest(const uint64_t *values, unsigned count)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

static void put_class(struct line *l, const char *name, uint64_t value, uint64_t most)
{
	char number[MT_NUMBER_LEN];

	if (!value)
		return;
	mt_number_count(number, value);
	put(l, MT_ROLE_DIM, "%s", name);
	put(l, MT_ROLE_GRAPH, "%s",
		mt_glyph_level(mt_screen_utf8(l->app->screen), (int)(1 + value * 7 / most)));
	put(l, MT_ROLE_TEXT, "%s  ", number);
}

static void put_ages(struct line *l, const uint64_t *ages)
{
	uint64_t most = largest(ages, MT_SITE_HISTORY_AGE_COUNT);

	for (unsigned i = 0; i < MT_SITE_HISTORY_AGE_COUNT; i++)
		put_class(l, mt_site_history_age_name(i), ages[i], most);
}

static void put_sizes(struct line *l, const uint64_t *sizes)
{
	uint64_t most = largest(sizes, MT_SITE_HISTORY_SIZE_COUNT);

	for (unsigned i = 0; i < MT_SITE_HISTORY_SIZE_COUNT; i++) {
		char name[MT_NUMBER_LEN];

		mt_number_size(name, i ? 1ull << (i - 1) : 0);
		put_class(l, name, sizes[i], most);
	}
}

static void put_usual(struct line *l, const struct mt_site_history *s)
{
	char usual[MT_NUMBER_LEN];

	if (s->live_count == s->count)
		return;
	mt_number_time(usual, s->usual_ns);
	put(l, MT_ROLE_DIM, "freed blocks lived %s", usual);
	if (s->live_count && s->outlived == s->live_count)
		put(l, MT_ROLE_DIM, "; all others are >10x older");
	else if (s->live_count)
		put(l, MT_ROLE_DIM, "; %u%% of the others are >10x older",
			(unsigned)(s->outlived * 100 / s->live_count));
}

/* Why there is nothing that only events tell. */
static const char *why_not(const struct mt_app *app)
{
	const struct mt_data *d = &app->data;

	if (mt_history_worker_has_series(d->history_worker))
		return "being computed";
	if (d->live && d->history_worker)
		return mt_history_worker_fault(d->history_worker)
			? mt_history_worker_fault(d->history_worker)
			: "being computed";
	if (d->client && !d->recorder_gone)
		return "available after all its child processes have exited";
	if (d->trace == MT_TRACE_AWAITED)
		return "being read from the trace";
	if (d->trace == MT_TRACE_FAILED)
		return "not available: its trace is damaged";
	if (d->client && !d->trace)
		return "in its own trace: press 9, then Enter on it";
	return d->live || d->followed ? "only in a trace made by 'memtui pack'"
				      : "not available: the trace has no events";
}

/* Of a group of which only totals are known: the blocks that lived at a point and were not freed
 * since. Where none was freed in the whole span, this is what lives. */
static void put_ages_of_totals(struct line *l, const struct mt_rank *rank, const struct mt_group *g)
{
	char then[MT_NUMBER_LEN], old[MT_NUMBER_LEN], young[MT_NUMBER_LEN];

	mt_number_time(then, rank->then_ns);
	mt_number_count(old, rank->old_count);
	mt_number_count(young,
		g->live_count > rank->then_count ? g->live_count - rank->then_count : 0);
	if (rank->estimated)
		put(l, MT_ROLE_DIM, "available after a few seconds");
	else if (rank->old_count == rank->then_count)
		put(l, MT_ROLE_TEXT, "%s older than %s, %s younger: none was freed since", old,
			then, young);
	else
		put(l, MT_ROLE_TEXT, "at least %s older than %s; exact ages: %s", old, then,
			why_not(l->app));
}

/* What a row of facts came to. */
enum fact {
	NOT_KNOWN,  /* the group's totals do not tell */
	NOT_NEEDED, /* the totals above say it */
	DRAWN,
};

static enum fact draw_ages(struct mt_app *app, struct mt_rect r, const struct mt_site_history *s)
{
	struct line l = {app, r.row, r.column, r.column + r.columns};
	const struct mt_group *g = &app->data.whole->groups[app->detail.group];
	struct mt_rank rank;

	if (!s && g->live_count) {
		if (!app->data.live)
			return NOT_KNOWN;
		mt_data_rank(&app->data, app->detail.group, &rank);
		if (!rank.estimated && !rank.old_count)
			return NOT_KNOWN;
	}
	put(&l, MT_ROLE_DIM, s && !s->live_count ? " lived   " : " age     ");
	if (s) {
		put_ages(&l, s->live_count ? s->live_ages : s->lifetimes);
		put_usual(&l, s);
	} else if (!g->live_count) {
		put(&l, MT_ROLE_DIM, "no block is live");
	} else {
		put_ages_of_totals(&l, &rank, g);
	}
	return DRAWN;
}

static enum fact draw_sizes(struct mt_app *app, struct mt_rect r, const struct mt_site_history *s)
{
	struct line l = {app, r.row, r.column, r.column + r.columns};
	const struct mt_group *g = &app->data.whole->groups[app->detail.group];

	if (!s)
		return g->min_size == g->max_size ? NOT_NEEDED : NOT_KNOWN;
	put(&l, MT_ROLE_DIM, " size    ");
	put_sizes(&l, s->sizes);
	return DRAWN;
}

static enum fact draw_threads(struct mt_app *app, struct mt_rect r, const struct mt_site_history *s)
{
	struct line l = {app, r.row, r.column, r.column + r.columns};
	const struct mt_profile *p = app->data.whole;

	if (!s && p->thread_count != 1)
		return NOT_KNOWN;
	put(&l, MT_ROLE_DIM, " threads ");
	if (!s)
		put(&l, MT_ROLE_TEXT, "%s, the only one",
			mt_strings_get(&p->strings, p->threads[0].name));
	for (uint32_t i = 0; s && i < s->thread_count; i++) {
		const struct mt_site_history_thread *t = &s->threads[i];
		char count[MT_NUMBER_LEN], live[MT_NUMBER_LEN], name[64];

		mt_number_count(count, t->count);
		mt_number_size(live, t->live_bytes);
		put(&l, MT_ROLE_TEXT, "%s ", mt_data_thread(name, p, t->thread));
		put(&l, MT_ROLE_DIM, "%s live from %s %s  ", live, count, MT_PLURAL(count, "call"));
	}
	return DRAWN;
}

/* What is not known for one reason is one row, so that the source below gets the others. Returns
 * how many rows it took. */
static int draw_of_events(struct mt_app *app, struct mt_rect r, const struct mt_site_history *s)
{
	static const struct {
		const char *name;
		enum fact (*draw)(struct mt_app *, struct mt_rect, const struct mt_site_history *);
	} facts[] = {{"ages", draw_ages}, {"sizes", draw_sizes}, {"threads", draw_threads}};
	char unknown[32] = "";
	int row = r.row;

	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		struct mt_rect here = {row, r.column, 1, r.columns};
		enum fact fact = facts[i].draw(app, here, s);
		size_t len = strlen(unknown);

		row += fact == DRAWN;
		if (fact == NOT_KNOWN)
			snprintf(unknown + len, sizeof unknown - len, "%s%s", len ? ", " : "",
				facts[i].name);
	}
	if (*unknown) {
		struct line l = {app, row++, r.column, r.column + r.columns};

		put(&l, MT_ROLE_DIM, " blocks  %s %s", unknown, why_not(app));
	}
	return row - r.row;
}

static void put_site(struct line *l, const struct mt_free_site *site)
{
	const struct mt_data *d = &l->app->data;
	struct mt_backtrace backtrace = {0};
	const struct mt_backtrace_frame *frame;
	char source[128], count[MT_NUMBER_LEN];

	mt_backtrace_of(&backtrace, d->whole, d->symbols, site->node);
	frame = mt_backtrace_own(&backtrace);
	mt_number_count(count, site->count);
	if (frame) {
		mt_frame_source(source, sizeof source, frame, false);
		put(l, MT_ROLE_TEXT, "%s ", frame->function);
		put(l, MT_ROLE_DIM, "%s %s  ", source, count);
	}
	mt_backtrace_free(&backtrace);
}

/* The most frequent three, in their order. */
static void draw_sites(struct mt_app *app, struct mt_rect r)
{
	struct line l = {app, r.row, r.column, r.column + r.columns};
	const struct mt_profile *p = app->data.whole;
	const struct mt_group *g = &p->groups[app->detail.group];
	const struct mt_free_site *best[3] = {NULL};

	put(&l, MT_ROLE_DIM, " freed   ");
	for (uint32_t i = 0; i < p->free_site_count; i++) {
		const struct mt_free_site *here = &p->free_sites[i];

		for (int k = 0; k < 3 && here->group == app->detail.group; k++)
			if (!best[k] || here->count > best[k]->count) {
				memmove(&best[k + 1], &best[k], (size_t)(2 - k) * sizeof *best);
				best[k] = here;
				break;
			}
	}
	if (g->allocated_count == g->live_count)
		put(&l, MT_ROLE_TEXT, "none of its blocks");
	else if (!best[0])
		put(&l, MT_ROLE_DIM, "not recorded (use --free-stacks)");
	for (int k = 0; k < 3 && best[k]; k++)
		put_site(&l, best[k]);
}

int mt_detail_facts(struct mt_app *app, struct mt_rect r)
{
	struct mt_data *d = &app->data;
	const struct mt_site_history *s;
	char text[512];
	int rows = r.rows >= 18 ? 5 : r.rows >= 14 ? 2 : 0; /* of facts, below the score */
	int most = !rows ? 1 : rows == 5 && r.columns < 60 ? 5 : 3, score;

	mt_data_site_history(d, app->detail.group);
	s = d->history_worker ? mt_history_worker_group(d->history_worker, app->detail.group)
			      : NULL;
	score_text(app, r.columns < 60, text, sizeof text);
	score = mt_draw_wrapped(app->screen,
		(struct mt_rect){r.row, r.column + 1, most, r.columns - 1}, MT_ROLE_TEXT, text);
	if (!rows)
		return score;
	score = score < 2 ? 2 : score; /* mostly it takes two: the rest stays where it is */
	if (mt_lost_words(text, sizeof text, d, app->detail.group)) {
		struct line l = {app, r.row + score++, r.column, r.column + r.columns};

		put(&l, MT_ROLE_DIM, " verdict ");
		put(&l, MT_ROLE_TEXT, "%s", text);
	}
	r.row += score;
	draw_trend(app, (struct mt_rect){r.row, r.column, 1, r.columns});
	r.row++;
	if (rows == 5) {
		rows = 2 + draw_of_events(app, r, s);
		draw_sites(app, (struct mt_rect){r.row + rows - 2, r.column, 1, r.columns});
	} else if (draw_ages(app, r, s) == NOT_KNOWN) {
		struct line l = {app, r.row, r.column, r.column + r.columns};

		put(&l, MT_ROLE_DIM, " age     %s", why_not(app));
	}
	return rows + score;
}
