/* The recorder process: starts the program, drains its rings, completes the trace. */
#include "core/session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define THREAD_STACK (8u << 20)

/* ---- starting -------------------------------------------------------------------------------- */

void mt_recorder_report(struct mt_recorder *r, struct mt_report *message)
{
	message->program = r->program;
	memcpy(message->name, r->name, sizeof message->name);
	if (r->trace_path)
		strncpy(message->trace_path, r->trace_path, sizeof message->trace_path - 1);
	send(r->report_fd, message, sizeof *message, MSG_NOSIGNAL);
}

void mt_recorder_trouble(struct mt_recorder *r, const struct mt_err *err)
{
	struct mt_report message = {.type = MT_REPORT_TROUBLE, .err = *err};

	mt_recorder_report(r, &message);
}

void mt_recorder_trouble_of(struct mt_recorder *r, const struct mt_process *p,
	const struct mt_err *err)
{
	struct mt_report message = {.type = MT_REPORT_TROUBLE, .watch = p->pid, .err = *err};

	mt_recorder_report(r, &message);
}

uint32_t mt_recorder_untraced(struct mt_recorder *r)
{
	uint32_t count = 0;

	pthread_mutex_lock(&r->lock);
	for (uint32_t i = 0; i < r->process_count; i++)
		count += (uint32_t)(r->processes[i]->untold > 0 ? r->processes[i]->untold : 0);
	pthread_mutex_unlock(&r->lock);
	return count;
}

static _Noreturn void refuse(struct mt_recorder *r, const struct mt_err *err)
{
	struct mt_report message = {.type = MT_REPORT_REFUSED, .err = *err};

	mt_recorder_report(r, &message);
	_exit(1);
}

int mt_recorder_new_segment(struct mt_recorder *r, pid_t pid, struct mt_segment *s,
	struct mt_err *err)
{
	const struct mt_session_options *o = r->options;
	struct rlimit space = r->launch.address_space;

	/* its own by now; not to be had of another user's process */
	prlimit(pid, RLIMIT_AS, NULL, &space);
	struct mt_segment_options options = {
		.address_limit = space.rlim_cur,
		.clock = r->clock.kind,
		.depth_limit = o->depth_limit,
		.flags = (o->free_stacks ? MT_SEGMENT_FREE_STACKS : 0)
			| (o->slack ? MT_SEGMENT_SLACK : 0)
			| (o->check_stacks ? MT_SEGMENT_CHECK : 0)
			| (o->drop_when_full ? MT_SEGMENT_DROP : 0)
			| (o->no_follow ? MT_SEGMENT_NO_FOLLOW : 0),
		.paused = atomic_load(&r->paused),
	};
	struct rlimit file;

	getrlimit(RLIMIT_FSIZE, &file);
	options.file_limit = file.rlim_cur;
	return mt_segment_create(s, &options, &r->alive, err);
}

