#include "tui/data/worker.h"
#include "core/base/buffer.h"
#include "core/base/thread.h"
#include "core/capture/clock.h"
#include "tui/data/bell.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RENEW_NS 1000000000u
#define REST 4 /* as often as long as the last pass */

struct mt_worker {
	pthread_t thread;
	bool started;
	int fd;
	double hold; /* a share to stop at; 0: none */
	const struct mt_worker_kind *work;
	/* known to the caller's thread alone: */
	bool asked;
	struct mt_recording *collected;
	/* when the last request came; when it was collected (0: never), and how long it took */
	uint64_t began_ns, done_ns, took_ns;
	/* before the thread is asked: the session that it follows, else "" */
	char session[108];
	pid_t process;
	/* below: by the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	void *next;                   /* request to be taken by the thread */
	struct mt_generation next_of; /* what it is about */
	bool running, held, quit;
	bool left; /* its thread waits for a recorder, and frees it when that is over */
	bool done; /* result and err are those of what is asked */
	int status;
	void *result;
	struct mt_recording *moment; /* that the result borrows from; NULL: a generation */
	uint64_t image;              /* that the session's process is in */
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

/* All that is known now, with the names that are there. NULL on error. */
static struct mt_recording *open_moment(const struct mt_worker *w, uint64_t image,
	struct mt_source *source, struct mt_err *err)
{
	struct mt_recording *r = mt_recording_open_live(w->session, w->process, false, err);

	if (r && mt_client_image(r->client) != image) {
		mt_fail(err, -ESTALE, "the process has just executed another program");
		mt_recording_free(r);
		return NULL;
	}
	if (r) {
		source->profile = r->now.profile;
		source->reader = r->now.reader;
	}
	return r;
}

static void free_worker(struct mt_worker *w)
{
	mt_recording_free(w->collected);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
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
		uint64_t image = w->image;

		w->next = NULL;
		w->next_of = (struct mt_generation){0};
		w->running = true;
		w->fraction = 0;
		atomic_store(&w->cancel, false);
		pthread_mutex_unlock(&w->lock);
		struct mt_recording *moment =
			*w->session ? open_moment(w, image, &source, &err) : NULL;
		int status = *w->session && !moment ? err.code
						    : w->work->run(&source, request, result, &err);

		w->work->free_request(request);
		mt_generation_release(&of);
		pthread_mutex_lock(&w->lock);
		w->running = false;
		if (atomic_load(&w->cancel)) { /* also where it was done before it saw that */
			w->work->free_result(result);
			free(result);
			mt_recording_free(moment);
		} else {
			w->done = true;
			w->status = status;
			w->result = result;
			w->moment = moment;
			w->err = err;
		}
		mt_bell_ring(w->fd);
	}
	bool left = w->left;

	pthread_mutex_unlock(&w->lock);
	if (left)
		free_worker(w);
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

void mt_worker_follow(struct mt_worker *w, const struct mt_recording *of)
{
	const struct mt_session_entry *session = mt_client_entry(of->client);

	pthread_mutex_lock(&w->lock);
	if (!w->started) {
		memcpy(w->session, session->name, sizeof w->session);
		w->process = session->program;
	}
	w->image = of->image;
	pthread_mutex_unlock(&w->lock);
}

struct mt_recording *mt_worker_moment(struct mt_worker *w)
{
	struct mt_recording *moment = w->collected;

	w->collected = NULL;
	return moment;
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
	mt_recording_free(w->moment);
	w->result = NULL;
	w->moment = NULL;
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
	/* a recorder that stands still is not waited for */
	bool started = w->started, left = w->left = *w->session && w->running;
	pthread_t thread = w->thread;

	pthread_mutex_unlock(&w->lock);
	if (left) {
		pthread_detach(thread);
		return;
	}
	if (started)
		pthread_join(thread, NULL);
	free_worker(w);
}

void mt_worker_start(struct mt_worker *w, const struct mt_generation *of, void *request)
{
	int code = 0;

	mt_worker_cancel(w);
	w->asked = true;
	w->began_ns = mt_clock_monotonic_ns();
	pthread_mutex_lock(&w->lock);
	w->next = request;
	/* the totals of a program that runs are to be brought up to date meanwhile */
	if (!*w->session)
		w->next_of = mt_generation_hold(of, !w->work->nameless);
	else if (!w->work->nameless)
		w->next_of = mt_generation_hold_names(of);
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

bool mt_worker_may_renew(const struct mt_worker *w)
{
	uint64_t pause_ns = w->took_ns > RENEW_NS / REST ? w->took_ns * REST : RENEW_NS;

	return *w->session && !w->asked && w->done_ns
		&& mt_clock_monotonic_ns() >= w->done_ns + pause_ns;
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
		mt_recording_free(w->collected);
		w->collected = w->moment;
		w->moment = NULL;
		if (w->status < 0)
			*err = w->err;
		w->done = false;
	}
	pthread_mutex_unlock(&w->lock);
	if (result) {
		w->asked = false;
		w->done_ns = mt_clock_monotonic_ns();
		w->took_ns = w->done_ns - w->began_ns;
	}
	return result;
}
