#include "tui/data/surveying.h"
#include "core/base/buffer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct mt_surveying {
	struct mt_source source;
	pthread_t thread;
	bool started;
	int fd;
	struct mt_survey known;   /* of the caller's side */
	bool is_known;
	/* below: by the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool want_series, had_series, quit, running;
	uint32_t want, asked;     /* group, or MT_NO_GROUP; asked: also after it was found */
	struct mt_series series;
	struct mt_survey found;
	bool is_found;
	atomic_bool cancel;
};

static void ring(struct mt_surveying *s)
{
	uint64_t one = 1;

	while (write(s->fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static int on_progress(void *context, double fraction)
{
	struct mt_surveying *s = context;

	(void)fraction;
	return atomic_load_explicit(&s->cancel, memory_order_relaxed);
}

static void free_series(struct mt_series *series)
{
	free(series->points);
	free(series->old);
	*series = (struct mt_series){0};
}

/* The next two are called with the lock, and let it go meanwhile. */
static void find_series(struct mt_surveying *s)
{
	size_t groups = s->source.profile->group_count;
	struct mt_series found = {.points = mt_resize(NULL, (groups + 1) * MT_RANK_POINTS * sizeof *found.points),
		.old = mt_resize(NULL, (groups + 1) * sizeof *found.old)};

	s->want_series = false;
	pthread_mutex_unlock(&s->lock);
	int status = mt_survey_series(found.points, found.old, found.time_ns, &s->source, NULL);

	pthread_mutex_lock(&s->lock);
	if (status) {
		free_series(&found);
		if (status == -ECANCELED && !s->quit)
			s->want_series = true; /* for a group, which somebody looks at */
		return;
	}
	s->series = found;
}

static void find_group(struct mt_surveying *s)
{
	uint32_t group = s->want;
	struct mt_survey found;

	s->want = MT_NO_GROUP;
	pthread_mutex_unlock(&s->lock);
	int status = mt_survey_group(&found, &s->source, group, NULL);

	pthread_mutex_lock(&s->lock);
	if (status || group != s->asked) {
		mt_survey_free(&found);
		return;
	}
	if (s->is_found)
		mt_survey_free(&s->found);
	s->found = found;
	s->is_found = true;
}

static void *work(void *context)
{
	struct mt_surveying *s = context;

	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		if (s->want == MT_NO_GROUP && !s->want_series) {
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		s->running = true;
		atomic_store(&s->cancel, false);
		if (s->want != MT_NO_GROUP)
			find_group(s);
		else
			find_series(s);
		s->running = false;
		ring(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct mt_surveying *mt_surveying_new(const struct mt_source *source)
{
	struct mt_surveying *s = mt_alloc(sizeof *s);

	*s = (struct mt_surveying){.source = *source, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .want = MT_NO_GROUP,
		.asked = MT_NO_GROUP};
	s->source.workers = 1; /* nobody waits for it as for a filter */
	s->source.progress = on_progress;
	s->source.context = s;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	return s;
}

void mt_surveying_free(struct mt_surveying *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	atomic_store(&s->cancel, true);
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (s->started)
		pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	if (s->fd >= 0)
		close(s->fd);
	free_series(&s->series);
	if (s->is_found)
		mt_survey_free(&s->found);
	if (s->is_known)
		mt_survey_free(&s->known);
	free(s);
}

/* With the lock. Where no thread can be started, nothing is found. */
static void start(struct mt_surveying *s)
{
	if (!s->started)
		s->started = !pthread_create(&s->thread, NULL, work, s);
	if (!s->started) {
		s->want_series = false;
		s->want = MT_NO_GROUP;
	}
	pthread_cond_broadcast(&s->wake);
}

void mt_surveying_ask_series(struct mt_surveying *s)
{
	pthread_mutex_lock(&s->lock);
	if (!s->had_series && s->source.profile->group_count <= MT_SURVEY_GROUPS_MAX) {
		s->had_series = s->want_series = true;
		start(s);
	}
	pthread_mutex_unlock(&s->lock);
}

void mt_surveying_ask_group(struct mt_surveying *s, uint32_t group)
{
	pthread_mutex_lock(&s->lock);
	if (s->asked != group) {
		s->asked = s->want = group;
		if (s->running)
			atomic_store(&s->cancel, true);
		start(s);
	}
	pthread_mutex_unlock(&s->lock);
}

bool mt_surveying_busy(struct mt_surveying *s)
{
	pthread_mutex_lock(&s->lock);
	bool busy = s->running || s->want_series || s->want != MT_NO_GROUP || s->series.points || s->is_found;

	pthread_mutex_unlock(&s->lock);
	return busy;
}

int mt_surveying_fd(const struct mt_surveying *s)
{
	return s->fd;
}

bool mt_surveying_collect(struct mt_surveying *s, struct mt_series *series)
{
	uint64_t rung;
	bool news;

	while (read(s->fd, &rung, sizeof rung) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&s->lock);
	news = s->series.points || s->is_found;
	*series = s->series;
	s->series = (struct mt_series){0};
	if (s->is_found) {
		if (s->is_known)
			mt_survey_free(&s->known);
		s->known = s->found;
		s->is_known = true;
		s->is_found = false;
	}
	pthread_mutex_unlock(&s->lock);
	return news;
}

const struct mt_survey *mt_surveying_group(const struct mt_surveying *s, uint32_t group)
{
	return s->is_known && s->known.group == group ? &s->known : NULL;
}
