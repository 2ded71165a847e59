#include "tui/data/job.h"
#include "core/base/buffer.h"
#include "core/base/thread.h"
#include "tui/app.h"
#include "tui/data/bell.h"
#include "tui/user/keymap.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUIET_NS 200000000ull /* until a job is worth a word, and between two words */

struct mt_job {
	struct mt_job *next;
	struct mt_jobs *jobs;
	const struct mt_work *work;
	void *context;
	pthread_t thread;
	uint64_t rung_ns;   /* the thread's */
	atomic_int percent; /* -1: not worth a word yet */
	atomic_bool cancel, finished;
	int result; /* once it is finished */
	struct mt_err err;
};

struct mt_jobs {
	int fd;
	struct mt_job *first; /* the newest */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int mt_job_progress(void *at, double fraction)
{
	struct mt_job *job = at;
	uint64_t now = now_ns();
	int percent = (int)(fraction * 100 + 0.5);

	if (now - job->rung_ns >= QUIET_NS && percent != atomic_load(&job->percent)) {
		job->rung_ns = now;
		atomic_store(&job->percent, percent);
		mt_bell_ring(job->jobs->fd);
	}
	return atomic_load_explicit(&job->cancel, memory_order_relaxed);
}

int mt_job_tell(void *at, const char *what, double fraction)
{
	(void)what;
	return fraction < 0 ? 0 : mt_job_progress(at, fraction);
}

static void *run(void *at)
{
	struct mt_job *job = at;

	job->result = job->work->run(job, job->context, &job->err);
	atomic_store(&job->finished, true);
	mt_bell_ring(job->jobs->fd);
	return NULL;
}

void mt_job_start(struct mt_app *app, const struct mt_work *work, void *context)
{
	struct mt_job *job = mt_alloc(sizeof *job);
	int code;

	if (!app->jobs) {
		app->jobs = mt_alloc(sizeof *app->jobs);
		app->jobs->fd = mt_bell_new();
	}
	job->jobs = app->jobs;
	job->work = work;
	job->context = context;
	job->rung_ns = now_ns();
	atomic_store(&job->percent, -1);
	code = -mt_thread_start(&job->thread, "job", run, job);
	if (code) {
		mt_fail(&job->err, -code, "cannot start a thread: %s", strerror(code));
		work->done(app, context, -code, &job->err);
		free(job);
		return;
	}
	job->next = app->jobs->first;
	app->jobs->first = job;
}

bool mt_jobs_cancel(struct mt_app *app)
{
	for (struct mt_job *job = app->jobs ? app->jobs->first : NULL; job; job = job->next)
		if (job->work->words && !atomic_load(&job->cancel)) {
			atomic_store(&job->cancel, true);
			return true;
		}
	return false;
}

bool mt_jobs_shown(const struct mt_app *app)
{
	for (struct mt_job *job = app->jobs ? app->jobs->first : NULL; job; job = job->next)
		if (job->work->words)
			return true;
	return false;
}

bool mt_jobs_words(struct mt_app *app, char *out, size_t len)
{
	char keys[48];

	for (struct mt_job *job = app->jobs ? app->jobs->first : NULL; job; job = job->next)
		if (job->work->words && atomic_load(&job->percent) >= 0
			&& !atomic_load(&job->cancel)) {
			snprintf(out, len, "%s %d %%   %s", job->work->words,
				atomic_load(&job->percent),
				mt_keymap_words(keys, sizeof keys, "{cancel} cancels"));
			return true;
		}
	return false;
}

int mt_jobs_fd(const struct mt_app *app)
{
	return app->jobs ? app->jobs->fd : -1;
}

static void end(struct mt_app *app, struct mt_job *job)
{
	bool cancelled = atomic_load(&job->cancel);

	pthread_join(job->thread, NULL);
	job->work->done(cancelled ? NULL : app, job->context, job->result, &job->err);
	if (cancelled && app && job->work->words)
		mt_app_say(app, "cancelled: %s", job->work->words);
	free(job);
}

void mt_jobs_collect(struct mt_app *app)
{
	mt_bell_answer(app->jobs->fd);
	if (mt_jobs_shown(app))
		app->dirty = true;
	app->data_dirty = true; /* what nobody asked for waits for its frame */
	for (struct mt_job **at = &app->jobs->first, *job; (job = *at);) {
		if (!atomic_load(&job->finished)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		end(app, job);
		at = &app->jobs->first; /* what was done may have started others */
	}
}

void mt_jobs_free(struct mt_jobs *jobs)
{
	if (!jobs)
		return;
	for (struct mt_job *job = jobs->first; job; job = job->next)
		atomic_store(&job->cancel, true);
	for (struct mt_job *job; (job = jobs->first);) {
		jobs->first = job->next;
		end(NULL, job);
	}
	if (jobs->fd >= 0)
		close(jobs->fd);
	free(jobs);
}
