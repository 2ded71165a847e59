/* A filter is a program that reads the number of a system call, the machine and the arguments. Only
 * the arguments are not known here: every branch that depends on them is followed both ways. */
#include "core/inject/filters.h"

#include "core/inject/internal.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif
#define STEPS_MOST 200000u

struct word {
	uint32_t value;
	bool known;
};
struct machine {
	const struct sock_filter *code;
	unsigned count, steps;
	uint32_t number;
};
struct state {
	struct word a, x, memory[BPF_MEMWORDS];
};

static struct word load(const struct machine *m, uint32_t offset)
{
	switch (offset) {
	case offsetof(struct seccomp_data, nr): return (struct word){m->number, true};
	case offsetof(struct seccomp_data, arch): return (struct word){AUDIT_ARCH_X86_64, true};
	default: return (struct word){0, false};
	}
}

/* What the kernel refuses to install, such as a division by zero, does not come here. */
static struct word compute(uint16_t operation, struct word a, struct word b)
{
	struct word r = {0, a.known && b.known};

	if (!r.known)
		return r;
	switch (operation) {
	case BPF_ADD: r.value = a.value + b.value; break;
	case BPF_SUB: r.value = a.value - b.value; break;
	case BPF_MUL: r.value = a.value * b.value; break;
	case BPF_DIV: r.value = b.value ? a.value / b.value : 0; break;
	case BPF_AND: r.value = a.value & b.value; break;
	case BPF_OR: r.value = a.value | b.value; break;
	case BPF_XOR: r.value = a.value ^ b.value; break;
	case BPF_LSH: r.value = b.value < 32 ? a.value << b.value : 0; break;
	case BPF_RSH: r.value = b.value < 32 ? a.value >> b.value : 0; break;
	case BPF_NEG: r.value = -a.value; break;
	default: r.known = false;
	}
	return r;
}

static bool compare(uint16_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	default: return (a & b) != 0;
	}
}

static unsigned meaning(struct word result)
{
	if (!result.known)
		return MT_FILTER_UNCLEAR;
	switch (result.value & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG: return MT_FILTER_ALLOWS;
	case SECCOMP_RET_ERRNO:
	case SECCOMP_RET_TRACE: return MT_FILTER_FAILS;
	default: return MT_FILTER_HARMS;
	}
}

/* One instruction that is neither a jump nor the end. False: it is unknown. */
static bool step(const struct machine *m, const struct sock_filter *i, struct state *s)
{
	uint16_t class = BPF_CLASS(i->code);
	struct word constant = {i->k, true};
	bool is_memory = BPF_MODE(i->code) == BPF_MEM;

	if (class != BPF_ALU && class != BPF_MISC
		&& (is_memory || class == BPF_ST || class == BPF_STX) && i->k >= BPF_MEMWORDS)
		return false;
	switch (class) {
	case BPF_LD:
	case BPF_LDX: {
		struct word w = is_memory              ? s->memory[i->k]
			: BPF_MODE(i->code) == BPF_IMM ? constant
			: BPF_MODE(i->code) == BPF_LEN
			? (struct word){sizeof(struct seccomp_data), true}
			: load(m, i->k);

		*(class == BPF_LD ? &s->a : &s->x) = w;
		return true;
	}
	case BPF_ST: s->memory[i->k] = s->a; return true;
	case BPF_STX: s->memory[i->k] = s->x; return true;
	case BPF_ALU:
		s->a = compute(BPF_OP(i->code), s->a, BPF_SRC(i->code) == BPF_X ? s->x : constant);
		return true;
	case BPF_MISC:
		if (BPF_MISCOP(i->code) == BPF_TAX)
			s->x = s->a;
		else
			s->a = s->x;
		return true;
	default: return false;
	}
}

