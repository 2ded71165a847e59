#include "core/leakcheck/still.h"
#include "core/base/buffer.h"
#include "core/base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_MS 10000u
#define BORROW_MS 200u /* of threads that all stand still: they do not change */
#define TRIES 50u      /* until one of the threads can make the copy */
#define WARM_UP_MS 2000u
#define END_LOOKS 1000u
#define LOOKS 20u /* at all children, for the copy */
const char mt_still_unwanted[] = "none was wanted";
static const char no_thread[] = "no thread of the process was where it could make one";

/* ---- one at a time --------------------------------------------------------------------------- */

/* Two that call functions in a process would use the same memory in it. The name goes with us. */
static int lock(pid_t pid, struct mt_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct mt_proc_stat stat;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return mt_fail(err, -errno, "cannot make a socket: %s", strerror(errno));
	mt_proc_stat(pid, &stat);
	int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
		"memtui-leak-check-%d-%" PRIu64, (int)pid, stat.start_time);

	if (!bind(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)))
		return fd;
	int error = errno;

	close(fd);
	return error == EADDRINUSE
		? mt_fail(err, -EBUSY,
			"another leak check of process %d is under way; wait until it is done",
			(int)pid)
		: mt_fail(err, -error, "cannot bind a socket: %s", strerror(error));
}

/* ---- while all stand still ------------------------------------------------------------------- */

static void read_maps(struct mt_still *s)
{
	struct mt_tracee_mapping m;

	s->map_count = 0;
	for (uint32_t i = 0; mt_tracee_mapping(s->tracee, i, &m); i++) {
		MT_GROW(s->maps, s->map_count, s->map_capacity);
		s->maps[s->map_count++] = m;
	}
}

static void read_threads(struct mt_still *s)
{
	for (uint32_t i = 0;; i++) {
		struct mt_tracee_registers *r = mt_alloc(sizeof *r);

		if (!mt_tracee_registers(s->tracee, i, r)) {
			free(r);
			return;
		}
		MT_GROW(s->threads, s->thread_count, s->thread_capacity);
		s->threads[s->thread_count++] = mt_resize(r,
			offsetof(struct mt_tracee_registers, words) + r->count * sizeof *r->words);
	}
}

static void forget_threads(struct mt_still *s)
{
	while (s->thread_count)
		free(s->threads[--s->thread_count]);
}

static void note_stops(struct mt_still *s)
{
	uint32_t count;
	const struct mt_tracee_stop *stops = mt_tracee_stops(s->tracee, &count);

	for (uint32_t i = 0; i < count; i++)
		if (stops[i].ns > s->still_ns)
			s->still_ns = stops[i].ns;
}

/* ---- what the tracer's header says ----------------------------------------------------------- */

/* Where the tracer has it; 0: there is no tracer. */
static uint64_t find_header(const struct mt_still *s)
{
	for (uint32_t i = 0; i < s->map_count; i++)
		if (!s->maps[i].offset && s->maps[i].is_shared
			&& !strncmp(s->maps[i].path, MT_WIRE_SEGMENT_PATH,
				sizeof MT_WIRE_SEGMENT_PATH - 1))
			return s->maps[i].low;
	return 0;
}

