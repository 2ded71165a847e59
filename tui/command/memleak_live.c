/* 'memtui leaks' on a program that runs: asks its recorder for what lives, every now and then. */
#include "core/capture/import.h"
#include "tui/command/memleak.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define LOOKS 100 /* at a process that ends, and at its trace, which is then completed */
#define LOOK_MS 100

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

struct watch {
	struct mt_memleak *command;
	struct mt_recording *recording;
	char trace_path[512];
	uint64_t image; /* of the last report: with another one, another trace begins */
	struct sigaction old_interrupt, old_end, old_pipe;
	sigset_t old_mask, waiting; /* waiting: while nothing else is done */
};

/* ---- waiting --------------------------------------------------------------------------------- */

/* A signal is heard only where nothing is half printed. */
static void hear_signals(struct watch *w)
{
	struct sigaction action = {.sa_handler = interrupt}, ignore = {.sa_handler = SIG_IGN};
	sigset_t ours;

	interrupted = 0;
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigprocmask(SIG_BLOCK, &ours, &w->old_mask);
	w->waiting = w->old_mask;
	sigdelset(&w->waiting, SIGINT);
	sigdelset(&w->waiting, SIGTERM);
	sigaction(SIGINT, &action, &w->old_interrupt);
	sigaction(SIGTERM, &action, &w->old_end);
	sigaction(SIGPIPE, &ignore, &w->old_pipe); /* a report that nobody reads is an error */
}

