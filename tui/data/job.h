/* Work that may take long, in threads; what came of it is taken over in the loop. */
#ifndef MT_TUI_JOB_H
#define MT_TUI_JOB_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_app;
struct mt_job;
struct mt_jobs;

struct mt_work {
	/* In a thread. Returns 0 or a negative errno with err. */
	int (*run)(struct mt_job *, void *context, struct mt_err *err);
	/* In the loop, once; context is its own to free. app NULL: the screen is closed, or the
	 * work was cancelled. */
	void (*done)(struct mt_app *, void *context, int result, const struct mt_err *err);
	/* with the progress in the status line; NULL: not shown, and Esc does not cancel it */
	const char *words;
};

/* Takes context. */
void mt_job_start(struct mt_app *, const struct mt_work *, void *context);
/* Of the form that loaders want; context: the job. Non-zero: stop. */
int mt_job_progress(void *job, double fraction);
/* The same for the opening of a recording. */
int mt_job_tell(void *job, const char *what, double fraction);
/* The newest one that is shown; false: none. */
bool mt_jobs_cancel(struct mt_app *);
bool mt_jobs_shown(const struct mt_app *); /* one that is shown runs */
/* What the status line says of it; false: nothing runs that is shown. */
bool mt_jobs_words(struct mt_app *, char *out, size_t len);

/* ---- for the loop ---- */
int mt_jobs_fd(const struct mt_app *); /* poll for reading; -1: there was no job yet */
void mt_jobs_collect(struct mt_app *);
void mt_jobs_free(struct mt_jobs *); /* cancels all and waits for them */

#endif