static int read_header(struct mt_still *s, struct mt_err *err)
{
	uint64_t at = find_header(s);
	struct mt_wire_header h = {0};

	if (!at)
		return mt_fail(err, -ENODATA, "process %d has no tracer in it", (int)s->pid);
	if (mt_tracee_read(s->tracee, at, &h, sizeof h) < 0)
		return mt_fail(err, -EIO, "cannot read the tracer's memory in process %d",
			(int)s->pid);
	if (h.magic != MT_WIRE_MAGIC || h.version != MT_WIRE_VERSION || !h.own)
		return mt_fail(err, -EPROTO,
			"the tracer in process %d is of another version of memtui", (int)s->pid);
	s->copy_function = h.copy;
	mt_tracee_allow(s->tracee, h.starts_low, h.starts_high);
	s->own_unlisted = h.own_unlisted;
	s->own = mt_alloc(MT_WIRE_OWN_MOST * sizeof *s->own);
	if (mt_tracee_read(s->tracee, h.own, s->own, MT_WIRE_OWN_MOST * sizeof *s->own))
		return mt_fail(err, -EIO, "cannot read the tracer's list of its memory");
	for (uint32_t i = 0; i < MT_WIRE_OWN_MOST; i++)
		if (s->own[i].len) {
			struct mt_wire_own own = s->own[s->own_count++] = s->own[i];

			if (h.copy - own.address < own.len) /* its code */
				mt_tracee_avoid(s->tracee, own.address, own.address + own.len,
					"memtui's tracer");
		}
	return 0;
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* Bytes that the process has for itself, which the copy would have once more at the worst. */
static uint64_t private_bytes(pid_t pid)
{
	char text[8192], *at;

	mt_proc_read(pid, "status", text, sizeof text);
	at = strstr(text, "RssAnon:");
	return at ? strtoull(at + strlen("RssAnon:"), NULL, 10) * 1024 : UINT64_MAX;
}

static uint64_t free_bytes(void)
{
	char text[4096] = "", *at;
	FILE *file = fopen("/proc/meminfo", "re");

	if (!file)
		return 0;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	at = strstr(text, "MemAvailable:");
	return at ? strtoull(at + strlen("MemAvailable:"), NULL, 10) * 1024 : 0;
}

/* NULL: it may be made. */
static const char *refuse_copy(struct mt_still *s, unsigned flags)
{
	if (flags & MT_STILL_NO_COPY)
		return mt_still_unwanted;
	if (private_bytes(s->pid) > free_bytes())
		return "too little memory is free for it";
	if (mt_tracee_has_filters(s->tracee))
		return "the process has a system-call filter";
	return NULL;
}

/* What the process calls a child; 0: it is none any more. */
static pid_t number_inside(pid_t child)
{
	char status[4096], *numbers, *last = NULL;

	mt_proc_read(child, "status", status, sizeof status);
	numbers = strstr(status, "NSpid:");
	if (numbers)
		numbers[strcspn(numbers, "\n")] = '\0';
	last = numbers ? strrchr(numbers, '\t') : NULL;
	return last ? atoi(last) : 0;
}

static pid_t each_child_of(const struct mt_still *s, pid_t thread,
	bool (*each)(const struct mt_still *, pid_t child))
{
	char text[65536], name[64], *at, *next;

	snprintf(name, sizeof name, "task/%d/children", (int)thread);
	mt_proc_read(thread, name, text, sizeof text);
	for (at = text; *at; at = next) {
		pid_t child = (pid_t)strtol(at, &next, 10);

		if (next == at)
			break;
		if (each(s, child))
			return child;
	}
	return 0;
}

/* Calls each for the children of all threads, until it is true of one: that one; else 0. */
static pid_t each_child(const struct mt_still *s,
	bool (*each)(const struct mt_still *, pid_t child))
{
	struct dirent *entry;
	char path[64];
	pid_t found = 0;

	snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
	DIR *threads = opendir(path);

	while (threads && !found && (entry = readdir(threads)))
		if (atoi(entry->d_name) > 0)
			found = each_child_of(s, atoi(entry->d_name), each);
	if (threads)
		closedir(threads);
	return found;
}

static bool is_copy(const struct mt_still *s, pid_t child)
{
	return number_inside(child) == s->copy_inside;
}

/* Children are listed with the thread that has made them; when that ends, with another one, which
 * may have been looked at already. */
static pid_t find_copy(const struct mt_still *s)
{
	pid_t found = 0;

	for (unsigned looks = 0; looks < LOOKS && !found; looks++)
		found = each_child(s, is_copy);
	return found;
}

/* Until it is a zombie, which can be reaped. */
static void await_end(pid_t child)
{
	struct mt_proc_stat stat;

	for (unsigned looks = 0;
		looks < END_LOOKS && mt_proc_stat(child, &stat) && !mt_proc_has_ended(&stat);
		looks++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

#define COPY_CODE 256u /* bytes of mt_copy, at the most */

/* A copy that nobody has come for waits in mt_copy, where no other child is. */
static bool end_unclaimed(const struct mt_still *s, pid_t child)
{
	unsigned long long pc = 0;
	char text[512];

	mt_proc_read(child, "syscall", text, sizeof text);
	if (sscanf(text, "%*d %*s %*s %*s %*s %*s %*s %*s %llx", &pc) == 1
		&& pc - s->copy_function < COPY_CODE && !kill(child, SIGKILL))
		await_end(child);
	return false;
}

/* It ends with us from now on. */
static int seize(pid_t copy)
{
	int status;

	if (ptrace(PTRACE_SEIZE, copy, NULL, (void *)PTRACE_O_EXITKILL)
		|| ptrace(PTRACE_INTERRUPT, copy, NULL, NULL))
		return -errno;
	while (waitpid(copy, &status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(status) ? 0 : -ESRCH;
}

/* One of the stopped threads makes it, and runs again. */
static int make_copy(struct mt_still *s, struct mt_err *err)
{
	static const uint64_t none[6];
	pid_t thread = mt_tracee_borrow(s->tracee, 0, BORROW_MS, err);
	uint64_t result = 0;
	int error;

	if (thread < 0)
		return -EAGAIN; /* none of them can be borrowed where it stands */
	error = mt_tracee_call(s->tracee, thread, s->copy_function, none, &result, err);
	if (error < 0)
		return error;
	if ((int64_t)result <= 0)
		return mt_fail(err, (int)result, "process %d cannot be copied: %s", (int)s->pid,
			strerror((int)-(int64_t)result));
	s->copy_inside = (pid_t)result;
	s->copy = find_copy(s);
	if (!s->copy)
		return mt_fail(err, -ESRCH, "the copy of process %d, its child %d, is not found",
			(int)s->pid, (int)s->copy_inside);
	error = seize(s->copy);
	return error ? mt_fail(err, error, "the copy of process %d cannot be held: %s", (int)s->pid,
		       strerror(-error))
		     : 0;
}

/* Where the kernel has it as a zombie, or where a killed leak check has left one. */
static void reap(struct mt_still *s)
{
	const uint64_t arguments[6] = {(uint64_t)-1, 0, WNOHANG | __WCLONE, 0, 0, 0};
	struct mt_err err;
	int64_t got;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		pid_t thread = mt_tracee_borrow(s->tracee, 0, BORROW_MS, &err);

		if (thread < 0)
			continue;
		if (mt_tracee_system_call(s->tracee, thread, SYS_wait4, arguments, &got, &err) < 0)
			return;
		if (got <= 0)
			return;
	}
}

/* What leak checks that were killed have left: copies, also those that still wait. */
static void clear_away(struct mt_still *s)
{
	each_child(s, end_unclaimed);
	reap(s);
}

static void end_copy(struct mt_still *s)
{
	int status;

	if (!s->copy)
		return;
	kill(s->copy, SIGKILL);
	while (waitpid(s->copy, &status, __WALL) < 0 && errno == EINTR)
		;
	reap(s);
	s->copy = 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* So that what core/inject needs in the process is there before all threads stand still. */
static int warm_up(struct mt_still *s, struct mt_err *err)
{
	static const uint64_t none[6];
	pid_t thread = mt_tracee_borrow(s->tracee, 0, WARM_UP_MS, err);
	int64_t got;

	return thread < 0 ? thread
			  : mt_tracee_system_call(s->tracee, thread, SYS_getpid, none, &got, err);
}

/* All stand still; in the end they run if there is a copy, or this fails. -EAGAIN: no thread could
 * make a copy where it stood. */
static int take_once(struct mt_still *s, int (*moment)(void *, struct mt_err *), void *context,
	struct mt_err *err)
{
	int error = mt_tracee_stop(s->tracee, STOP_MS, err);

	if (error < 0)
		return error;
	forget_threads(s);
	read_threads(s);
	if (!s->no_copy && mt_tracee_borrow(s->tracee, 0, BORROW_MS, err) < 0) {
		mt_tracee_resume(s->tracee);
		return -EAGAIN;
	}
	error = moment(context, err);
	if (!error && !s->no_copy)
		error = make_copy(s, err);
	else if (!error)
		error = mt_tracee_refresh(s->tracee, err);
	if (error || !s->no_copy)
		mt_tracee_resume(s->tracee);
	note_stops(s);
	return error;
}

static int take(struct mt_still *s, unsigned flags, int (*moment)(void *, struct mt_err *),
	void *context, struct mt_err *err)
{
	int error;

	read_maps(s);
	error = read_header(s, err);
	if (error < 0)
		return error;
	s->no_copy = refuse_copy(s, flags);
	if (!s->no_copy) {
		error = mt_tracee_avoid_usual(s->tracee, err);
		if (error < 0)
			return error;
		if (warm_up(s, err) < 0)
			s->no_copy = no_thread;
		else
			clear_away(s);
	}
	mt_tracee_forget_stops(s->tracee);
	error = -EAGAIN;
	for (unsigned tries = 0; error == -EAGAIN && tries < TRIES; tries++)
		error = take_once(s, moment, context, err);
	if (error == -EAGAIN) {
		s->no_copy = no_thread;
		error = take_once(s, moment, context, err);
	}
	if (!error && s->copy)
		error = mt_tracee_refresh_from(s->tracee, s->copy, err);
	if (error)
		return error;
	read_maps(s);
	return mt_still_memory_open(&s->memory, s->copy ? s->copy : s->pid, err);
}

int mt_still_take(struct mt_still *s, pid_t pid, unsigned flags,
	int (*moment)(void *, struct mt_err *), void *context, struct mt_err *err)
{
	int error;

	*s = (struct mt_still){.pid = pid,
		.memory = {0, -1, -1},
		.keeps_place = flags & MT_STILL_ATTACHED,
		.lock = lock(pid, err)};
	if (s->lock < 0)
		return s->lock;
	s->tracee = mt_tracee_open(pid, MT_TRACEE_SECCOMP, err);
	error = s->tracee ? take(s, flags, moment, context, err) : err->code;
	if (error < 0) {
		struct mt_err ignored;

		mt_still_release(s, &ignored);
	}
	return error;
}

void mt_still_resume(struct mt_still *s)
{
	if (!s->no_copy)
		return;
	mt_tracee_resume(s->tracee);
	note_stops(s);
}

int mt_still_release(struct mt_still *s, struct mt_err *err)
{
	int error = 0;

	if (s->tracee) {
		mt_tracee_resume(s->tracee);
		note_stops(s);
		end_copy(s);
		if (!s->keeps_place)
			error = mt_tracee_leave(s->tracee, err);
		mt_tracee_close(s->tracee);
		s->tracee = NULL;
	}
	mt_still_memory_close(&s->memory);
	forget_threads(s);
	free(s->threads);
	free(s->maps);
	free(s->own);
	s->threads = NULL;
	s->maps = NULL;
	s->own = NULL;
	s->map_count = s->own_count = 0;
	if (s->lock >= 0)
		close(s->lock);
	s->lock = -1;
	return error;
}
