/* The recorder process: starts the program, drains its rings, completes the trace. */
#include "core/session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_MAX_MS 20
#define PUBLISH_IDLE_NS 20000000ull

/* ---- starting -------------------------------------------------------------------------------------- */

static void report(struct mt_recorder *r, struct mt_report *message)
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

	report(r, &message);
}

static _Noreturn void refuse(struct mt_recorder *r, const struct mt_err *err)
{
	struct mt_report message = {.type = MT_REPORT_REFUSED, .err = *err};

	report(r, &message);
	_exit(1);
}

int mt_recorder_new_segment(struct mt_recorder *r, struct mt_segment *s, struct mt_err *err)
{
	const struct mt_session_options *o = r->options;
	struct mt_segment_options options = {.address_limit = r->launch.address_space.rlim_cur,
		.clock = r->clock.kind, .depth_limit = o->depth_limit,
		.flags = (o->free_stacks ? MT_SEGMENT_FREE_STACKS : 0) | (o->check_stacks ? MT_SEGMENT_CHECK : 0),
		.paused = atomic_load(&r->paused)};
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
	r->snapshot = mt_snapshot_new(err);
	return r->snapshot ? 0 : -ENOMEM;
}

/* In the child: signals and limits as the front process had them, its terminal or a new one. */
static void become_program(struct mt_recorder *r, int go, int failed, char **environment)
{
	int error = 0;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	if (r->master_fd >= 0) {
		char *name = ptsname(r->master_fd);
		int slave;

		setsid();
		slave = name ? open(name, O_RDWR | O_NOCTTY) : -1;
		if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
			error = errno;
		for (int fd = 0; !error && fd < 3; fd++)
			dup2(slave, fd);
		if (slave > 2)
			close(slave);
	} else if (!strcmp(r->trace_path ? r->trace_path : "", "-")) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	if (!error)
		error = mt_launch_execute(&r->launch, r->options->argv, environment);
	if (write(failed, &error, sizeof error) < 0)
		_exit(126);
	_exit(127);
}

