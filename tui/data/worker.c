#include "tui/data/worker.h"
#include "core/base/buffer.h"
#include "core/base/thread.h"
#include "tui/data/bell.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mt_worker {
	pthread_t thread;
	bool started;
	int fd;
	double hold; /* a share to stop at; 0: none */
	const struct mt_worker_kind *work;
	bool asked; /* known to the caller's thread alone */
	/* below: by the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	void *next;                   /* request to be taken by the thread */
	struct mt_generation next_of; /* what it is about */
	bool running, held, quit;
	bool done; /* result and err are those of what is asked */
	int status;
	void *result;
	struct mt_err err;
	double fraction;
	atomic_bool cancel;
};

static int on_progress(void *context, double fraction)
{
	struct mt_worker *w = context;

	if (atomic_load_explicit(&w->cancel, memory_order_relaxed))
		return 1;
	pthread_mutex_lock(&w->lock);
	w->fraction = fraction;
	if (w->hold > 0 && fraction >= w->hold) {
		w->fraction = w->hold;
		w->held = true;
		mt_bell_ring(w->fd);
		while (!atomic_load(&w->cancel))
			pthread_cond_wait(&w->wake, &w->lock);
		w->held = false;
	}
	pthread_mutex_unlock(&w->lock);
	return atomic_load(&w->cancel);
}

static void *run(void *context)
{
	struct mt_worker *w = context;

	pthread_mutex_lock(&w->lock);
	while (!w->quit) {
		if (!w->next) {
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		struct mt_generation of = w->next_of;
		struct mt_source source = {
			.profile = of.profile,
			.symbols = of.symbols,
			.reader = of.reader,
			.workers = w->work->workers,
			.progress = on_progress,
			.context = w,
		};
		void *result = mt_alloc(w->work->result_size), *request = w->next;
		struct mt_err err = {0};

		w->next = NULL;
		w->next_of = (struct mt_generation){0};
		w->running = true;
		w->fraction = 0;
		atomic_store(&w->cancel, false);
		pthread_mutex_unlock(&w->lock);
		int status = w->work->run(&source, request, result, &err);

		w->work->free_request(request);
		mt_generation_release(&of);
		pthread_mutex_lock(&w->lock);
		w->running = false;
		if (atomic_load(&w->cancel)) { /* also where it was done before it saw that */
			w->work->free_result(result);
			free(result);
		} else {
			w->done = true;
			w->status = status;
			w->result = result;
			w->err = err;
		}
		mt_bell_ring(w->fd);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct mt_worker *mt_worker_new(const struct mt_worker_kind *work)
{
	struct mt_worker *w = mt_alloc(sizeof *w);
	const char *hold = getenv("MEMTUI_TEST_FILTERING");

	*w = (struct mt_worker){
		.work = work,
		.fd = mt_bell_new(),
		.hold = hold && !work->unseen ? atof(hold) : 0,
	};
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	return w;
}

/* With the lock. */
static void drop_next(struct mt_worker *w)
{
	if (w->next)
		w->work->free_request(w->next);
	w->next = NULL;
	mt_generation_release(&w->next_of);
}

/* With the lock. */
static void forget(struct mt_worker *w)
{
	atomic_store(&w->cancel, true);
	drop_next(w);
	if (w->done && w->result)
		w->work->free_result(w->result);
	free(w->result);
	w->result = NULL;
	w->done = w->held = false;
	pthread_cond_broadcast(&w->wake);
}

void mt_worker_free(struct mt_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	forget(w);
	w->quit = true;
	pthread_mutex_unlock(&w->lock);
	if (w->started)
		pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

void mt_worker_start(struct mt_worker *w, const struct mt_generation *of, void *request)
{
	int code = 0;

	mt_worker_cancel(w);
	w->asked = true;
	pthread_mutex_lock(&w->lock);
	w->next = request;
	w->next_of = mt_generation_hold(of, !w->work->nameless);
	w->fraction = 0;
	pthread_cond_broadcast(&w->wake);
	if (!w->started)
		code = -mt_thread_start(&w->thread, "worker", run, w);
	w->started = w->started || !code;
	if (!w->started) {
		drop_next(w);
		w->done = true;
		w->status = mt_fail(&w->err, -code, "cannot start a thread %s: %s", w->work->words,
			strerror(code));
		mt_bell_ring(w->fd);
	}
	pthread_mutex_unlock(&w->lock);
}

void mt_worker_cancel(struct mt_worker *w)
{
	pthread_mutex_lock(&w->lock);
	forget(w);
	pthread_mutex_unlock(&w->lock);
	w->asked = false;
}

bool mt_worker_asked(const struct mt_worker *w)
{
	return w->asked;
}

double mt_worker_progress(struct mt_worker *w, bool *held)
{
	pthread_mutex_lock(&w->lock);
	double fraction = w->fraction;

	*held = w->held;
	pthread_mutex_unlock(&w->lock);
	return fraction;
}

int mt_worker_fd(const struct mt_worker *w)
{
	return w->fd;
}

int mt_worker_collect(struct mt_worker *w, void *out, struct mt_err *err)
{
	int result = 0;

	mt_bell_answer(w->fd);
	pthread_mutex_lock(&w->lock);
	if (w->done) {
		result = w->status < 0 ? w->status : 1;
		if (w->result)
			memcpy(out, w->result, w->work->result_size);
		free(w->result);
		w->result = NULL;
		if (w->status < 0)
			*err = w->err;
		w->done = false;
	}
	pthread_mutex_unlock(&w->lock);
	if (result)
		w->asked = false;
	return result;
}
