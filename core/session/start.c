/* The front process: starts the recorder, waits, passes on the program's status. */
#include "core/session/client.h"
#include "core/session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAILURES_MAX 50 /* PAUSE_MS apart */
#define PAUSE_MS 10

/* What the front process knows of a session. */
struct mt_front {
	struct mt_session *session;
	int report_fd;
	int signal_fd;
	bool has_status, finished, recorder_gone, goes_on;
	bool masked; /* the mask of signals is not as it was; ignoring: nor are ^C and ^\ */
	bool ignoring;
	void (*at_end)(void *context, const struct mt_session *, pid_t);
	void *at_end_context;
	bool attached;  /* the program is no child of the recorder's */
	bool detaching; /* that was asked for */
	int wait_status;
	unsigned failures;     /* of waiting, in a row */
	struct mt_err trouble; /* the first, or the first that is the session's or the root's */
	uint32_t troubles;
	bool of_root;
	struct sigaction old_interrupt, old_quit;
	sigset_t old_mask;
};

static void await_signals(sigset_t *set, bool attached)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
	if (attached)
		sigaddset(set, SIGINT);
}

/* SIGTERM is waited for, and handed on, or detaches, as ^C does then. */
static void block_signals(struct mt_front *f)
{
	sigset_t set;

	await_signals(&set, f->attached);
	sigprocmask(SIG_BLOCK, &set, &f->old_mask);
	f->masked = true;
}

/* The program has the terminal: its keys are for it alone. */
static void ignore_keys(struct mt_front *f)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	block_signals(f);
	sigaction(SIGINT, &ignore, &f->old_interrupt);
	sigaction(SIGQUIT, &ignore, &f->old_quit);
	f->ignoring = true;
}

static void heed_keys(struct mt_front *f)
{
	if (f->ignoring) {
		sigaction(SIGINT, &f->old_interrupt, NULL);
		sigaction(SIGQUIT, &f->old_quit, NULL);
	}
	if (f->masked)
		sigprocmask(SIG_SETMASK, &f->old_mask, NULL);
	f->ignoring = f->masked = false;
}

static void pause_after_failure(void)
{
	nanosleep(&(struct timespec){0, PAUSE_MS * 1000000}, NULL);
}

/* Waits for the first report: started, refused, or a later one if the kernel had no room for the
 * first. A kernel that is short of memory is asked again. */
static int await_start(struct mt_session *s, int fd, struct mt_notice *report, struct mt_err *err)
{
	unsigned failures = 0;
	ssize_t n;

	while ((n = recv(fd, report, sizeof *report, 0)) < 0 && failures < FAILURES_MAX)
		if (errno != EINTR && ++failures)
			pause_after_failure();
	if (n < 0)
		return mt_fail(err, -errno,
			"cannot receive messages of the recorder: %s; the program ran, but "
			"its exit "
			"status is unknown",
			strerror(errno));
	if (n != sizeof *report)
		return mt_fail(err, -ECHILD, "the recorder ended before it could %s",
			s->attached ? "attach to the process" : "start the program");
	if (report->type == MT_NOTICE_REFUSED) {
		if (err)
			*err = report->err;
		return report->err.code;
	}
	s->program = report->program;
	s->still_ns = report->still_ns;
	memcpy(s->name, report->name, sizeof s->name);
	s->trace_path = mt_strdup(report->trace_path);
	return 0;
}