static unsigned follow(struct machine *m, unsigned at, struct state s)
{
	unsigned found = 0;

	for (; at < m->count && m->steps < STEPS_MOST; m->steps++) {
		const struct sock_filter *i = &m->code[at++];
		struct word with = BPF_SRC(i->code) == BPF_X ? s.x : (struct word){i->k, true};

		if (BPF_CLASS(i->code) == BPF_RET)
			return found
				| meaning(BPF_RVAL(i->code) == BPF_A ? s.a
								     : (struct word){i->k, true});
		if (BPF_CLASS(i->code) != BPF_JMP) {
			if (!step(m, i, &s))
				return MT_FILTER_UNCLEAR;
		} else if (BPF_OP(i->code) == BPF_JA) {
			at += i->k < m->count ? i->k : m->count;
		} else if (s.a.known && with.known) {
			at += compare(BPF_OP(i->code), s.a.value, with.value) ? i->jt : i->jf;
		} else {
			found |= follow(m, at + i->jt, s);
			at += i->jf;
		}
	}
	return found | MT_FILTER_UNCLEAR;
}

unsigned mt_filters_judge(const struct sock_filter *code, unsigned count, uint32_t number)
{
	struct machine m = {.code = code, .count = count, .number = number};

	/* the kernel begins with zeroes */
	return follow(&m, 0, (struct state){.a = {0, true}, .x = {0, true}});
}

/* ---- of a process ---------------------------------------------------------------------------- */

/* How bad: 0 the calls can be made. */
static int judge_filter(const struct sock_filter *code, unsigned count,
	const struct mt_tracee_call_wanted *calls, uint32_t call_count, pid_t thread,
	struct mt_err *err)
{
	for (uint32_t i = 0; i < call_count; i++) {
		unsigned may = mt_filters_judge(code, count, (uint32_t)calls[i].number);

		if (may & ~(MT_FILTER_ALLOWS | (calls[i].may_fail ? MT_FILTER_FAILS : 0)))
			return mt_fail(err, -EPERM,
				"the system-call filter (seccomp) of thread %d %s %s, which "
				"memtui has to call in it",
				(int)thread,
				may & MT_FILTER_HARMS           ? "would not survive"
					: may & MT_FILTER_FAILS ? "forbids"
								: "has too many ways to tell what "
								  "it says of",
				calls[i].name);
	}
	return 0;
}

static int judge_thread(pid_t thread, const struct mt_tracee_call_wanted *calls,
	uint32_t call_count, struct mt_err *err)
{
	for (uintptr_t n = 0;; n++) {
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, thread, n, NULL);
		struct sock_filter *code;
		int error;

		if (count < 0 && errno == ENOENT)
			return 0;
		if (count < 0)
			return mt_fail(err, -EPERM,
				"thread %d has a system-call filter (seccomp), which only root of "
				"the whole system may read; memtui has to make calls in it, and "
				"the filter might end it: run memtui as root",
				(int)thread);
		code = mt_alloc(((size_t)count + 1) * sizeof *code);
		if (ptrace(PTRACE_SECCOMP_GET_FILTER, thread, n, code) == count)
			error = judge_filter(code, (unsigned)count, calls, call_count, thread, err);
		else
			error = mt_fail(err, -EPERM, "the filter of thread %d cannot be read",
				(int)thread);
		free(code);
		if (error)
			return error;
	}
}

static bool has_filter(pid_t thread)
{
	char status[8192], *at;

	mt_proc_read(thread, "status", status, sizeof status);
	at = strstr(status, "\nSeccomp:");
	return at && strtol(at + strlen("\nSeccomp:"), NULL, 10) != 0;
}

bool mt_tracee_has_filters(struct mt_tracee *t)
{
	bool found = false;

	mt_inject_list(t);
	for (uint32_t i = 0; i < t->thread_count && !found; i++)
		found = has_filter(t->threads[i]->id);
	return found;
}

int mt_tracee_check_filters(struct mt_tracee *t, const struct mt_tracee_call_wanted *calls,
	uint32_t call_count, struct mt_err *err)
{
	int error = 0;

	for (uint32_t i = 0; i < t->thread_count && !error; i++) {
		const struct mt_inject_thread *thread = t->threads[i];

		if (thread->state == MT_INJECT_STOPPED && has_filter(thread->id))
			error = judge_thread(thread->id, calls, call_count, err);
		else if (thread->state == MT_INJECT_HELD && has_filter(thread->id))
			error = mt_fail(err, -EAGAIN,
				"the system-call filter of thread %d cannot be read while it does "
				"not stop",
				(int)thread->id);
	}
	return error;
}
