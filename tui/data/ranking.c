#include "tui/data/ranking.h"

#include <stdlib.h>
#include <string.h>

#define STEP_LEAST 250000000u
#define STEP_MOST 8000000000u
#define MANY_GROUPS 20000u /* of which points are taken each second at the most */

static struct mt_rank_point *points_of(const struct mt_ranking *r, uint32_t group)
{
	return r->points + (size_t)group * MT_RANK_POINTS;
}

static void fit(struct mt_ranking *r, uint32_t groups)
{
	if (groups > r->capacity) {
		r->capacity = groups + groups / 2;
		r->points = mt_resize(r->points,
			(size_t)r->capacity * MT_RANK_POINTS * sizeof *r->points);
	}
	if (groups > r->groups) {
		memset(points_of(r, r->groups), 0,
			(size_t)(groups - r->groups) * MT_RANK_POINTS * sizeof *r->points);
		r->groups = groups;
	}
}

/* Every second point goes; the last one stays. */
static void thin_out(struct mt_ranking *r)
{
	uint32_t kept = r->count / 2;

	for (uint32_t i = 0; i < kept; i++)
		r->time_ns[i] = r->time_ns[2 * i + 1];
	for (uint32_t g = 0; g < r->groups; g++) {
		struct mt_rank_point *points = points_of(r, g);

		for (uint32_t i = 0; i < kept; i++)
			points[i] = points[2 * i + 1];
	}
	r->count = kept;
	r->step_ns *= 2;
}

static void drop_oldest(struct mt_ranking *r)
{
	r->count--;
	memmove(r->time_ns, r->time_ns + 1, r->count * sizeof *r->time_ns);
	for (uint32_t g = 0; g < r->groups; g++)
		memmove(points_of(r, g), points_of(r, g) + 1, r->count * sizeof *r->points);
}

static void rank(const struct mt_ranking *r, const struct mt_profile *p, uint32_t group,
	struct mt_rank *out)
{
	int64_t old = r->old ? (int64_t)r->old[group] : MT_RANK_UNKNOWN;

	mt_rank_series(out, points_of(r, group), r->time_ns, r->count, &p->groups[group], old);
}

static void score(struct mt_ranking *r, const struct mt_profile *p)
{
	struct mt_rank *ranks;

	if (r->count < MT_RANK_LEAST)
		return;
	if (r->groups > r->score_capacity) {
		r->score_capacity = r->groups + r->groups / 2;
		r->scores = mt_resize(r->scores, r->score_capacity);
	}
	ranks = mt_resize(NULL, ((size_t)r->groups + 1) * sizeof *ranks);
	r->weight = 0;
	for (uint32_t g = 0; g < r->groups; g++) {
		ranks[g] = (struct mt_rank){0};
		if (mt_rank_may_grow(points_of(r, g), r->count))
			rank(r, p, g, &ranks[g]);
		r->weight += mt_rank_weight(&ranks[g]);
	}
	for (uint32_t g = 0; g < r->groups; g++) {
		mt_rank_finish(&ranks[g], r->weight);
		r->scores[g] = ranks[g].score;
	}
	r->score_count = r->groups;
	free(ranks);
}

void mt_ranking_add(struct mt_ranking *r, const struct mt_profile *p)
{
	uint64_t now = p->info.wall_ns;

	if (p->group_count > MT_RANKING_MOST) { /* what is known of them are totals */
		r->count = r->groups = r->score_count = 0;
		return;
	}
	if (!r->step_ns)
		r->step_ns = STEP_LEAST;
	if (p->group_count > MANY_GROUPS && r->step_ns < 4 * STEP_LEAST)
		r->step_ns = 4 * STEP_LEAST;
	if (r->count && now < r->time_ns[r->count - 1]) { /* another recording */
		r->count = r->groups = r->score_count = 0;
		r->step_ns = STEP_LEAST;
	}
	if (r->count && now - r->time_ns[r->count - 1] < r->step_ns)
		return;
	if (r->count == MT_RANK_POINTS) {
		if (r->step_ns < STEP_MOST)
			thin_out(r);
		else
			drop_oldest(r);
	}
	fit(r, p->group_count);
	for (uint32_t g = 0; g < p->group_count; g++) {
		const struct mt_group *group = &p->groups[g];

		points_of(r, g)[r->count] = (struct mt_rank_point){group->live_bytes,
			(uint32_t)group->live_count,
			(uint32_t)(group->allocated_count - group->live_count)};
	}
	r->time_ns[r->count++] = now;
	score(r, p);
}

void mt_ranking_take(struct mt_ranking *r, const struct mt_profile *p,
	const struct mt_series *series)
{
	free(r->points);
	free(r->old);
	r->points = series->points;
	r->old = series->old;
	r->groups = r->capacity = p->group_count;
	r->count = MT_RANK_POINTS;
	memcpy(r->time_ns, series->time_ns, sizeof r->time_ns);
	score(r, p);
}

bool mt_ranking_get(const struct mt_ranking *r, const struct mt_profile *p, uint32_t group,
	struct mt_rank *out)
{
	if (r->count < MT_RANK_LEAST || group >= r->score_count)
		return false;
	rank(r, p, group, out);
	mt_rank_finish(out, r->weight);
	return true;
}

uint32_t mt_ranking_history(const struct mt_ranking *r, uint32_t group, uint64_t *out,
	uint32_t most)
{
	uint32_t count = r->count < most ? r->count : most;

	if (group >= r->groups)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = count > 1 ? i * (r->count - 1) / (count - 1) : r->count - 1;

		out[i] = points_of(r, group)[at].bytes;
	}
	return count;
}

void mt_ranking_free(struct mt_ranking *r)
{
	free(r->points);
	free(r->old);
	free(r->scores);
}
