/* The recorder process: starts the program, drains its rings, completes the trace. */
#include "core/base/thread.h"
#include "core/model/sampling.h"
#include "core/session/internal.h"
#include "core/session/objects.h"
#include "core/session/snapshot_file.h"
#include "core/session/watch.h"

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

uint32_t mt_recorder_untraced(struct mt_recorder *r)
{
	uint32_t count = 0;

	pthread_mutex_lock(&r->lock);
	for (uint32_t i = 0; i < r->process_count; i++)
		count += (uint32_t)(r->processes[i]->untold > 0 ? r->processes[i]->untold : 0);
	pthread_mutex_unlock(&r->lock);
	return count;
}

void mt_recorder_give_up(struct mt_recorder *r, const struct mt_err *err)
{
	mt_recorder_trouble(r, err);
	atomic_store(&r->gave_up, true);
	atomic_store(&r->stopping, true);
	atomic_store(&r->over, true);
	mt_recorder_wake(r);
}

int mt_recorder_detach(struct mt_recorder *r, struct mt_err *err)
{
	struct mt_notice message = {.type = MT_NOTICE_DETACHED};
	int error;

	if (mt_process_has_ended(r->root)) /* so does the session */
		return 0;
	error = mt_attach_end(r, err);
	if (error)
		message.err = *err;
	mt_recorder_send_notice(r, &message);
	atomic_store(&r->gave_up, true);
	atomic_store(&r->stopping, true);
	atomic_store(&r->over, true);
	mt_recorder_wake(r);
	return error;
}

int mt_recorder_new_segment(struct mt_recorder *r, pid_t pid, int fd, struct mt_segment *s,
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
			| (o->wait_when_full ? MT_SEGMENT_WAIT : 0)
			| (o->no_follow ? MT_SEGMENT_NO_FOLLOW : 0)
			| (o->at_end ? MT_SEGMENT_LEAK_CHECK : 0)
			| (o->sample_every ? MT_SEGMENT_CALLS : 0),
		.paused = atomic_load(&r->paused),
		.sample_bytes =
			o->sample_every ? mt_sampling_of_calls(o->sample_every) : o->sample_bytes,
		.record_min = o->record_min,
		.record_max = o->record_max,
	};
	struct rlimit file;

	memcpy(options.signals, o->signals, sizeof options.signals);
	getrlimit(RLIMIT_FSIZE, &file);
	options.file_limit = file.rlim_cur;
	if (options.sample_bytes
		&& getrandom(&options.sample_seed, sizeof options.sample_seed, 0)
			!= sizeof options.sample_seed)
		return mt_fail(err, -EIO, "cannot get a random number for samples: %s",
			strerror(errno));
	return mt_segment_create_in(s, fd, &options, &r->alive, err);
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

/* What is needed until the program runs. */
struct starting {
	int go, failed; /* lets the child execute; what it says where it cannot */
	char *session, **environment;
	char *aside; /* the new file's name until it replaces the old one; NULL: none does */
	const char *created; /* the output, if it has been made */
	struct mt_earlier earlier;
};

