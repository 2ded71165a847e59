/* What takes long, in a thread of its own: the screen answers keys meanwhile. One request at a
 * time, the newest one. */
#ifndef MT_TUI_WORKER_H
#define MT_TUI_WORKER_H

#include "core/query/scan.h"
#include "core/recording/recording.h"

/* What a worker does. Requests and what results hold are freed by it, but for a result that was
 * collected. */
struct mt_worker_kind {
	const char *words; /* "to filter in": for what the thread is */
	size_t result_size;
	/* In the thread; what fails leaves an empty result. source: with progress, which also tells
	 * that nobody wants the result any more. */
	int (*run)(const struct mt_source *, const void *request, void *result, struct mt_err *);
	void (*free_request)(void *request);
	void (*free_result)(void *result);
	bool unseen;      /* nobody watches its progress, and no test stops it */
	bool nameless;    /* it reads no names, which may come meanwhile */
	uint32_t workers; /* as of struct mt_source */
};

struct mt_worker;
struct mt_worker *mt_worker_new(const struct mt_worker_kind *);
/* It works on the process of a session that runs, which the recording follows: each request on all
 * that is known when the thread begins with it, by the names of the generation. Before the first
 * request, and where the process has executed another program. */
void mt_worker_follow(struct mt_worker *, const struct mt_recording *);
void mt_worker_free(struct mt_worker *); /* cancels */
/* Takes the request, and holds the generation while it works on it. What was asked before is
 * cancelled; nobody waits for its end. */
void mt_worker_start(struct mt_worker *, const struct mt_generation *, void *request);
void mt_worker_cancel(struct mt_worker *);
/* Whether what it found last may be asked of the process again: a second later, and so that passes
 * take at most a fifth of the time. */
bool mt_worker_may_renew(const struct mt_worker *);
bool mt_worker_asked(const struct mt_worker *); /* something that is not collected yet */
/* Done so far, from 0 to 1. held: a test stopped it there (MEMTUI_TEST_FILTERING is such a
 * share). */
double mt_worker_progress(struct mt_worker *, bool *held);
int mt_worker_fd(const struct mt_worker *); /* readable: there may be something to collect */
/* 0: nothing yet; 1: the result, the caller's; negative: it failed, and err says why. What was
 * asked is no more then. */
int mt_worker_collect(struct mt_worker *, void *result, struct mt_err *err);
/* What the result that was collected last borrows from, if the worker follows a process: the
 * caller's. NULL: the generation. */
struct mt_recording *mt_worker_moment(struct mt_worker *);

#endif