static bool is_regular(const char *path)
{
	struct stat status;

	return strcmp(path, "-") && lstat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Nothing was written to it. */
static void remove_output(const char *path)
{
	if (is_regular(path))
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
	return mt_fail(err, -error, "%s: cannot be executed: %s", r->options->argv[0], strerror(error));
}

/* Opens the output once the pid, which may be part of its name, is known; then lets the child go. A file that is to
 * be replaced is so only when the program runs; readers of the old one keep it. */
static int release_program(struct mt_recorder *r, int go, int failed, struct mt_err *err)
{
	const struct mt_session_options *o = r->options;
	char *aside = NULL;
	int error;

	r->trace_path = mt_output_path(o->output, r->launch.path, r->program);
	if (o->force && is_regular(r->trace_path))
		aside = mt_format("%s.%d.new", r->trace_path, (int)getpid());
	r->output_fd = mt_output_open(aside ? aside : r->trace_path, err);
	error = r->output_fd < 0 ? r->output_fd : 0;
	if (!error) {
		mt_clock_restart(&r->clock);
		error = let_go(r, go, failed, err);
		if (error)
			remove_output(aside ? aside : r->trace_path);
		else if (aside && rename(aside, r->trace_path) < 0)
			error = mt_fail(err, -errno, "cannot replace %s: %s", r->trace_path, strerror(errno));
	}
	free(aside);
	return error;
}

static int start_program(struct mt_recorder *r, struct mt_err *err)
{
	char *session = mt_format("%s:%s", r->name, r->token);
	char **environment = mt_launch_environment(&r->launch, session);
	int go[2], failed[2], error;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
		return mt_fail(err, -errno, "cannot create a pipe: %s", strerror(errno));
	r->trace_path = r->options->output && !strcmp(r->options->output, "-") ? mt_strdup("-") : NULL;
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

/* Out of the user's session, so that neither hang-up nor ^C ends the recording. */
static void leave_session(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ,
		SIGUSR1, SIGUSR2};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
}

/* ---- images ---------------------------------------------------------------------------------------- */

struct finishing {
	struct mt_recorder *recorder;
	struct mt_image *image;
	pthread_t thread;
	struct finishing *next;
};

static void *complete(void *at)
{
	struct finishing *f = at;
	struct mt_err err;

	if (mt_image_complete(f->image, &err) < 0)
		mt_recorder_trouble(f->recorder, &err);
	mt_image_free(f->image);
	return NULL;
}

/* The old image's trace is set aside and completed in the background, since symbols take their time. */
static void set_aside(struct mt_recorder *r, struct mt_image *old, struct finishing **list)
{
	struct finishing *f = mt_alloc(sizeof *f);
	char *aside = mt_format("%s.exec%u", r->trace_path, r->images);

	mt_image_end(old, 0, NULL);
	if (rename(r->trace_path, aside) < 0)
		mt_recorder_trouble(r, &(struct mt_err){-errno, "cannot rename the trace of the program's first image"});
	free(aside);
	*f = (struct finishing){.recorder = r, .image = old, .next = *list};
	if (pthread_create(&f->thread, NULL, complete, f) != 0) {
		complete(f);
		free(f);
		return;
	}
	*list = f;
}

/* A segment was mapped by an image of the program: goes on with it. */
static struct mt_image *adopt(struct mt_recorder *r, struct mt_image *old, struct finishing **list)
{
	struct mt_offer *offer = atomic_load(&r->offered);
	struct mt_image *image;
	struct mt_err err;

	if (old) {
		mt_recorder_activate(r, NULL);
		set_aside(r, old, list);
		r->images++;
		mt_snapshot_restart(r->snapshot);
		r->output_fd = mt_output_open(r->trace_path, &err);
	}
	if (r->output_fd < 0) {
		mt_segment_leave(&offer->segment);
		image = NULL;
	} else {
		image = mt_image_new(r, offer, r->output_fd, &err);
	}
	r->output_fd = -1;
	if (image) {
		mt_recorder_activate(r, mt_image_segment(image));
	} else {
		atomic_store(&r->stopping, true);
		mt_recorder_trouble(r, &err);
	}
	atomic_store(&r->offered, NULL);
	return image;
}

/* ---- running --------------------------------------------------------------------------------------- */

struct run {
	struct mt_image *image;
	struct finishing *finishing;
	uint64_t published_at, deadline;
	unsigned sleep_ms;
};

void mt_recorder_activate(struct mt_recorder *r, struct mt_segment *active)
{
	pthread_mutex_lock(&r->lock);
	r->active = active;
	pthread_mutex_unlock(&r->lock);
}

void mt_recorder_wake(struct mt_recorder *r)
{
	atomic_fetch_add(&r->bell, 1);
	syscall(SYS_futex, &r->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_mutex_lock(&r->lock);
	if (r->active) {
		uint32_t *bell = &r->active->header->doorbell;

		__atomic_fetch_add(bell, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, bell, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	pthread_mutex_unlock(&r->lock);
}

static void notify_watchers(struct mt_recorder *r)
{
	uint64_t one = 1;

	if (write(r->notify_fd, &one, sizeof one) < 0)
		return; /* the counter is full: the service is awake */
}

static void publish(struct mt_recorder *r, struct run *run, uint64_t now, bool idle)
{
	uint64_t interval = atomic_load(&r->interval_ms) * 1000000ull, since = now - run->published_at;
	bool fresh = atomic_exchange(&r->new_watchers, 0) != 0;

	if (!atomic_load(&r->watchers) && !fresh)
		return;
	idle = idle && mt_image_changed(run->image);
	if (!fresh && (!interval || since < PUBLISH_IDLE_NS || (since < interval && !idle)))
		return;
	mt_image_publish(run->image, r->snapshot);
	run->published_at = now;
	notify_watchers(r);
}

/* Recording ends although the program goes on: the trace cannot be written, or the time is over. */
static void stop(struct mt_recorder *r, struct run *run)
{
	struct mt_err err = {0};
	bool failed = mt_image_failed(run->image, &err);

	__atomic_store_n(&mt_image_segment(run->image)->header->recording, 0, __ATOMIC_RELEASE);
	atomic_store(&r->stopping, true);
	if (failed)
		mt_recorder_trouble(r, &err);
	mt_image_end(run->image, 0, NULL);
	mt_image_publish(run->image, r->snapshot);
	notify_watchers(r);
	if (!failed && mt_image_complete(run->image, &err) < 0)
		mt_recorder_trouble(r, &err);
	mt_recorder_activate(r, NULL);
	mt_image_free(run->image);
	run->image = NULL;
}

static void sleep_without_image(struct mt_recorder *r)
{
	uint32_t bell = atomic_load(&r->bell);
	struct timespec timeout = {0, 100000000};

	if (!atomic_load(&r->ended) && !atomic_load(&r->offered))
		syscall(SYS_futex, &r->bell, FUTEX_WAIT, bell, &timeout, NULL, 0);
}

static void drain_once(struct mt_recorder *r, struct run *run)
{
	uint64_t records = mt_image_poll(run->image), now = mt_clock_monotonic_ns();
	struct mt_err err;

	mt_image_tend(run->image, now);
	if (mt_image_failed(run->image, &err) || (run->deadline && now >= run->deadline)) {
		stop(r, run);
		return;
	}
	publish(r, run, now, records == 0);
	if (records) {
		run->sleep_ms = 1;
	} else if (run->sleep_ms < SLEEP_MAX_MS) {
		run->sleep_ms *= 2;
		if (run->sleep_ms > SLEEP_MAX_MS)
			run->sleep_ms = SLEEP_MAX_MS;
	}
	if (records < mt_image_segment(run->image)->ring_records / 4)
		mt_image_sleep(run->image, run->sleep_ms);
}

static void run_until_end(struct mt_recorder *r, struct run *run)
{
	while (!atomic_load(&r->ended) || atomic_load(&r->offered)) {
		if (atomic_load(&r->offered) && !atomic_load(&r->stopping))
			run->image = adopt(r, run->image, &run->finishing);
		if (run->image)
			drain_once(r, run);
		else
			sleep_without_image(r);
		if (atomic_load(&r->ended) && atomic_load(&r->stopping))
			break;
	}
}

/* The status goes to the front process before it is reaped: nothing is lost if we are killed between. */
static int reap_program(struct mt_recorder *r)
{
	struct mt_report message = {.type = MT_REPORT_EXITED};
	siginfo_t info = {0};

	while (waitid(P_PID, (id_t)r->program, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	message.wait_status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
		: info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
	report(r, &message);
	waitpid(r->program, NULL, 0);
	return message.wait_status;
}

static void finish(struct mt_recorder *r, struct run *run, int wait_status)
{
	struct mt_err err = {0};

	if (run->image) {
		int error = mt_image_end(run->image, wait_status, &err);

		mt_image_publish(run->image, r->snapshot);
		notify_watchers(r);
		if (!error)
			error = mt_image_complete(run->image, &err);
		if (error)
			mt_recorder_trouble(r, &err);
	} else if (!r->images && !atomic_load(&r->stopping)) {
		mt_fail(&err, -ENODATA, "%s did not take the tracer's library (it may be started by another program that clears "
			"the environment, or have ended at once); nothing was recorded", r->options->argv[0]);
		mt_recorder_trouble(r, &err);
		remove_output(r->trace_path);
	}
	while (run->finishing) {
		struct finishing *f = run->finishing;

		pthread_join(f->thread, NULL);
		run->finishing = f->next;
		free(f);
	}
}

_Noreturn void mt_recorder_run(const struct mt_session_options *o, struct mt_launch *launch, int report_fd)
{
	struct mt_recorder *r = mt_alloc(sizeof *r);
	struct run run = {.sleep_ms = 1};
	struct mt_err err = {0};
	pthread_t service;

	*r = (struct mt_recorder){.options = o, .launch = *launch, .report_fd = report_fd, .output_fd = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER, .interval_ms = 250, .paused = o->disabled_at_start};
	if (prepare(r, &err) < 0 || start_program(r, &err) < 0)
		refuse(r, &err);
	leave_session();
	r->program_fd = (int)syscall(SYS_pidfd_open, r->program, 0);
	if (o->duration_ns)
		run.deadline = mt_clock_monotonic_ns() + o->duration_ns;
	report(r, &(struct mt_report){.type = MT_REPORT_STARTED});
	if (pthread_create(&service, NULL, mt_service_run, r) != 0) {
		mt_fail(&err, -EAGAIN, "cannot create a thread; the program runs unrecorded");
		mt_recorder_trouble(r, &err);
		_exit(1);
	}
	run_until_end(r, &run);
	finish(r, &run, reap_program(r));
	report(r, &(struct mt_report){.type = MT_REPORT_FINISHED});
	_exit(0);
}