/* In the child: signals and limits as the front process had them, its terminal or a new one. */
static void become_program(struct mt_recorder *r, int go, int failed, char **environment)
{
	int error = 0;
	ssize_t n;
	char byte;

	while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n == 0) /* the recorder has refused */
		_exit(127);
	if (n < 0)
		error = errno;
	else if (r->master_fd >= 0 || r->options->terminal) {
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

static int let_go(const struct mt_recorder *r, struct starting *s, struct mt_err *err)
{
	int error = 0;
	ssize_t n;

	if (write(s->go, "", 1) != 1)
		return mt_fail(err, -errno, "cannot start the program: %s", strerror(errno));
	while ((n = read(s->failed, &error, sizeof error)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return mt_fail(err, -errno, "%s: cannot tell if it was started: %s",
			r->options->argv[0], strerror(errno));
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

/* Opens the output once the pid, which may be part of its name, is known. */
static int open_output(struct mt_recorder *r, struct starting *s, struct mt_err *err)
{
	const struct mt_session_options *o = r->options;
	const char *path;

	r->trace_path = mt_output_path(o->output, r->launch.path, r->program);
	if (mt_output_resolve(&r->trace_path, err) < 0)
		return err->code;
	r->single = mt_output_is_single(o->output, r->trace_path);
	if (is_program(r, r->trace_path))
		return mt_fail(err, -EINVAL,
			"%s: is the program itself; choose another name for the trace",
			r->trace_path);
	if (o->force && mt_output_is_regular(r->trace_path)) {
		s->aside = mt_format("%s.%d.new", r->trace_path, (int)getpid());
		mt_earlier_list(&s->earlier, r->trace_path);
	}
	path = s->aside ? s->aside : r->trace_path;
	r->output_fd = mt_output_open(path, err);
	if (r->output_fd < 0)
		return r->output_fd;
	s->created = path;
	if (o->max_bytes && !mt_output_is_regular(path))
		return mt_fail(err, -EINVAL, "%s: is a stream; --max-size needs a file",
			r->trace_path);
	return 0;
}

/* Lets the child execute the program. A file that is to be replaced is so only when the program
 * runs; readers of the old one keep it. */
static int replace_output(struct mt_recorder *r, struct starting *s, struct mt_err *err)
{
	if (s->aside && rename(s->aside, r->trace_path) < 0)
		return mt_fail(err, -errno, "cannot replace %s: %s", r->trace_path,
			strerror(errno));
	/* before anybody is answered, so that no new file can be meant */
	mt_earlier_remove(&s->earlier);
	return 0;
}

static int release_program(struct mt_recorder *r, struct starting *s, struct mt_err *err)
{
	int error;

	mt_clock_restart(&r->clock);
	error = let_go(r, s, err);
	return error < 0 ? error : replace_output(r, s, err);
}

/* A child that waits to be let go. */
static int fork_program(struct mt_recorder *r, struct starting *s, struct mt_err *err)
{
	int go[2], failed[2];

	s->session = mt_service_session(r);
	s->environment = mt_launch_environment(&r->launch, s->session, r->options->pty);
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
		become_program(r, go[0], failed[1], s->environment);
	}
	close(go[0]);
	close(failed[1]);
	free(r->trace_path);
	r->trace_path = NULL;
	s->go = go[1];
	s->failed = failed[0];
	return 0;
}

/* Of a process that runs already: that it cannot be recorded is seen before anything of the old
 * file is lost. */
static int attach_program(struct mt_recorder *r, struct starting *s, struct mt_err *err)
{
	struct mt_err ignored = {0};
	int error;

	mt_clock_restart(&r->clock);
	if ((error = mt_attach_begin(r, err)) < 0)
		return error;
	if ((error = replace_output(r, s, err)) < 0)
		mt_attach_end(r, &ignored);
	return error;
}

static void free_starting(struct starting *s)
{
	if (s->go)
		close(s->go);
	if (s->failed)
		close(s->failed);
	mt_earlier_free(&s->earlier);
	free(s->aside);
	free(s->environment);
	free(s->session);
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
	struct mt_notice *message = mt_alloc(sizeof *message);
	struct mt_unsent *first;
	bool taken = true;

	pthread_mutex_lock(&r->lock);
	while (taken && (first = r->unsent)) {
		*message = (struct mt_notice){
			.type = MT_NOTICE_PROCESS,
			.program = r->program,
			.process = first->process,
		};
		/* else there is no front any more */
		taken = send(r->report_fd, message, sizeof *message,
				MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT))
				>= 0
			|| !mt_notice_may_be_sent_later(errno);
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

	if (atomic_load(&r->root->left) && mt_recorder_is_attached(r)) {
		mt_fail(&err, -ENODATA,
			"process %d executed another program, which is not recorded: attaching "
			"reaches only the program that runs; the blocks that were live then count "
			"as leaked",
			(int)r->program);
		mt_recorder_trouble(r, &err);
	} else if (atomic_load(&r->root->left)) {
		mt_fail(&err, -ENODATA,
			"%s executed another program, which is not recorded (%s); the blocks that "
			"were live then count as leaked",
			r->options->argv[0],
			r->single
				? "the output can contain only one program; give the name of a file"
				: "it does not load the tracer, or the environment was cleared");
		mt_recorder_trouble(r, &err);
	}
	if (r->output_fd >= 0)
		mt_output_remove_empty(r->trace_path); /* no image has taken it */
	if (r->root->segments || atomic_load(&r->stopping))
		return;
	mt_fail(&err, -ENODATA,
		"%s did not load the tracer (perhaps another program starts it and clears "
		"the environment, or it ended at once); %s",
		r->options->argv[0],
		r->process_count > 1 ? "only the programs that it started were recorded"
				     : "nothing was recorded");
	mt_recorder_trouble(r, &err);
}

/* Nothing has been started, and nothing is left behind. */
static _Noreturn void refuse(struct mt_recorder *r, const struct starting *s,
	const struct mt_err *err)
{
	struct mt_notice message = {.type = MT_NOTICE_REFUSED, .err = *err};

	if (r->program > 0 && !mt_recorder_is_attached(r)) {
		kill(r->program, SIGKILL);
		waitpid(r->program, NULL, 0);
	}
	if (s->created)
		remove_output(s->created);
	mt_service_remove_file(r);
	mt_recorder_send_notice(r, &message);
	_exit(1);
}

/* All that may fail is done before the program runs: then it is refused in words. Later a fault
 * could cost its recording. */
static int start(struct mt_recorder *r, struct starting *s, struct mt_err *err)
{
	struct mt_service *service = mt_service_new(r);
	struct mt_snapshot *snapshot;
	int error;

	r->program = r->options->attach;
	if ((error = prepare(r, err)) < 0
		|| (!mt_recorder_is_attached(r) && (error = fork_program(r, s, err)) < 0)
		|| (error = open_output(r, s, err)) < 0 || (error = mt_watch_begin(r, err)) < 0)
		return error;
	leave_session();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	r->root = mt_offer_add(r, r->program, (int)syscall(SYS_pidfd_open, r->program, 0));
	r->root->trace_path = mt_strdup(r->trace_path);
	snapshot = mt_snapshot_new(err);
	if (!snapshot)
		return err->code;
	atomic_store(&r->root->snapshot, snapshot);
	error = mt_thread_start(&r->service, "service", mt_service_run, service);
	if (error < 0)
		return mt_fail(err, error, "cannot create a thread: %s", strerror(-error));
	return mt_recorder_is_attached(r) ? attach_program(r, s, err) : release_program(r, s, err);
}

/* The service thread keeps the terminal for a program that outlives its recording. */
static void keep_terminal(struct mt_recorder *r)
{
	if (atomic_load(&r->gave_up) && r->master_fd >= 0)
		pthread_join(r->service, NULL);
}

_Noreturn void mt_recorder_run(const struct mt_session_options *o, struct mt_launch *launch,
	int report_fd)
{
	struct mt_recorder *r = mt_alloc(sizeof *r);
	struct starting starting = {0};
	struct mt_err err = {0};

	/* large tables stay sparse, and go back when they are freed */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	*r = (struct mt_recorder){
		.options = o,
		.launch = *launch,
		.report_fd = report_fd,
		.output_fd = -1,
		.gate = PTHREAD_MUTEX_INITIALIZER,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.paused = o->disabled_at_start,
		.snapshot_files = mt_snapshot_files_new(),
	};
	/* the front has read it before */
	if (o->allocator_functions)
		r->named = mt_named_new(o->allocator_functions, &err);
	/* before the threads that look into it, of which the service outlives us */
	r->objects = mt_objects_cache_new(r->named);
	r->notes_end = &r->notes;
	r->unsent_end = &r->unsent;
	pthread_mutex_lock(&r->gate);
	if (start(r, &starting, &err) < 0)
		refuse(r, &starting, &err);
	free_starting(&starting);
	mt_recorder_send_notice(r,
		&(struct mt_notice){.type = MT_NOTICE_STARTED, .still_ns = r->still_ns});
	pthread_mutex_unlock(&r->gate);
	mt_drain_run(r);
	explain(r);
	mt_recorder_send_unsent(r, true);
	keep_terminal(r);
	mt_service_remove_file(r);
	mt_recorder_send_notice(r,
		&(struct mt_notice){.type = MT_NOTICE_FINISHED,
			.untraced = mt_recorder_untraced(r)});
	_exit(0);
}
