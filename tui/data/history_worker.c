#include "tui/data/history_worker.h"
#include "core/base/buffer.h"
#include "tui/data/worker.h"

#include <stdio.h>
#include <stdlib.h>

struct mt_history_worker {
	struct mt_worker *worker;
	struct mt_generation of; /* the names alone of a program that runs, which it follows */
	bool follows, had_series;
	char fault[512]; /* of the last request; "": none */
	/* not known yet; a group is asked for first: somebody looks at it */
	bool wants_series, wants_group;
	uint32_t group;               /* that was asked for last, or MT_NO_GROUP */
	struct mt_site_history known; /* its group MT_NO_GROUP: none is */
};

/* Asked for by a group, or by MT_NO_GROUP for the series of all. */
struct found {
	struct mt_series series;
	struct mt_site_history group;
};

static void free_found(void *at)
{
	struct found *f = at;

	free(f->series.points);
	free(f->series.old);
	mt_site_history_free(&f->group);
	*f = (struct found){0};
}

static int find(const struct mt_source *source, const void *request, void *result,
	struct mt_err *err)
{
	const uint32_t *group = request;
	size_t groups = source->profile->group_count;
	struct found *f = result;
	int status;

	if (*group != MT_NO_GROUP) {
		status = mt_site_history_group(&f->group, source, *group, err);
	} else {
		f->series.points =
			mt_resize(NULL, (groups + 1) * MT_RANK_POINTS * sizeof *f->series.points);
		f->series.old = mt_resize(NULL, (groups + 1) * sizeof *f->series.old);
		status = mt_site_history_series(f->series.points, f->series.old, f->series.time_ns,
			source, err);
	}
	if (status < 0)
		free_found(f);
	return status;
}

/* one thread decodes: nobody waits for it as for a filter */
static const struct mt_worker_kind work = {.words = "to look into groups in",
	.result_size = sizeof(struct found),
	.run = find,
	.free_request = free,
	.free_result = free_found,
	.unseen = true,
	.nameless = true,
	.workers = 1};

struct mt_history_worker *mt_history_worker_follow(const struct mt_recording *of)
{
	struct mt_history_worker *s = mt_alloc(sizeof *s);

	*s = (struct mt_history_worker){
		.worker = mt_worker_new(&work),
		.follows = true,
		.group = MT_NO_GROUP,
		.known = {.group = MT_NO_GROUP},
	};
	mt_worker_follow(s->worker, of);
	return s;
}

struct mt_history_worker *mt_history_worker_new(const struct mt_generation *of)
{
	struct mt_history_worker *s = mt_alloc(sizeof *s);

	*s = (struct mt_history_worker){
		.worker = mt_worker_new(&work),
		.of = mt_generation_hold(of, false),
		.group = MT_NO_GROUP,
		.known = {.group = MT_NO_GROUP},
	};
	return s;
}

void mt_history_worker_free(struct mt_history_worker *s)
{
	if (!s)
		return;
	mt_worker_free(s->worker);
	mt_generation_release(&s->of);
	mt_site_history_free(&s->known);
	free(s);
}

static void go_on(struct mt_history_worker *s)
{
	uint32_t *request;

	if (!s->wants_group && !s->wants_series)
		return;
	request = mt_alloc(sizeof *request);
	*request = s->wants_group ? s->group : MT_NO_GROUP;
	mt_worker_start(s->worker, &s->of, request);
}

void mt_history_worker_ask_series(struct mt_history_worker *s)
{
	if (s->follows || s->had_series || s->of.profile->group_count > MT_SITE_HISTORY_GROUPS_MAX)
		return;
	s->had_series = s->wants_series = true;
	if (!s->wants_group)
		go_on(s);
}

void mt_history_worker_ask_group(struct mt_history_worker *s, uint32_t group)
{
	if (s->group == group && !(s->known.group == group && mt_worker_may_renew(s->worker)))
		return;
	s->group = group;
	s->wants_group = true;
	go_on(s);
}

bool mt_history_worker_busy(const struct mt_history_worker *s)
{
	return mt_worker_asked(s->worker);
}

bool mt_history_worker_had_series(const struct mt_history_worker *s)
{
	return s->had_series && !s->wants_series;
}

bool mt_history_worker_has_series(const struct mt_history_worker *s)
{
	return s && !s->follows;
}

int mt_history_worker_fd(const struct mt_history_worker *s)
{
	return mt_worker_fd(s->worker);
}

bool mt_history_worker_collect(struct mt_history_worker *s, struct mt_series *series)
{
	struct found found = {0};
	struct mt_err err;
	int result = mt_worker_collect(s->worker, &found, &err);

	*series = found.series;
	if (!result)
		return false;
	mt_recording_free(mt_worker_moment(s->worker));
	snprintf(s->fault, sizeof s->fault, "%s", result < 0 ? err.text : "");
	if (!s->wants_group)
		s->wants_series = false;
	s->wants_group = false;
	if (result > 0 && !found.series.points) {
		mt_site_history_free(&s->known);
		s->known = found.group;
	}
	go_on(s);
	return result > 0;
}

const char *mt_history_worker_fault(const struct mt_history_worker *s)
{
	return *s->fault ? s->fault : NULL;
}

const struct mt_site_history *mt_history_worker_group(const struct mt_history_worker *s,
	uint32_t group)
{
	return s->known.group == group ? &s->known : NULL;
}