/* The recorder's own limits are as wide as they may be; the program gets the old ones. */
static void widen(int resource)
{
	struct rlimit limit;

	getrlimit(resource, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

/* Those of threads, whose size was taken from the limit when memtui began: to look up names takes
 * more than a small one. */
static void widen_stacks(void)
{
	pthread_attr_t defaults;
	size_t size = 0;

	widen(RLIMIT_STACK);
	if (pthread_getattr_default_np(&defaults) != 0)
		return;
	pthread_attr_getstacksize(&defaults, &size);
	if (size < THREAD_STACK) {
		pthread_attr_setstacksize(&defaults, THREAD_STACK);
		pthread_setattr_default_np(&defaults);
	}
	pthread_attr_destroy(&defaults);
}

static int open_terminal(struct mt_recorder *r, struct mt_err *err)
{
	struct winsize size = {.ws_row = r->options->rows, .ws_col = r->options->columns};

	r->master_fd = -1;
	if (!r->options->pty)
		return 0;
	r->master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (r->master_fd < 0 || grantpt(r->master_fd) < 0 || unlockpt(r->master_fd) < 0)
		return mt_fail(err, -errno, "cannot create a pseudo-terminal: %s", strerror(errno));
	ioctl(r->master_fd, TIOCSWINSZ, &size);
	return 0;
}

static int prepare(struct mt_recorder *r, struct mt_err *err)
{
	uint8_t random[MT_WIRE_TOKEN_LEN / 2];
	struct timespec now;
	int error;

	widen(RLIMIT_AS);
	widen(RLIMIT_DATA);
	widen_stacks();
	widen(RLIMIT_FSIZE);
	widen(RLIMIT_NOFILE);
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return mt_fail(err, -errno, "cannot get random bytes: %s", strerror(errno));
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(r->token + 2 * i, 3, "%02x", random[i]);
	mt_alive_init(&r->alive);
	mt_clock_start(&r->clock);
	clock_gettime(CLOCK_REALTIME, &now);
	r->start_unix_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	if ((error = mt_service_listen(r, err)) < 0 || (error = open_terminal(r, err)) < 0)
		return error;
	mt_service_listen_by_file(r);
	return 0;
}

/* In the child: a new terminal, or that of another window, which may be the controlling terminal of
 * a shell there. */
static int take_terminal(struct mt_recorder *r)
{
	const char *name = r->master_fd >= 0 ? ptsname(r->master_fd) : r->options->terminal;
	int fd, error = 0;

	setsid();
	fd = name ? open(name, O_RDWR | O_NOCTTY) : -1;
	if (fd < 0 || (ioctl(fd, TIOCSCTTY, 0) < 0 && r->master_fd >= 0))
		error = errno;
	for (int to = 0; !error && to < 3; to++)
		dup2(fd, to);
	if (fd > 2)
		close(fd);
	return error;
}

/* In the child: signals and limits as the front process had them, its terminal or a new one. */
static void become_program(struct mt_recorder *r, int go, int failed, char **environment)
{
	int error = 0;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	if (r->master_fd >= 0 || r->options->terminal) {
		error = take_terminal(r);
	} else if (!strcmp(r->trace_path ? r->trace_path : "", "-")) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	if (!error)
		error = mt_launch_execute(&r->launch, r->options->argv, environment);
	if (write(failed, &error, sizeof error) < 0)
		_exit(126);
	_exit(127);
}

/* Nothing was written to it. */
static void remove_output(const char *path)
{
	if (mt_output_is_regular(path))
		unlink(path);
}

static int let_go(const struct mt_recorder *r, int go, int failed, struct mt_err *err)
{
	int error = 0;

	if (write(go, "", 1) != 1)
		return mt_fail(err, -errno, "cannot start the program: %s", strerror(errno));
	while (read(failed, &error, sizeof error) < 0 && errno == EINTR)
		;
	if (!error)
		return 0;
	return mt_fail(err, -error, "%s: cannot be executed: %s", r->options->argv[0],
		strerror(error));
}

static bool is_program(const struct mt_recorder *r, const char *path)
{
	struct stat program, file;

	return stat(r->launch.path, &program) == 0 && stat(path, &file) == 0
		&& program.st_dev == file.st_dev && program.st_ino == file.st_ino;
}

/* Opens the output once the pid, which may be part of its name, is known; then lets the child go. A
 * file that is to be replaced is so only when the program runs; readers of the old one keep it. */
static int release_program(struct mt_recorder *r, int go, int failed, struct mt_err *err)
{
	const struct mt_session_options *o = r->options;
	struct mt_earlier earlier = {0};
	char *aside = NULL;
	int error;

	r->trace_path = mt_output_path(o->output, r->launch.path, r->program);
	r->single = mt_output_is_single(o->output, r->trace_path);
	if (is_program(r, r->trace_path))
		return mt_fail(err, -EINVAL,
			"%s: is the program, and stays as it is; choose another name",
			r->trace_path);
	if (o->force && mt_output_is_regular(r->trace_path)) {
		aside = mt_format("%s.%d.new", r->trace_path, (int)getpid());
		mt_earlier_list(&earlier, r->trace_path);
	}
	r->output_fd = mt_output_open(aside ? aside : r->trace_path, err);
	error = r->output_fd < 0 ? r->output_fd : 0;
	if (!error && o->max_bytes && !mt_output_is_regular(aside ? aside : r->trace_path))
		error = mt_fail(err, -EINVAL,
			"%s: is a stream, of which nothing can "
			"be taken back; --max-size needs a file",
			r->trace_path);
	if (!error) {
		mt_clock_restart(&r->clock);
		error = let_go(r, go, failed, err);
		if (error)
			remove_output(aside ? aside : r->trace_path);
		else if (aside && rename(aside, r->trace_path) < 0)
			error = mt_fail(err, -errno, "cannot replace %s: %s", r->trace_path,
				strerror(errno));
		if (!error) /* before anybody is answered, so that no new file can be meant */
			mt_earlier_remove(&earlier);
	}
	mt_earlier_free(&earlier);
	free(aside);
	return error;
}

static int start_program(struct mt_recorder *r, struct mt_err *err)
{
	char *session = mt_service_session(r);
	char **environment = mt_launch_environment(&r->launch, session, r->options->pty);
	int go[2], failed[2], error;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
		return mt_fail(err, -errno, "cannot create a pipe: %s", strerror(errno));
	r->trace_path =
		r->options->output && !strcmp(r->options->output, "-") ? mt_strdup("-") : NULL;
	r->program = fork();
	if (r->program < 0)
		return mt_fail(err, -errno, "cannot create a process: %s", strerror(errno));
	if (r->program == 0) {
		close(go[1]);
		close(failed[0]);
		become_program(r, go[0], failed[1], environment);
	}
	close(go[0]);
	close(failed[1]);
	free(r->trace_path);
	error = release_program(r, go[1], failed[0], err);
	close(go[1]);
	close(failed[0]);
	free(environment);
	free(session);
	if (error) {
		kill(r->program, SIGKILL);
		waitpid(r->program, NULL, 0);
	}
	return error;
}

/* Out of the user's session, so that neither hang-up nor ^C ends the recording; nor a SIGTERM to
 * all at once: it ends when what it records has ended. */
static void leave_session(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGTTIN,
		SIGTTOU, SIGXFSZ, SIGUSR1, SIGUSR2};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t children;

	setsid();
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &children, NULL); /* the service reads them */
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
}