static int fork_recorder(struct mt_session *s, const struct mt_session_options *o,
	struct mt_launch *launch, int *report_fd, struct mt_err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return mt_fail(err, -errno, "cannot create a socket: %s", strerror(errno));
	s->recorder = fork();
	if (s->recorder == 0) {
		close(pair[0]);
		mt_recorder_run(o, launch, pair[1]);
	}
	close(pair[1]);
	*report_fd = pair[0];
	if (s->recorder > 0)
		return 0;
	close(pair[0]);
	return mt_fail(err, -errno, "cannot create a process: %s", strerror(errno));
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* A thousand children may have the same: one is said, the root's before any other, and the rest is
 * counted. */
static void add_trouble(struct mt_front *f, const struct mt_err *err, bool of_root)
{
	f->troubles++;
	if (f->troubles == 1 || (of_root && !f->of_root))
		f->trouble = *err;
	f->of_root |= of_root;
}

static void say_how_many(struct mt_front *f)
{
	size_t len = strlen(f->trouble.text);

	if (f->troubles > 1)
		snprintf(f->trouble.text + len, sizeof f->trouble.text - len, " (and %u more)",
			f->troubles - 1);
	f->troubles = f->troubles > 0;
}

/* Somebody looks at a process that is at its end, and then it may end. */
static void judge(struct mt_front *f, pid_t process)
{
	struct mt_err ignored;

	f->at_end(f->at_end_context, f->session, process);
	int fd = mt_session_connect(f->session->name, &ignored);

	if (fd < 0)
		return; /* nor does it wait for a recorder that is gone */
	mt_session_hello(fd, MT_MESSAGE_JUDGED, process, &ignored);
	close(fd);
}

static void on_report(struct mt_front *f, const struct mt_notice *report)
{
	struct mt_session *s = f->session;

	switch (report->type) {
	case MT_NOTICE_EXITED:
		f->wait_status = report->wait_status;
		f->has_status = true;
		break;
	case MT_NOTICE_TROUBLE:
		add_trouble(f, &report->err, !report->watch || report->watch == s->program);
		break;
	case MT_NOTICE_PROCESS:
		MT_GROW(s->processes, s->process_count, s->process_capacity);
		s->processes[s->process_count++] = report->process;
		s->untraced += report->process.untraced;
		s->failed |= report->process.failed && report->process.pid == s->program;
		break;
	case MT_NOTICE_GOES_ON:
		f->goes_on = true;
		s->going_on = report->count;
		s->going_on_pid = report->watch;
		s->untraced += report->untraced;
		break;
	case MT_NOTICE_ENDING: judge(f, report->watch); break;
	case MT_NOTICE_SNAPSHOT:
		MT_GROW(s->snapshots, s->snapshot_count, s->snapshot_capacity);
		s->snapshots[s->snapshot_count++] = mt_strdup(report->err.text);
		break;
	case MT_NOTICE_DETACHED:
		s->detached = true;
		if (report->err.code)
			add_trouble(f, &report->err, false);
		break;
	case MT_NOTICE_FINISHED:
		f->finished = true;
		if (!f->goes_on)
			s->untraced += report->untraced;
		break;
	default: break;
	}
}

int mt_session_start(struct mt_session *s, const struct mt_session_options *o, struct mt_err *err)
{
	struct mt_launch launch;
	struct mt_notice first;
	struct mt_front *f;
	int error, fd = -1;

	*s = (struct mt_session){0};
	if ((error = mt_launch_prepare(&launch, o, err)) < 0)
		return error;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	f = mt_alloc(sizeof *f);
	*f = (struct mt_front){.session = s,
		.at_end = o->at_end,
		.at_end_context = o->at_end_context,
		.attached = o->attach != 0};
	s->attached = f->attached;
	if (f->attached && !o->watched) /* a ^C that comes too early detaches soon */
		block_signals(f);
	error = fork_recorder(s, o, &launch, &fd, err);
	if (!error && (error = await_start(s, fd, &first, err)) < 0) {
		waitpid(s->recorder, NULL, 0);
		close(fd);
	}
	mt_launch_free(&launch);
	if (error) {
		heed_keys(f);
		free(f);
		return error;
	}
	f->report_fd = fd;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	s->front = f;
	on_report(f, &first);
	if (!o->pty && !o->terminal && !f->attached)
		ignore_keys(f);
	return 0;
}

void mt_session_unwatched(struct mt_session *s)
{
	shutdown(s->front->report_fd, SHUT_WR);
}

static void read_reports(struct mt_front *f)
{
	struct mt_notice report;

	while (recv(f->report_fd, &report, sizeof report, MSG_DONTWAIT) == sizeof report)
		on_report(f, &report);
}

/* The recorder says why it ends in order, but cannot if it has no memory left. */
static void add_end_of_recorder(struct mt_front *f, int status)
{
	const char *path = f->session->trace_path;
	struct mt_err err;

	mt_output_remove_empty(path);
	mt_fail(&err, -ECHILD, "the recorder %s; %s",
		WIFSIGNALED(status) ? "was killed" : "gave up, probably because memory ran out",
		access(path, F_OK) < 0 ? "nothing was recorded"
				       : "the trace ends about a second before that");
	add_trouble(f, &err, true);
}

static void on_child(struct mt_front *f, pid_t pid, int status)
{
	if (pid == f->session->recorder) {
		f->recorder_gone = true;
		read_reports(f);
		if (!f->finished && !f->of_root)
			add_end_of_recorder(f, status);
	} else if (pid == f->session->program) {
		f->wait_status = status;
		f->has_status = true;
	}
}

/* The answer comes as a report, when the program is as before. A second ^C changes nothing. */
static void detach(struct mt_front *f)
{
	struct mt_err ignored = {0};

	if (f->detaching || f->has_status)
		return;
	int fd = mt_session_connect(f->session->name, &ignored);

	if (fd < 0)
		return; /* the recorder is gone, or the next ^C is heard */
	f->detaching = mt_session_hello(fd, MT_MESSAGE_DETACH, 0, &ignored) == 0;
	close(fd);
}

/* SIGTERM ends the program, and the recorder then ends in order. An attached program is left alone:
 * it was there before. */
static void on_signal(struct mt_front *f)
{
	struct signalfd_siginfo signal;

	if (read(f->signal_fd, &signal, sizeof signal) != sizeof signal
		|| signal.ssi_signo == SIGCHLD)
		return;
	read_reports(f);
	if (f->attached)
		detach(f);
	else if (!f->has_status)
		kill(f->session->program, SIGTERM);
}

/* Returns whether waiting for children, which has failed, may succeed yet. */
static bool asks_again(struct mt_front *f, pid_t pid)
{
	if (pid > 0 || errno == EINTR) {
		f->failures = 0;
		return pid < 0;
	}
	return errno != ECHILD && ++f->failures < FAILURES_MAX;
}

/* Until something has happened: a report, a signal, the end of a child. False: there is no
 * child, or none can be waited for. */
static bool wait_for_news(struct mt_front *f)
{
	/* without a recorder its end of the socket is closed for good: only children tell then */
	struct pollfd fds[] = {
		{f->recorder_gone ? -1 : f->report_fd, POLLIN, 0},
		{f->signal_fd, POLLIN, 0},
	};
	pid_t pid;
	int status = 0;

	while ((pid = waitpid(-1, &status, WNOHANG)) == 0 || asks_again(f, pid)) {
		if (poll(fds, 2, f->failures ? PAUSE_MS : 1000) < 0 && errno != EINTR)
			pause_after_failure();
		if (fds[1].revents)
			on_signal(f);
		if (fds[0].revents & POLLIN)
			read_reports(f);
		if (f->goes_on)
			return true;
		if (fds[0].revents & POLLHUP) /* all is read, and the kernel would tell again */
			fds[0].fd = -1;
		fds[0].revents = fds[1].revents = 0;
	}
	if (pid > 0)
		on_child(f, pid, status);
	return pid > 0;
}

/* SIGCHLD and SIGTERM by descriptor, beside the reports; without a terminal interface they are
 * blocked already. */
static void open_signals(struct mt_front *f, sigset_t *old)
{
	sigset_t set;

	await_signals(&set, f->attached);
	if (!f->masked) {
		sigdelset(&set, SIGTERM);
		sigdelset(&set, SIGINT);
	}
	sigprocmask(SIG_BLOCK, &set, old);
	f->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void add_unknown_end(struct mt_front *f)
{
	struct mt_err err;

	read_reports(f);
	if (f->has_status)
		return;
	mt_fail(&err, -ECHILD, "cannot wait for the program %d: %s; its exit status is unknown",
		(int)f->session->program, strerror(errno));
	add_trouble(f, &err, true);
}

int mt_session_wait(struct mt_session *s, int *wait_status, struct mt_err *err)
{
	struct mt_front *f = s->front;
	sigset_t old;

	open_signals(f, &old);
	read_reports(f);
	while (!f->goes_on && !(f->recorder_gone && (f->has_status || f->attached))
		&& wait_for_news(f))
		;
	close(f->signal_fd);
	sigprocmask(SIG_SETMASK, &old, NULL);
	heed_keys(f);
	if (!f->has_status && !f->goes_on && !f->attached)
		add_unknown_end(f);
	if (wait_status)
		*wait_status = f->wait_status;
	say_how_many(f);
	if (err)
		*err = f->trouble;
	if (f->attached) /* whose end is not ours to pass on */
		return (f->finished || f->goes_on) && !s->failed ? 0 : 1;
	if (!f->has_status)
		return 1;
	return WIFSIGNALED(f->wait_status) ? 128 + WTERMSIG(f->wait_status)
					   : WEXITSTATUS(f->wait_status);
}

int mt_session_poll(struct mt_session *s, int *wait_status)
{
	struct mt_front *f = s->front;
	int status;

	read_reports(f);
	if (!f->recorder_gone && waitpid(s->recorder, &status, WNOHANG) == s->recorder)
		on_child(f, s->recorder, status);
	if (!f->has_status && f->recorder_gone
		&& waitpid(s->program, &status, WNOHANG) == s->program)
		on_child(f, s->program, status);
	if (f->has_status && wait_status)
		*wait_status = f->wait_status;
	return f->has_status;
}

const char *mt_session_trouble(const struct mt_session *s)
{
	return s->front->of_root ? s->front->trouble.text : NULL;
}

int mt_session_fd(const struct mt_session *s)
{
	return s->front->recorder_gone ? -1 : s->front->report_fd;
}

void mt_session_free(struct mt_session *s)
{
	if (s->front) {
		heed_keys(s->front);
		close(s->front->report_fd);
		free(s->front);
	}
	free(s->trace_path);
	free(s->processes);
	for (uint32_t i = 0; i < s->snapshot_count; i++)
		free(s->snapshots[i]);
	free(s->snapshots);
	*s = (struct mt_session){0};
}
