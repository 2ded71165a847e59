#include "core/query/rank.h"

/* Of 0 to 1: a tenth counts as a quarter, a half as almost all. */
static double swell(double part)
{
	double rest = 1 - part;

	return 1 - rest * rest * rest;
}

/* ---- growth: the minima of windows ---- */

struct windows {
	uint32_t count;
	double low[MT_RANK_WINDOWS], at[MT_RANK_WINDOWS]; /* bytes; seconds */
	double range[MT_RANK_WINDOWS];                    /* largest less smallest */
};

static uint32_t windows_of(uint32_t count)
{
	return count >= 2 * MT_RANK_WINDOWS ? MT_RANK_WINDOWS : count / 2;
}

static uint64_t lowest(const struct mt_rank_point *points, uint32_t from, uint32_t to)
{
	uint64_t low = points[from].bytes;

	for (uint32_t i = from; i < to; i++)
		low = points[i].bytes < low ? points[i].bytes : low;
	return low;
}

bool mt_rank_may_grow(const struct mt_rank_point *points, uint32_t count)
{
	uint32_t windows = windows_of(count);

	return lowest(points, count * (windows - 1) / windows, count)
		> lowest(points, 0, count / windows);
}

static void cut(struct windows *w, const struct mt_rank_point *points, const uint64_t *time_ns,
	uint32_t count)
{
	w->count = windows_of(count);
	for (uint32_t i = 0; i < w->count; i++) {
		uint32_t from = count * i / w->count, to = count * (i + 1) / w->count;
		uint64_t low = lowest(points, from, to), high = low;

		for (uint32_t k = from; k < to; k++)
			high = points[k].bytes > high ? points[k].bytes : high;
		w->low[i] = (double)low;
		w->range[i] = (double)(high - low);
		w->at[i] = (double)(time_ns[from] / 2 + time_ns[to - 1] / 2) / 1e9;
	}
}

/* Least squares through the minima; fit: the share of their variance that the line explains. */
static double regression(const struct windows *w, double *fit)
{
	double n = w->count, x = 0, y = 0, xx = 0, xy = 0, yy = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		x += w->at[i] / n;
		y += w->low[i] / n;
	}
	for (uint32_t i = 0; i < w->count; i++) {
		xx += (w->at[i] - x) * (w->at[i] - x);
		xy += (w->at[i] - x) * (w->low[i] - y);
		yy += (w->low[i] - y) * (w->low[i] - y);
	}
	*fit = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
	return xx > 0 ? xy / xx : 0;
}

/* What comes and goes within a window, of which the growth itself is no part: the median, so that a
 * burst counts little. */