/* ---- between the threads, and to the front --------------------------------------------------- */

void mt_recorder_wake(struct mt_recorder *r)
{
	atomic_fetch_add(&r->bell, 1);
	syscall(SYS_futex, &r->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void mt_recorder_notify(struct mt_recorder *r)
{
	uint64_t one = 1;

	if (write(r->notify_fd, &one, sizeof one) < 0)
		return; /* the counter is full: the service is awake */
}

void mt_recorder_tell(struct mt_recorder *r, const struct mt_session_process *process)
{
	struct mt_unsent *unsent = mt_alloc(sizeof *unsent);

	unsent->process = *process;
	pthread_mutex_lock(&r->lock);
	*r->unsent_end = unsent;
	r->unsent_end = &unsent->next;
	pthread_mutex_unlock(&r->lock);
	mt_recorder_notify(r);
}

bool mt_recorder_send_unsent(struct mt_recorder *r, bool wait)
{
	struct mt_report *message = mt_alloc(sizeof *message);
	struct mt_unsent *first;
	bool taken = true;

	pthread_mutex_lock(&r->lock);
	while (taken && (first = r->unsent)) {
		*message = (struct mt_report){
			.type = MT_REPORT_PROCESS,
			.program = r->program,
			.process = first->process,
		};
		/* else there is no front any more */
		taken = send(r->report_fd, message, sizeof *message,
				MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT))
				>= 0
			|| (errno != EAGAIN && errno != EINTR);
		if (!taken)
			break;
		r->unsent = first->next;
		if (!r->unsent)
			r->unsent_end = &r->unsent;
		free(first);
	}
	pthread_mutex_unlock(&r->lock);
	free(message);
	return taken;
}

/* ---- running --------------------------------------------------------------------------------- */

/* What the root's trace is without, if it was not traced, or not to its end. */
static void explain(struct mt_recorder *r)
{
	struct mt_err err;

	if (atomic_load(&r->root->left)) {
		mt_fail(&err, -ENODATA,
			"%s executed another program, which is not recorded (%s); the blocks that "
			"it had until then are shown as leaked",
			r->options->argv[0],
			r->single ? "the output holds one program alone; give the name of a "
				    "file"
				  : "it takes no tracer's library, or the environment was cleared");
		mt_recorder_trouble(r, &err);
	}
	if (r->root->segments || atomic_load(&r->stopping))
		return;
	mt_fail(&err, -ENODATA,
		"%s did not take the tracer's library (it may be started by another program that "
		"clears the environment, or have ended at once); %s",
		r->options->argv[0],
		r->process_count > 1 ? "only others that it started were recorded"
				     : "nothing was recorded");
	mt_recorder_trouble(r, &err);
	remove_output(r->trace_path);
}

_Noreturn void mt_recorder_run(const struct mt_session_options *o, struct mt_launch *launch,
	int report_fd)
{
	struct mt_recorder *r = mt_alloc(sizeof *r);
	struct mt_err err = {0};
	pthread_t service;

	/* large tables stay sparse, and go back when they are freed */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	*r = (struct mt_recorder){
		.options = o,
		.launch = *launch,
		.report_fd = report_fd,
		.output_fd = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.paused = o->disabled_at_start,
	};
	r->notes_end = &r->notes;
	r->unsent_end = &r->unsent;
	if (prepare(r, &err) < 0 || start_program(r, &err) < 0)
		refuse(r, &err);
	leave_session();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	r->root = mt_offer_add(r, r->program, (int)syscall(SYS_pidfd_open, r->program, 0));
	r->root->trace_path = mt_strdup(r->trace_path);
	atomic_store(&r->root->snapshot, mt_snapshot_new(&err));
	mt_recorder_report(r, &(struct mt_report){.type = MT_REPORT_STARTED});
	if (!atomic_load(&r->root->snapshot)
		|| pthread_create(&service, NULL, mt_service_run, r) != 0) {
		mt_fail(&err, -EAGAIN, "cannot create a thread; the program runs unrecorded");
		mt_recorder_trouble(r, &err);
		_exit(1);
	}
	mt_drain_run(r);
	explain(r);
	mt_recorder_send_unsent(r, true);
	mt_recorder_report(r,
		&(struct mt_report){.type = MT_REPORT_FINISHED,
			.untraced = mt_recorder_untraced(r)});
	_exit(0);
}
