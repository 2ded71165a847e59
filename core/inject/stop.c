/* Threads are stopped and let go, without a signal that the program can see. */
#include "core/inject/internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define PF_IO_WORKER 0x00000010u
#define PF_USER_WORKER 0x00004000u

/* ---- what /proc says of threads ---- */

bool mt_inject_is_worker(pid_t thread)
{
	struct mt_proc_stat s;

	return mt_proc_stat(thread, &s) && s.flags & (PF_IO_WORKER | PF_USER_WORKER);
}

/* "running", or the number, six arguments unless that is -1, sp and pc. */
void mt_inject_read_wait(const struct mt_tracee *t, pid_t thread, struct mt_inject_wait *w)
{
	char name[64], text[512];

	*w = (struct mt_inject_wait){0};
	snprintf(name, sizeof name, "task/%d/syscall", (int)thread);
	mt_proc_read(t->pid, name, text, sizeof text);
	if (sscanf(text, "%ld", &w->number) != 1)
		return;
	if (w->number < 0)
		w->is_waiting = sscanf(text, "%*d 0x%" SCNx64 " 0x%" SCNx64, &w->sp, &w->pc) == 2;
	else
		w->is_waiting = sscanf(text, "%*d %*s %*s %*s %*s %*s %*s 0x%" SCNx64 " 0x%" SCNx64,
					&w->sp, &w->pc)
			== 2;
}

struct mt_inject_thread *mt_inject_thread(struct mt_tracee *t, pid_t id)
{
	for (uint32_t i = 0; i < t->thread_count; i++)
		if (t->threads[i]->id == id)
			return t->threads[i];
	return NULL;
}

static bool is_alive(pid_t thread)
{
	struct mt_proc_stat s;

	return mt_proc_stat(thread, &s) && s.state != 'Z' && s.state != 'X';
}

/* A number that was a thread's may be that of a new one. */
static bool is_new(struct mt_inject_thread *thread)
{
	thread->listed = true;
	if (thread->state != MT_INJECT_GONE || !is_alive(thread->id))
		return false;
	thread->state = MT_INJECT_SEEN;
	return true;
}

/* Those that are not listed any more are forgotten. */
uint32_t mt_inject_list(struct mt_tracee *t)
{
	uint32_t added = 0, kept = 0;
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	for (uint32_t i = 0; i < t->thread_count; i++)
		t->threads[i]->listed = false;
	while ((entry = readdir(tasks))) {
		pid_t id = (pid_t)atoi(entry->d_name);
		struct mt_inject_thread *thread = id > 0 ? mt_inject_thread(t, id) : NULL;

		if (thread) {
			added += is_new(thread);
		} else if (id > 0 && !mt_inject_is_worker(id)) {
			MT_GROW(t->threads, t->thread_count, t->thread_capacity);
			thread = t->threads[t->thread_count++] = mt_alloc(sizeof *thread);
			thread->id = id;
			thread->listed = true;
			added++;
		}
	}
	closedir(tasks);
	for (uint32_t i = 0; i < t->thread_count; i++)
		if (t->threads[i]->listed || t->threads[i]->state == MT_INJECT_STOPPED)
			t->threads[kept++] = t->threads[i];
		else
			free(t->threads[i]);
	t->thread_count = kept;
	return added;
}

/* ---- one thread ---- */

void mt_inject_ask(struct mt_tracee *t, struct mt_inject_thread *thread)
{
	thread->asked_ns = mt_inject_now();
	thread->state = MT_INJECT_GONE;
	if (ptrace(PTRACE_SEIZE, thread->id, NULL, NULL)) {
		if (errno == EPERM && is_alive(thread->id))
			t->refused = thread->id;
		return;
	}
	/* a thread that ends now is seen by the wait for it */
	ptrace(PTRACE_INTERRUPT, thread->id, NULL, NULL);
	thread->state = MT_INJECT_ASKED;
}

static void has_stopped(struct mt_inject_thread *thread, int signal)
{
	if (thread->state == MT_INJECT_HELD)
		thread->asked_ns = mt_inject_now(); /* it stands still from now on */
	thread->state = MT_INJECT_STOPPED;
	thread->is_group_stop = signal != SIGTRAP;
	if (mt_arch_get(thread->id, &thread->registers)
		|| mt_arch_repair(thread->id, &thread->registers))
		thread->state = MT_INJECT_GONE;
}