static double noise(const struct windows *w, double growth)
{
	double sorted[MT_RANK_WINDOWS], middle;

	for (uint32_t i = 0; i < w->count; i++) {
		uint32_t at = i;

		for (; at > 0 && sorted[at - 1] > w->range[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = w->range[i];
	}
	middle = sorted[w->count / 2] - growth / w->count;
	return middle > 0 ? middle : 0;
}

static void look_at_growth(struct mt_rank *r, const struct mt_rank_point *points,
	const uint64_t *time_ns, uint32_t count)
{
	struct windows w;
	double fit, growth, rises;

	cut(&w, points, time_ns, count);
	r->span_ns = time_ns[count - 1] - time_ns[0];
	r->windows = w.count;
	r->slope = regression(&w, &fit);
	growth = r->slope * (double)r->span_ns / 1e9;
	for (uint32_t i = 1; i < w.count; i++)
		r->rising += w.low[i] > w.low[i - 1];
	rises = (double)r->rising / (w.count - 1);
	r->rising += r->rising > 0;
	if (growth <= 0 || !mt_rank_may_grow(points, count))
		return;
	r->certainty = rises * rises * fit * growth / (growth + noise(&w, growth));
	if (count < 2 * MT_RANK_WINDOWS) /* three points on a line are soon found */
		r->certainty *= (double)count / (2 * MT_RANK_WINDOWS);
}

/* ---- survivors ---- */

/* Of the blocks that lived in the middle of the span: those that were freed since may have been
 * younger ones. */
static void look_at_survivors(struct mt_rank *r, const struct mt_rank_point *points,
	const uint64_t *time_ns, uint32_t count, int64_t old)
{
	const struct mt_rank_point *then = &points[mt_rank_then(count)], *now = &points[count - 1];
	uint32_t freed = now->freed - then->freed;

	r->then_ns = time_ns[count - 1] - time_ns[mt_rank_then(count)];
	r->then_count = then->count;
	r->exact = old != MT_RANK_UNKNOWN || !freed;
	r->old_count = old != MT_RANK_UNKNOWN ? (uint64_t)old
		: then->count > freed         ? then->count - freed
					      : 0;
}

/* What does not grow is no leak, however old it is: what was allocated at the start and stays is as
 * old as can be. */
static void weigh(struct mt_rank *r, double survivors, bool whole)
{
	r->steady = (uint8_t)(r->certainty * MT_RANK_STEADY + 0.5);
	r->survivors = (uint8_t)(r->certainty * survivors * MT_RANK_SURVIVORS + 0.5);
	r->whole = whole ? (uint8_t)(r->certainty * MT_RANK_WHOLE + 0.5) : 0;
}

void mt_rank_series(struct mt_rank *r, const struct mt_rank_point *points, const uint64_t *time_ns,
	uint32_t count, const struct mt_group *g, int64_t old)
{
	*r = (struct mt_rank){.freed = g->allocated_count - g->live_count};
	look_at_growth(r, points, time_ns, count);
	look_at_survivors(r, points, time_ns, count, old);
	weigh(r, r->then_count ? (double)r->old_count / (double)r->then_count : 0, !r->freed);
}

double mt_rank_weight(const struct mt_rank *r)
{
	return r->slope > 0 ? r->slope * r->certainty : 0;
}

void mt_rank_finish(struct mt_rank *r, double weight_of_all)
{
	double weight = mt_rank_weight(r);

	r->part = weight_of_all > 0 ? weight / weight_of_all : 0;
	r->share = (uint8_t)(swell(r->part) * r->certainty * MT_RANK_SHARE + 0.5);
	r->score = (uint8_t)(r->steady + r->share + r->survivors + r->whole);
}

/* ---- totals ---- */

#define FEW 8 /* so many allocations are needed to speak of growth */

void mt_rank_totals(struct mt_rank *r, const struct mt_profile *p, const struct mt_group *g)
{
	uint64_t wall = p->info.wall_ns, age = wall > g->first_ns ? wall - g->first_ns : 0;
	double kept, full, spread, few;

	*r = (struct mt_rank){
		.estimated = true,
		.freed = g->allocated_count - g->live_count,
		.span_ns = age,
	};
	if (!g->allocated_count || !g->live_bytes || !age)
		return;
	kept = (double)g->live_count / (double)g->allocated_count;
	full = g->own_peak_bytes ? (double)g->live_bytes / (double)g->own_peak_bytes : 0;
	full = full > 1 ? 1 : full;
	spread = (double)(g->last_ns - g->first_ns) / (double)age;
	few = g->allocated_count < FEW ? (double)g->allocated_count / FEW : 1;
	r->slope = (double)g->live_bytes * 1e9 / (double)age;
	/* What leaks is at its largest at the end, was allocated all the time, and much of it is
	 * still there. */
	r->certainty = full * full * spread * swell(kept) * few;
	r->part = p->info.leaked_bytes ? (double)g->live_bytes / (double)p->info.leaked_bytes : 0;
	r->part = r->part > 1 ? 1 : r->part;
	weigh(r, kept, !r->freed);
	r->share = (uint8_t)(swell(r->part) * r->certainty * MT_RANK_SHARE + 0.5);
	r->score = (uint8_t)(r->steady + r->share + r->survivors + r->whole);
}
