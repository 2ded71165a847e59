#include "tui/matching.h"
#include "core/base/buffer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct mt_matching {
	struct mt_source source;
	pthread_t thread;
	bool started;
	int fd;
	double hold;             /* a share to stop at; 0: none */
	char *asked;             /* the caller's copy of what is asked */
	/* below: by the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	char *next;              /* to be taken by the thread */
	bool running, held, quit;
	bool done;               /* result and err are those of what is asked */
	int status;
	struct mt_matched result;
	struct mt_err err;
	double fraction;
	atomic_bool cancel;
};

/* Tells the loop. */
static void ring(struct mt_matching *m)
{
	uint64_t one = 1;

	while (write(m->fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static int on_progress(void *context, double fraction)
{
	struct mt_matching *m = context;

	if (atomic_load_explicit(&m->cancel, memory_order_relaxed))
		return 1;
	pthread_mutex_lock(&m->lock);
	m->fraction = fraction;
	if (m->hold > 0 && fraction >= m->hold) {
		m->fraction = m->hold;
		m->held = true;
		ring(m);
		while (!atomic_load(&m->cancel))
			pthread_cond_wait(&m->wake, &m->lock);
		m->held = false;
	}
	pthread_mutex_unlock(&m->lock);
	return atomic_load(&m->cancel);
}

/* Of one filter, without the lock. */
static int match(struct mt_matching *m, const char *text, struct mt_matched *result, struct mt_err *err)
{
	struct mt_source source = m->source;
	struct mt_filter *filter = mt_filter_new();
	int status = mt_filter_parse(filter, text, err);

	source.progress = on_progress;
	source.context = m;
	if (!status)
		status = mt_match(result, &source, filter, MT_MATCH_HISTORY, err);
	mt_filter_free(filter);
	return status;
}

static void *work(void *context)
{
	struct mt_matching *m = context;

	pthread_mutex_lock(&m->lock);
	while (!m->quit) {
		if (!m->next) {
			pthread_cond_wait(&m->wake, &m->lock);
			continue;
		}
		struct mt_matched result = {0};
		struct mt_err err = {0};
		char *text = m->next;

		m->next = NULL;
		m->running = true;
		m->fraction = 0;
		atomic_store(&m->cancel, false);
		pthread_mutex_unlock(&m->lock);
		int status = match(m, text, &result, &err);

		free(text);
		pthread_mutex_lock(&m->lock);
		m->running = false;
		if (atomic_load(&m->cancel)) { /* also where it was done before it saw that */
			mt_matched_free(&result);
		} else {
			m->done = true;
			m->status = status;
			m->result = result;
			m->err = err;
		}
		ring(m);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

struct mt_matching *mt_matching_new(const struct mt_source *source)
{
	struct mt_matching *m = mt_alloc(sizeof *m);
	const char *hold = getenv("MEMTUI_TEST_FILTERING");

	*m = (struct mt_matching){.source = *source, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.hold = hold ? atof(hold) : 0};
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->wake, NULL);
	return m;
}

/* With the lock. */
static void forget(struct mt_matching *m)
{
	atomic_store(&m->cancel, true);
	free(m->next);
	m->next = NULL;
	if (m->done)
		mt_matched_free(&m->result);
	m->done = false;
	pthread_cond_broadcast(&m->wake);
}

void mt_matching_free(struct mt_matching *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	forget(m);
	m->quit = true;
	pthread_mutex_unlock(&m->lock);
	if (m->started)
		pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&m->lock);
	if (m->fd >= 0)
		close(m->fd);
	free(m->asked);
	free(m);
}

void mt_matching_start(struct mt_matching *m, const char *text)
{
	int code = 0;

	mt_matching_cancel(m);
	m->asked = mt_strdup(text);
	pthread_mutex_lock(&m->lock);
	m->next = mt_strdup(text);
	m->fraction = 0;
	pthread_cond_broadcast(&m->wake);
	if (!m->started)
		code = pthread_create(&m->thread, NULL, work, m);
	m->started = m->started || !code;
	if (!m->started) {
		free(m->next);
		m->next = NULL;
		m->done = true;
		m->status = mt_fail(&m->err, -code, "no thread can be started to filter in: %s", strerror(code));
		ring(m);
	}
	pthread_mutex_unlock(&m->lock);
}

void mt_matching_cancel(struct mt_matching *m)
{
	pthread_mutex_lock(&m->lock);
	forget(m);
	pthread_mutex_unlock(&m->lock);
	free(m->asked);
	m->asked = NULL;
}

const char *mt_matching_text(const struct mt_matching *m)
{
	return m->asked;
}

bool mt_matching_runs(struct mt_matching *m)
{
	pthread_mutex_lock(&m->lock);
	bool runs = m->running || m->next;

	pthread_mutex_unlock(&m->lock);
	return runs;
}

double mt_matching_progress(struct mt_matching *m, bool *held)
{
	pthread_mutex_lock(&m->lock);
	double fraction = m->fraction;

	*held = m->held;
	pthread_mutex_unlock(&m->lock);
	return fraction;
}

int mt_matching_fd(const struct mt_matching *m)
{
	return m->fd;
}

int mt_matching_collect(struct mt_matching *m, struct mt_matched *out, struct mt_err *err)
{
	uint64_t rung;
	int result = 0;

	while (read(m->fd, &rung, sizeof rung) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&m->lock);
	if (m->done) {
		result = m->status < 0 ? m->status : 1;
		*out = m->result;
		if (m->status < 0)
			*err = m->err;
		m->done = false;
	}
	pthread_mutex_unlock(&m->lock);
	if (result) {
		free(m->asked);
		m->asked = NULL;
	}
	return result;
}
