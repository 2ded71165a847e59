#include "core/query/site_history.h"
#include "core/model/sampling.h"

#include <stdlib.h>
#include <string.h>

/* ---- series of all groups ---- */

struct series {
	struct mt_rank_point *points;
	uint32_t *old;
	const uint64_t *time_ns;
	uint64_t from_ns, step_ns;
	uint32_t groups;
	const struct mt_profile *profile;
};

/* The first instant at or behind a time; MT_RANK_POINTS: there is none. */
static uint32_t instant(const struct series *s, uint64_t ns)
{
	uint64_t at = ns <= s->from_ns ? 0 : (ns - s->from_ns) / s->step_ns;

	at = at ? at - 1 : 0;
	while (at < MT_RANK_POINTS && s->time_ns[at] < ns)
		at++;
	return at < MT_RANK_POINTS ? (uint32_t)at : MT_RANK_POINTS;
}

/* Changes alone: they are summed up at the end. */
static int add_changes(void *context, const struct mt_allocation *a)
{
	const struct series *s = context;
	struct mt_weight w = mt_profile_weigh(s->profile, a->group, a->number, a->size);
	struct mt_rank_point *points;
	uint32_t begin = instant(s, a->time_ns);
	uint32_t end = a->end_ns == MT_LIVE ? MT_RANK_POINTS : instant(s, a->end_ns);

	if (a->group >= s->groups)
		return 0;
	points = s->points + (size_t)a->group * MT_RANK_POINTS;
	s->old[a->group] += a->end_ns == MT_LIVE && begin <= mt_rank_then(MT_RANK_POINTS);
	if (begin < MT_RANK_POINTS) {
		points[begin].bytes += w.bytes;
		points[begin].count += w.blocks;
	}
	if (end < MT_RANK_POINTS) {
		points[end].bytes -= w.bytes;
		points[end].count -= w.blocks;
		points[end].freed += w.blocks;
	}
	return 0;
}

int mt_site_history_series(struct mt_rank_point *points, uint32_t *old,
	uint64_t time_ns[MT_RANK_POINTS], const struct mt_source *source, struct mt_err *err)
{
	const struct mt_profile *p = source->profile;
	struct series s = {
		.points = points,
		.old = old,
		.time_ns = time_ns,
		.from_ns = p->info.history_from_ns,
		.groups = p->group_count,
		.profile = p,
	};
	uint64_t span = p->info.wall_ns > s.from_ns ? p->info.wall_ns - s.from_ns : 1;
	int result;

	s.step_ns = span / MT_RANK_POINTS ? span / MT_RANK_POINTS : 1;
	for (uint32_t i = 0; i < MT_RANK_POINTS; i++)
		time_ns[i] =
			s.from_ns + (uint64_t)((unsigned __int128)span * (i + 1) / MT_RANK_POINTS);
	memset(points, 0, (size_t)p->group_count * MT_RANK_POINTS * sizeof *points);
	memset(old, 0, p->group_count * sizeof *old);
	result = mt_scan_allocations(source, NULL, 0, add_changes, &s, err);
	for (size_t i = 0; i < (size_t)p->group_count * MT_RANK_POINTS; i++) {
		if (i % MT_RANK_POINTS == 0)
			continue;
		points[i].bytes += points[i - 1].bytes;
		points[i].count += points[i - 1].count;
		points[i].freed += points[i - 1].freed;
	}
	return result;
}

/* ---- one group ---- */

static const uint64_t age_bounds[] = {
#define X(name, ns) ns,
	MT_SITE_HISTORY_AGES(X)
#undef X
};

const char *mt_site_history_age_name(unsigned age)
{
	static const char *const names[] = {
#define X(name, ns) name,
		MT_SITE_HISTORY_AGES(X)
#undef X
	};
	return names[age];
}

unsigned mt_site_history_age(uint64_t ns)
{
	unsigned age = 0;

	while (age + 1 < MT_SITE_HISTORY_AGE_COUNT && ns >= age_bounds[age])
		age++;
	return age;
}

struct counting {
	struct mt_site_history *history;
	uint64_t now_ns;
	uint32_t threads;
	uint64_t *ages; /* of live blocks, to be compared with the usual lifetime */
	uint32_t age_count, age_capacity;
};

static int count_block(void *context, const struct mt_allocation *a)
{
	struct counting *c = context;
	struct mt_site_history *s = c->history;
	bool live = a->end_ns == MT_LIVE;
	uint64_t end = live ? c->now_ns : a->end_ns;
	uint64_t lived = end > a->time_ns ? end - a->time_ns : 0;

	if (a->group != s->group)
		return 0;
	s->count++;
	s->sizes[a->size ? 64 - __builtin_clzll(a->size) : 0]++;
	if (a->thread < c->threads) {
		s->threads[a->thread].count++;
		s->threads[a->thread].live_count += live;
		s->threads[a->thread].live_bytes += live ? a->size : 0;
	}
	if (!live) {
		s->lifetimes[mt_site_history_age(lived)]++;
		s->ended_ns += lived;
		return 0;
	}
	s->live_count++;
	s->live_ages[mt_site_history_age(lived)]++;
	MT_GROW(c->ages, c->age_count, c->age_capacity);
	c->ages[c->age_count++] = lived;
	return 0;
}

static int by_live_bytes(const void *a, const void *b)
{
	const struct mt_site_history_thread *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->thread < y->thread ? -1 : 1;
}

static void finish(struct counting *c)
{
	struct mt_site_history *s = c->history;
	uint64_t ended = s->count - s->live_count;

	s->usual_ns = ended ? s->ended_ns / ended : 0;
	for (uint32_t i = 0; ended && i < c->age_count; i++)
		s->outlived += c->ages[i] / 10 > s->usual_ns;
	qsort(s->threads, c->threads, sizeof *s->threads, by_live_bytes);
	while (s->thread_count < c->threads && s->threads[s->thread_count].count)
		s->thread_count++;
}

int mt_site_history_group(struct mt_site_history *s, const struct mt_source *source, uint32_t group,
	struct mt_err *err)
{
	const struct mt_profile *p = source->profile;
	struct counting c = {.history = s, .now_ns = p->info.wall_ns, .threads = p->thread_count};
	int result;

	*s = (struct mt_site_history){.group = group};
	s->threads = mt_resize(NULL, ((size_t)p->thread_count + 1) * sizeof *s->threads);
	for (uint32_t i = 0; i < p->thread_count; i++)
		s->threads[i] = (struct mt_site_history_thread){.thread = i};
	result = mt_scan_allocations(source, NULL, 0, count_block, &c, err);
	finish(&c);
	free(c.ages);
	return result;
}

void mt_site_history_free(struct mt_site_history *s)
{
	free(s->threads);
	*s = (struct mt_site_history){0};
}