static void ignore_signals(const struct watch *w)
{
	sigaction(SIGINT, &w->old_interrupt, NULL);
	sigaction(SIGTERM, &w->old_end, NULL);
	sigaction(SIGPIPE, &w->old_pipe, NULL);
	sigprocmask(SIG_SETMASK, &w->old_mask, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool has_ended(const struct watch *w)
{
	return !w->recording->live;
}

/* Until a moment; not longer than the program lives, or nobody interrupts. */
static void wait_until(struct watch *w, uint64_t until_ns)
{
	for (uint64_t now; !interrupted && !has_ended(w) && (now = now_ns()) < until_ns;) {
		struct pollfd news = {mt_client_fd(w->recording->client), POLLIN, 0};
		struct timespec left = {(time_t)((until_ns - now) / 1000000000u),
			(long)((until_ns - now) % 1000000000u)};

		if (ppoll(&news, 1, &left, &w->waiting) > 0)
			mt_recording_update(w->recording, true);
	}
}

/* ---- reports --------------------------------------------------------------------------------- */

static bool is_combined(const struct watch *w)
{
	return w->command->arguments->combined && !w->command->arguments->show_calls;
}

/* Totals are published by themselves; all else the recorder writes out when it is asked. */
static int ask(struct watch *w, uint64_t *moment_ns, struct mt_err *err)
{
	if (!is_combined(w))
		return mt_recording_take_live(w->recording, moment_ns, w->trace_path, err);
	mt_recording_update(w->recording, true);
	*moment_ns = w->recording->now.profile->info.wall_ns;
	return 0;
}

/* The recorder, or its process, was gone when it was asked: then the end is told soon. */
static bool sees_end(struct watch *w, int status)
{
	struct pollfd news = {mt_client_fd(w->recording->client), POLLIN, 0};

	if (status != -ESRCH && status != -ECONNREFUSED && status != -EPIPE)
		return has_ended(w);
	for (unsigned looks = 0; looks < LOOKS && !has_ended(w); looks++) {
		poll(&news, 1, LOOK_MS);
		mt_recording_update(w->recording, true);
	}
	return has_ended(w);
}

/* An executed program has a trace of its own. */
static void see_image(struct watch *w)
{
	uint64_t image = mt_client_image(w->recording->client);

	if (w->image != image)
		mt_memleak_forget_calls(w->command);
	w->image = image;
}

static int report(struct watch *w, struct mt_err *err)
{
	uint64_t moment_ns;
	int status = ask(w, &moment_ns, err);

	if (has_ended(w) || (status < 0 && sees_end(w, status)))
		return 0; /* the last report tells it */
	if (status == -ENODATA)
		return mt_memleak_report_nothing(w->command, err);
	if (status < 0)
		return status;
	mt_recording_await_names(w->recording);
	see_image(w);
	status = mt_memleak_calls(w->command, &w->recording->now, err);
	return status ? status
		      : mt_memleak_report(w->command, &w->recording->now, MT_OUTSTANDING_NOW,
			      moment_ns, err);
}

static bool is_complete(const char *path)
{
	struct mt_trace_reader *r = mt_trace_reader_open(path, NULL);
	bool complete = r && mt_trace_reader_complete(r);

	mt_trace_reader_free(r);
	return complete;
}

/* Its recorder completes the trace: the names take a moment. If it cannot, the trace is read as it
 * is. */
static struct mt_recording *open_ended(const struct watch *w, struct mt_err *err)
{
	static const struct mt_open_options options;

	for (unsigned looks = 0; looks < LOOKS && !interrupted && !w->recording->lost_recorder
		&& !is_complete(w->trace_path);
		looks++) {
		struct timespec pause = {0, LOOK_MS * 1000000l};

		ppoll(NULL, 0, &pause, &w->waiting);
	}
	return mt_recording_open(w->trace_path, &options, err);
}

static int report_file(struct mt_memleak *c, struct mt_recording *r, struct mt_err *err)
{
	static const struct mt_open_options options;

	mt_recording_complete_names(r, &options, NULL, err);
	int status = mt_memleak_calls(c, &r->now, err);

	return status ? status
		      : mt_memleak_report(c, &r->now, MT_OUTSTANDING_NOW,
			      r->now.profile->info.wall_ns, err);
}

static int last_report(struct watch *w, struct mt_err *err)
{
	if (w->recording->lost_recorder && !w->recording->now.profile->info.ended)
		mt_command_say("the recorder of process %d is gone: the last report is of what it "
			       "has written",
			(int)mt_client_entry(w->recording->client)->program);
	if (is_combined(w)) {
		mt_recording_await_names(w->recording);
		return mt_memleak_report(w->command, &w->recording->now, MT_OUTSTANDING_NOW,
			w->recording->now.profile->info.wall_ns, err);
	}
	see_image(w);
	struct mt_recording *r = open_ended(w, err);

	if (!r)
		return err->code;
	mt_recording_read_names(r, NULL);
	int status = report_file(w->command, r, err);

	mt_recording_free(r);
	return status;
}

/* Its last events are in the file when it has ended. */
static bool is_being_written(pid_t process)
{
	bool inherited;
	char *path = mt_import_of_process(process, &inherited);

	free(path);
	return path;
}

static bool is_enough(const struct mt_memleak *c)
{
	return c->most && c->printed >= c->most;
}

/* ---- a program that records itself ---------------------------------------------------------- */

int mt_memleak_watch_file(struct mt_memleak *c, const char *path, pid_t process, struct mt_err *err)
{
	static const struct mt_open_options options = {.events = true};
	struct watch w = {.command = c};
	uint64_t at_ns = now_ns();
	bool live = true;
	int status;

	hear_signals(&w);
	printf("Attaching to pid %d, Ctrl+C to quit.\n", (int)process);
	status = mt_memleak_written(err);
	while (!status && live && !interrupted && !is_enough(c)) {
		at_ns += c->interval_ns;
		for (uint64_t now; !interrupted && (now = now_ns()) < at_ns;) {
			struct timespec left = {(time_t)((at_ns - now) / 1000000000u),
				(long)((at_ns - now) % 1000000000u)};

			ppoll(NULL, 0, &left, &w.waiting);
		}
		w.recording = mt_recording_open(path, &options, err);
		status = w.recording ? report_file(c, w.recording, err) : err->code;
		live = w.recording && is_being_written(process);
		mt_recording_free(w.recording);
	}
	ignore_signals(&w);
	return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int watch(struct watch *w, struct mt_err *err)
{
	struct mt_memleak *c = w->command;
	uint64_t at_ns = now_ns(), moment_ns;
	int status;

	if (!is_combined(w))
		mt_client_interval(w->recording->client, 0); /* it publishes when it is asked */
	status = ask(w, &moment_ns, err);
	if (status < 0 && status != -ENODATA && !sees_end(w, status))
		return status;
	printf("Attaching to pid %d, Ctrl+C to quit.\n",
		(int)mt_client_entry(w->recording->client)->program);
	status = mt_memleak_written(err);
	while (!status && !interrupted && !has_ended(w) && !is_enough(c)) {
		at_ns += c->interval_ns;
		wait_until(w, at_ns);
		if (has_ended(w))
			break;
		status = report(w, err);
		if (now_ns() > at_ns + c->interval_ns) /* reports that are late are left out */
			at_ns = now_ns();
	}
	if (status || !has_ended(w) || is_enough(c))
		return status;
	if (!*w->trace_path) /* the program was over before it was asked: the root's trace */
		snprintf(w->trace_path, sizeof w->trace_path, "%s",
			mt_client_entry(w->recording->client)->trace_path);
	return last_report(w, err);
}

int mt_memleak_watch(struct mt_memleak *c, const char *session, pid_t process, bool *ended,
	struct mt_err *err)
{
	struct watch w = {
		.command = c,
		.recording = mt_recording_attach(session, process, err),
	};

	*ended = false;
	if (!w.recording)
		return err->code;
	hear_signals(&w);
	int status = watch(&w, err);

	*ended = has_ended(&w);
	ignore_signals(&w);
	mt_recording_free(w.recording);
	return status;
}