void mt_inject_look(struct mt_tracee *t, struct mt_inject_thread *thread)
{
	int status;
	pid_t got = waitpid(thread->id, &status, __WALL | WNOHANG);

	(void)t;
	if (got == 0)
		return;
	if (got != thread->id || !WIFSTOPPED(status)) {
		thread->state = MT_INJECT_GONE;
	} else if (status >> 16 == PTRACE_EVENT_STOP) {
		has_stopped(thread, WSTOPSIG(status));
	} else {
		/* A signal came first. Its stop has taken the place of ours, so ask again, then
		 * let the program have it. It may be one that the program ignores, and that would
		 * have interrupted nothing without us. */
		if (!mt_arch_get(thread->id, &thread->registers))
			mt_arch_repair(thread->id, &thread->registers);
		ptrace(PTRACE_INTERRUPT, thread->id, NULL, NULL);
		ptrace(PTRACE_CONT, thread->id, NULL,
			(void *)(uintptr_t)(status >> 16 ? 0 : WSTOPSIG(status)));
	}
}

bool mt_inject_await(struct mt_tracee *t, struct mt_inject_thread *thread)
{
	unsigned looks = 0;

	while (thread->state == MT_INJECT_ASKED) {
		mt_inject_look(t, thread);
		if (thread->state != MT_INJECT_ASKED)
			break;
		if (mt_inject_now() - thread->asked_ns > t->patience_ns)
			thread->state = MT_INJECT_HELD;
		else
			mt_inject_pause(&looks);
	}
	return thread->state == MT_INJECT_STOPPED;
}

void mt_inject_release(struct mt_tracee *t, struct mt_inject_thread *thread)
{
	uint64_t now;

	if (thread->state != MT_INJECT_STOPPED)
		return;
	now = mt_inject_now(); /* before: it may take our processor */
	ptrace(PTRACE_DETACH, thread->id, NULL, NULL);
	MT_GROW(t->stops, t->stop_count, t->stop_capacity);
	t->stops[t->stop_count++] = (struct mt_tracee_stop){thread->id, now - thread->asked_ns};
	thread->state = MT_INJECT_SEEN;
}

void mt_inject_release_late(struct mt_tracee *t)
{
	for (uint32_t i = 0; i < t->thread_count; i++) {
		struct mt_inject_thread *thread = t->threads[i];

		if (thread->state == MT_INJECT_HELD || thread->state == MT_INJECT_ASKED) {
			mt_inject_look(t, thread);
			mt_inject_release(t, thread);
		}
	}
}

/* ---- all threads ---- */

/* Those in delicate calls are let go last: a signal that the program ignores wakes nobody once the
 * thread that it is meant for is no longer traced. */
unsigned mt_tracee_resume(struct mt_tracee *t)
{
	unsigned left = 0;

	for (uint32_t i = 0; i < t->thread_count; i++)
		if (!mt_arch_is_interrupted_by_stop(mt_arch_system_call(&t->threads[i]->registers)))
			mt_inject_release(t, t->threads[i]);
	for (uint32_t i = 0; i < t->thread_count; i++)
		mt_inject_release(t, t->threads[i]);
	mt_inject_release_late(t);
	for (uint32_t i = 0; i < t->thread_count; i++)
		left += t->threads[i]->state == MT_INJECT_HELD
			|| t->threads[i]->state == MT_INJECT_ASKED;
	t->all_stopped = false;
	return left;
}

/* True if the thread, not stopped yet, waits in a call that our stop would end with EINTR. */
static bool is_delicate(const struct mt_tracee *t, const struct mt_inject_thread *thread)
{
	struct mt_inject_wait w;

	mt_inject_read_wait(t, thread->id, &w);
	return w.is_waiting && mt_arch_is_interrupted_by_stop(w.number);
}

/* Those that wait in delicate calls come first, each by itself. The time until its call is repaired
 * is the only one in which our end would show. And a signal that the program ignores wakes any
 * thread, when the one that it is meant for is traced and stopped: these must not be running then.
 * The first thread, which gets most of such signals, is the last of them. */
static void stop_listed(struct mt_tracee *t)
{
	for (int is_first = 0; is_first < 2; is_first++)
		for (uint32_t i = 0; i < t->thread_count; i++) {
			struct mt_inject_thread *thread = t->threads[i];

			if (thread->state != MT_INJECT_SEEN || (thread->id == t->pid) != is_first
				|| !is_delicate(t, thread))
				continue;
			mt_inject_ask(t, thread);
			mt_inject_await(t, thread);
		}
	for (uint32_t i = 0; i < t->thread_count; i++)
		if (t->threads[i]->state == MT_INJECT_SEEN)
			mt_inject_ask(t, t->threads[i]);
	for (uint32_t i = 0; i < t->thread_count; i++)
		mt_inject_await(t, t->threads[i]);
}

