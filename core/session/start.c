/* The front process: starts the recorder, waits, passes on the program's status. */
#include "core/session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the front process knows of a session. */
struct mt_front {
	struct mt_session *session;
	int report_fd;
	bool has_status, finished, recorder_gone, ignoring;
	int wait_status;
	struct mt_err trouble;
	struct sigaction old_interrupt, old_quit;
	sigset_t old_mask;
};

static void await_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
}

/* The program has the terminal: its keys are for it alone. SIGTERM is waited for, and handed on. */
static void ignore_keys(struct mt_front *f)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	await_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &f->old_mask);
	sigaction(SIGINT, &ignore, &f->old_interrupt);
	sigaction(SIGQUIT, &ignore, &f->old_quit);
	f->ignoring = true;
}

static void heed_keys(struct mt_front *f)
{
	if (!f->ignoring)
		return;
	sigaction(SIGINT, &f->old_interrupt, NULL);
	sigaction(SIGQUIT, &f->old_quit, NULL);
	sigprocmask(SIG_SETMASK, &f->old_mask, NULL);
	f->ignoring = false;
}

/* Waits for the first report: started or refused. */
static int await_start(struct mt_session *s, int fd, struct mt_err *err)
{
	struct mt_report report;
	ssize_t n;

	while ((n = recv(fd, &report, sizeof report, 0)) < 0 && errno == EINTR)
		;
	if (n != sizeof report)
		return mt_fail(err, -ECHILD, "the recorder ended before it could start the program");
	if (report.type == MT_REPORT_REFUSED) {
		if (err)
			*err = report.err;
		return report.err.code;
	}
	s->program = report.program;
	memcpy(s->name, report.name, sizeof s->name);
	s->trace_path = mt_strdup(report.trace_path);
	return 0;
}

static int fork_recorder(struct mt_session *s, const struct mt_session_options *o, struct mt_launch *launch,
	int *report_fd, struct mt_err *err)
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

int mt_session_start(struct mt_session *s, const struct mt_session_options *o, struct mt_err *err)
{
	struct mt_launch launch;
	struct mt_front *f;
	int error, fd = -1;

	*s = (struct mt_session){0};
	if ((error = mt_launch_prepare(&launch, o, err)) < 0)
		return error;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	error = fork_recorder(s, o, &launch, &fd, err);
	if (!error && (error = await_start(s, fd, err)) < 0) {
		waitpid(s->recorder, NULL, 0);
		close(fd);
	}
	mt_launch_free(&launch);
	if (error)
		return error;
	f = mt_alloc(sizeof *f);
	*f = (struct mt_front){.session = s, .report_fd = fd};
	fcntl(fd, F_SETFL, O_NONBLOCK);
	s->front = f;
	if (!o->pty)
		ignore_keys(f);
	return 0;
}

/* ---- waiting --------------------------------------------------------------------------------------- */

static void read_reports(struct mt_front *f)
{
	struct mt_report report;

	while (recv(f->report_fd, &report, sizeof report, MSG_DONTWAIT) == sizeof report) {
		if (report.type == MT_REPORT_EXITED) {
			f->wait_status = report.wait_status;
			f->has_status = true;
		} else if (report.type == MT_REPORT_TROUBLE && !f->trouble.code) {
			f->trouble = report.err;
		} else if (report.type == MT_REPORT_FINISHED) {
			f->finished = true;
		}
	}
}

static void on_child(struct mt_front *f, pid_t pid, int status)
{
	if (pid == f->session->recorder) {
		f->recorder_gone = true;
		read_reports(f);
		if (!f->finished && !f->trouble.code)
			mt_fail(&f->trouble, -ECHILD, "the recorder was killed%s; %s can be opened up to about a second before that",
				WIFSIGNALED(status) ? "" : " or gave up", f->session->trace_path);
	} else if (pid == f->session->program) {
		f->wait_status = status;
		f->has_status = true;
	}
}

/* Until a child has ended; SIGTERM ends the program, and the recorder then ends in order. False: there is no child. */
static bool wait_for_child(struct mt_front *f)
{
	pid_t pid;
	int status = 0;
	sigset_t set;

	await_signals(&set);
	while ((pid = waitpid(-1, &status, f->ignoring ? WNOHANG : 0)) == 0) {
		if (sigwaitinfo(&set, NULL) != SIGTERM)
			continue;
		read_reports(f);
		if (!f->has_status)
			kill(f->session->program, SIGTERM);
	}
	if (pid > 0)
		on_child(f, pid, status);
	return pid > 0 || errno == EINTR;
}

int mt_session_wait(struct mt_session *s, int *wait_status, struct mt_err *err)
{
	struct mt_front *f = s->front;

	while (!(f->recorder_gone && f->has_status) && wait_for_child(f))
		;
	heed_keys(f);
	if (wait_status)
		*wait_status = f->wait_status;
	if (err)
		*err = f->trouble;
	if (!f->has_status)
		return 1;
	return WIFSIGNALED(f->wait_status) ? 128 + WTERMSIG(f->wait_status) : WEXITSTATUS(f->wait_status);
}

int mt_session_poll(struct mt_session *s, int *wait_status)
{
	struct mt_front *f = s->front;
	int status;

	read_reports(f);
	if (!f->recorder_gone && waitpid(s->recorder, &status, WNOHANG) == s->recorder)
		on_child(f, s->recorder, status);
	if (!f->has_status && f->recorder_gone && waitpid(s->program, &status, WNOHANG) == s->program)
		on_child(f, s->program, status);
	if (f->has_status && wait_status)
		*wait_status = f->wait_status;
	return f->has_status;
}

void mt_session_free(struct mt_session *s)
{
	if (s->front) {
		heed_keys(s->front);
		close(s->front->report_fd);
		free(s->front);
	}
	free(s->trace_path);
	*s = (struct mt_session){0};
}
