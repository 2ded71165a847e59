/* Whether a stopped thread can be borrowed, and the choice of one. */
#include "core/inject/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

#define IN_DELICATE_CALL "thread %d waits in a system call that cannot be continued (epoll_wait)"

/* The kernel's struct ptrace_rseq_configuration. */
struct rseq_configuration {
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};
/* Of the kernel's struct rseq and struct rseq_cs. */
#define RSEQ_CS_OFFSET 8u
struct rseq_section {
	uint32_t version, flags;
	uint64_t start, size, abort;
};

static bool is_in_sequence(struct mt_tracee *t, const struct mt_inject_thread *thread)
{
	struct rseq_configuration c = {0};
	struct rseq_section section;
	uint64_t at = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread->id, sizeof c, &c) <= 0 || !c.pointer
		|| mt_tracee_read(t, c.pointer + RSEQ_CS_OFFSET, &at, sizeof at) || !at
		|| mt_tracee_read(t, at, &section, sizeof section))
		return false;
	return mt_arch_pc(&thread->registers) - section.start < section.size;
}

/* The signals of a line of /proc/PID/status. */
static uint64_t signals(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

static bool has_pending_signal(const struct mt_inject_thread *thread)
{
	char status[8192];

	mt_proc_read(thread->id, "status", status, sizeof status);
	return (signals(status, "\nSigPnd:") | signals(status, "\nShdPnd:"))
		& ~signals(status, "\nSigBlk:");
}

/* True if the pc is in a module whose functions were listed, but in none of them. */
static bool is_in_unknown_function(const struct mt_tracee *t, uint64_t pc)
{
	for (uint32_t i = 0; i < t->module_count; i++) {
		const struct mt_inject_module *m = &t->modules[i];

		if (pc < m->low || pc >= m->high)
			continue;
		for (uint32_t k = 0; k < m->count; k++)
			if (pc >= m->known[k].low && pc < m->known[k].high)
				return false;
		return true;
	}
	return false;
}

static int judge_stack(struct mt_tracee *t, const struct mt_inject_thread *thread,
	struct mt_err *err)
{
	const struct mt_inject_range *range = NULL;
	struct mt_inject_walk walk;
	int id = (int)thread->id;

	mt_inject_walk(t, &thread->registers, &walk);
	for (uint32_t i = 0; i < walk.count && !range; i++)
		range = mt_inject_range(t, walk.pc[i] - (i ? 1 : 0));
	if (!range && walk.rest)
		range = mt_inject_search(t, walk.rest);
	if (range)
		return mt_fail(err, -EAGAIN, "thread %d is in %s", id, range->name);
	if (walk.signal_handler || (walk.rest && mt_inject_signal_frame(t, walk.rest, 0, 0)))
		return mt_fail(err, -EAGAIN, "thread %d is in a signal handler", id);
	return 0;
}

int mt_inject_usable(struct mt_tracee *t, struct mt_inject_thread *thread, struct mt_err *err)
{
	const struct mt_arch_registers *r = &thread->registers;
	long number = mt_arch_system_call(r);
	int id = (int)thread->id;

	if (thread->is_group_stop)
		return mt_fail(err, -EAGAIN, "process %d was stopped by a signal", (int)t->pid);
	if (!mt_arch_is_64_bit(r))
		return mt_fail(err, -EAGAIN, "thread %d runs 32-bit code", id);
	if (mt_arch_is_interrupted_by_stop(number))
		return mt_fail(err, -EAGAIN, IN_DELICATE_CALL, id);
	if (mt_arch_is_fork(number))
		return mt_fail(err, -EAGAIN, "thread %d makes a process", id);
	if (is_in_sequence(t, thread))
		return mt_fail(err, -EAGAIN, "thread %d is in a restartable sequence (rseq)", id);
	if (has_pending_signal(thread))
		return mt_fail(err, -EAGAIN, "thread %d is about to handle a signal", id);
	if (number < 0 && is_in_unknown_function(t, mt_arch_pc(r)))
		return mt_fail(err, -EAGAIN, "thread %d is in an unnamed function of libc", id);
	return judge_stack(t, thread, err);
}

/* ---- the choice ---- */

/* True if signals that the program may ignore, such as SIGCHLD, are sent to this very thread. While
 * it is stopped, the kernel wakes another one for them, whose epoll_wait then ends with EINTR. */
static bool is_addressed(const struct mt_tracee *t, pid_t thread)
{
	char name[64], children[16];

	snprintf(name, sizeof name, "task/%d/children", (int)thread);
	return thread == t->pid || mt_proc_read(t->pid, name, children, sizeof children);
}

/* How well a thread that runs suits, from 0: it waits in a system call; UNFIT: not at all. */
#define UNFIT 3
static int rank(const struct mt_tracee *t, const struct mt_inject_thread *thread,
	struct mt_err *err)
{
	const struct mt_inject_range *range;
	struct mt_inject_wait w;
	struct mt_proc_stat s;

	if (thread->state != MT_INJECT_SEEN || !mt_proc_stat(thread->id, &s) || s.state == 'D')
		return UNFIT;
	mt_inject_read_wait(t, thread->id, &w);
	if (!w.is_waiting || w.number < 0)
		return 2;
	if (mt_arch_is_interrupted_by_stop(w.number))
		mt_fail(err, -EAGAIN, IN_DELICATE_CALL, (int)thread->id);
	else if (mt_arch_is_fork(w.number))
		mt_fail(err, -EAGAIN, "thread %d makes a process", (int)thread->id);
	else if ((range = mt_inject_range(t, w.pc)))
		mt_fail(err, -EAGAIN, "thread %d is in %s", (int)thread->id, range->name);
	else
		return mt_arch_is_wait(w.number) || is_addressed(t, thread->id);
	return UNFIT;
}

static bool try_thread(struct mt_tracee *t, struct mt_inject_thread *thread, struct mt_err *err)
{
	if (!t->all_stopped) {
		mt_inject_ask(t, thread);
		if (!mt_inject_await(t, thread))
			return false;
	}
	if (thread->state == MT_INJECT_STOPPED && !mt_inject_usable(t, thread, err))
		return true;
	if (!t->all_stopped)
		mt_inject_release(t, thread);
	return false;
}

/* One look at all threads. They take turns, so that none is always the one. */
static pid_t choose(struct mt_tracee *t, pid_t wanted, struct mt_err *err)
{
	t->turn++;
	for (int fit = 0; fit < UNFIT; fit++)
		for (uint32_t i = 0; i < t->thread_count; i++) {
			struct mt_inject_thread *thread =
				t->threads[(i + t->turn) % t->thread_count];

			if ((wanted && thread->id != wanted)
				|| (t->all_stopped ? fit : rank(t, thread, err) != fit))
				continue;
			if (try_thread(t, thread, err))
				return thread->id;
		}
	return 0;
}

pid_t mt_tracee_borrow(struct mt_tracee *t, pid_t wanted, unsigned deadline_ms, struct mt_err *err)
{
	uint64_t end = mt_inject_now() + deadline_ms * 1000000ull;
	struct mt_err why = {.text = "all threads wait in the kernel"};
	unsigned looks = 400;
	pid_t found;

	do {
		int error = mt_inject_check_alive(t, err);

		if (!error)
			error = mt_tracee_refresh(t, err);
		if (error)
			return error;
		mt_inject_ready_walker(t);
		mt_inject_release_late(t);
		if (!t->all_stopped)
			mt_inject_list(t);
		found = choose(t, wanted, &why);
		if (found)
			return found;
		mt_inject_pause(&looks);
	} while (!t->all_stopped && mt_inject_now() < end);
	return mt_fail(err, -ETIMEDOUT, "no thread of process %d can make a call: %s", (int)t->pid,
		why.text);
}

/* ---- what threads are ---- */

/* The last number of the line is that in the innermost PID namespace. */
static uint32_t own_number(const struct mt_inject_thread *thread)
{
	char status[8192], *at, *end;

	mt_proc_read(thread->id, "status", status, sizeof status);
	at = strstr(status, "\nNSpid:");
	if (!at)
		return (uint32_t)thread->id;
	at[strcspn(at + 1, "\n") + 1] = '\0';
	end = strrchr(at, '\t');
	return end ? (uint32_t)strtoul(end + 1, NULL, 10) : (uint32_t)thread->id;
}

bool mt_tracee_has_number_at(struct mt_tracee *t, uint64_t offset)
{
	for (uint32_t i = 0; i < t->thread_count; i++) {
		struct mt_inject_thread *thread = t->threads[i];
		uint64_t base = mt_arch_thread_pointer(&thread->registers);
		uint32_t number;

		if (thread->state != MT_INJECT_STOPPED)
			continue;
		if (mt_tracee_read(t, base + offset, &number, sizeof number)
			|| number != own_number(thread))
			return false;
	}
	return true;
}