/* A thread that did not stop is as good as stopped where it waits in the kernel, and its pc is
 * where a stopped thread's may be. */
static int judge_held(struct mt_tracee *t, struct mt_err *err)
{
	for (uint32_t i = 0; i < t->thread_count; i++) {
		struct mt_inject_thread *thread = t->threads[i];
		const struct mt_inject_range *range;
		struct mt_inject_wait w;

		if (thread->state == MT_INJECT_HELD)
			mt_inject_look(t, thread);
		if (thread->state == MT_INJECT_STOPPED && thread->is_group_stop)
			return mt_fail(err, -EAGAIN, "process %d was stopped by a signal",
				(int)t->pid);
		if (thread->state != MT_INJECT_HELD)
			continue;
		mt_inject_read_wait(t, thread->id, &w);
		range = mt_inject_range(t, w.pc);
		if (!w.is_waiting || range)
			return mt_fail(err, -EAGAIN, "thread %d does not stop%s%s", (int)thread->id,
				range ? ": it is in " : "", range ? range->name : "");
		if (mt_arch_is_fork(w.number))
			return mt_fail(err, -EAGAIN,
				"thread %d waits for a child that it made with vfork",
				(int)thread->id);
	}
	return 0;
}

static int stop_once(struct mt_tracee *t, uint64_t end, struct mt_err *err)
{
	pid_t sharer;
	int error;

	mt_inject_list(t);
	do {
		stop_listed(t);
		if (!mt_inject_list(t))
			break;
		if (mt_inject_now() > end)
			return mt_fail(err, -ETIMEDOUT,
				"process %d makes threads faster than they can be stopped",
				(int)t->pid);
	} while (true);
	error = mt_inject_check_alive(t, err);
	if (!error && t->refused)
		error = mt_fail(err, -EPERM,
			"the kernel does not let memtui stop thread %d of process %d",
			(int)t->refused, (int)t->pid);
	if (!error)
		error = judge_held(t, err);
	if (error)
		return error;
	sharer = mt_inject_sharer(t);
	return sharer ? mt_fail(err, -EAGAIN, "process %d shares the memory of process %d (vfork)",
		       (int)sharer, (int)t->pid)
		      : 0;
}

int mt_tracee_stop(struct mt_tracee *t, unsigned deadline_ms, struct mt_err *err)
{
	uint64_t end = mt_inject_now() + deadline_ms * 1000000ull;
	unsigned looks = 400;
	int error;

	t->refused = 0;
	for (t->patience_ns = MT_INJECT_STOP_NS;; t->patience_ns *= 2) {
		/* on a busy machine, a thread may have to wait long for its turn to stop */
		if (t->patience_ns > MT_INJECT_STOP_MOST_NS)
			t->patience_ns = MT_INJECT_STOP_MOST_NS;
		error = stop_once(t, end, err);
		if (!error) {
			t->all_stopped = true;
			t->patience_ns = MT_INJECT_STOP_NS;
			return 0;
		}
		mt_tracee_resume(t);
		if (error != -EAGAIN || mt_inject_now() > end)
			return error;
		mt_inject_pause(&looks);
	}
}

bool mt_tracee_registers(struct mt_tracee *t, uint32_t index, struct mt_tracee_registers *r)
{
	struct mt_inject_thread *thread = index < t->thread_count ? t->threads[index] : NULL;
	struct mt_inject_wait wait;

	if (!thread || !t->all_stopped)
		return false;
	r->thread = thread->id;
	r->sp = r->pc = r->thread_pointer = 0;
	r->count = 0;
	if (thread->state == MT_INJECT_STOPPED) {
		r->sp = mt_arch_sp(&thread->registers);
		r->pc = mt_arch_pc(&thread->registers);
		r->thread_pointer = mt_arch_thread_pointer(&thread->registers);
		r->count = mt_arch_words(thread->id, &thread->registers, r->words, MT_TRACEE_WORDS);
	} else if (thread->state == MT_INJECT_HELD) {
		mt_inject_read_wait(t, thread->id, &wait);
		r->sp = wait.sp;
		r->pc = wait.pc;
	}
	return true;
}

uint32_t mt_tracee_stopped(const struct mt_tracee *t)
{
	return t->all_stopped ? t->thread_count : 0;
}
