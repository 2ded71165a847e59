/* Threads of a forked child: one finds the child's own segment, and each begins anew there. */
#include "preload/process/thread_parts.h"

#include <errno.h>
#include <linux/sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/base/installed.h"
#include "preload/segment/segment.h"
#include "preload/symbols/find.h"
#include "preload/unwind/branch.h"

/* The states of the parent's threads. own: of the one thread that lives on, which is this one;
 * without it, that thread may come later, and must find its state out of use. */
static void drop_states(struct mt_thread_state *own)
{
	struct mt_thread_state *t = mt_tracer.all_threads, *next;

	if (own) { /* from here on the list leads nowhere: another thread may fork meanwhile */
		mt_store(&own->busy, MT_BUSY_STALE);
		mt_store_release(&mt_tracer.all_threads, NULL);
	}
	for (; t; t = next) {
		struct mt_wire_record *data = t->data;

		next = t->next;
		t->data = NULL;
		if (mt_tracer.standalone && data)
			mt_sys_unmap(data, mt_tracer.sizes.records * sizeof(struct mt_wire_record));
		if (!own)
			mt_store(&t->busy, MT_BUSY_STALE);
		else if (t != own)
			mt_thread_unmap(t);
	}
}

/* Signals are blocked. The state counts as busy until all of it is new. */
static bool renew(struct mt_thread_state *t)
{
	if (t->busy < MT_BUSY_STALE)
		return true;
	t->reserve = t->limit = t->last = 0;
	t->data = NULL;
	t->memo_truncated = t->resync = t->growing = t->done_count = 0;
	t->generation = MT_NO_GENERATION;
	if (t->capacity > mt_tracer.depth_limit)
		t->capacity = mt_tracer.depth_limit;
	t->gap.active = 0;
	t->sampler.always = 0; /* or it would draw what its parent draws */
	t->gap.marked = 0;
	mt_branch_forget_memo(t);
	mt_branch_forget(t);
	mt_tls.stack_lo = t->stack_lo;
	mt_tls.stack_hi = t->stack_hi;
	if (!mt_thread_claim_ring(t) || !mt_thread_register(t, (int32_t)mt_sys0(SYS_gettid))) {
		mt_tls.self = NULL;
		mt_tls.flags |= MT_TLS_UNTRACED;
		mt_count(MT_COUNTER_THREADS_FULL, 1);
		return false;
	}
	mt_thread_enlist(t);
	mt_signal_fence();
	mt_store(&t->busy, 0);
	return true;
}

bool mt_thread_renew(struct mt_thread_state *t)
{
	uint64_t signals;
	bool blocked = mt_signals_block(&signals), done = renew(t);

	if (blocked)
		mt_signals_unblock(&signals);
	return done;
}

bool mt_thread_find_segment(struct mt_thread_state *own)
{
	uint32_t attached = MT_PHASE_ATTACHED;
	bool done;

	if (mt_load(&mt_tracer.sealed)) { /* what the parent counts, this is added to */
		if (mt_swap_if(&mt_tracer.phase, &attached, MT_PHASE_OFF))
			mt_count(MT_COUNTER_FORKED_CHILDREN, 1);
		return false;
	}
	if (!mt_attach_adopt())
		return false;
	if (!mt_tracer.header) { /* forked while the first thread of all was asking */
		mt_store_release(&mt_tracer.phase, MT_PHASE_OFF);
		return false;
	}
	mt_tls.flags |= MT_TLS_ENTERING;
	mt_signal_fence();
	done = (drop_states(own), mt_attach_forked());
	mt_signal_fence();
	mt_tls.flags &= ~MT_TLS_ENTERING;
	return done;
}

/* Whether the event that a signal handler had interrupted when it forked has been left by
 * longjmp. */
static bool has_left(const struct mt_thread_state *t, const struct mt_entry *entry)
{
	return entry->sp > t->hook_sp && entry->sp - t->stack_lo < t->stack_hi - t->stack_lo
		&& t->hook_sp - t->stack_lo < t->stack_hi - t->stack_lo;
}

/* In the middle of an event, which a signal handler has interrupted. */
static bool is_within(const struct mt_thread_state *t)
{
	return t && t->busy && t->busy < MT_BUSY_STALE;
}

/* No handler sees the state between two segments, nor leaves it there by longjmp. */
static bool change_segment(struct mt_thread_state *t)
{
	uint64_t signals;
	bool blocked = mt_signals_block(&signals), done = mt_thread_find_segment(t) && renew(t);

	if (blocked)
		mt_signals_unblock(&signals);
	return done;
}

MT_COLD bool mt_thread_forked(struct mt_thread_state *t, const struct mt_entry *entry)
{
	bool forked = mt_attach_is_foreign();

	if (forked && is_within(t) && !has_left(t, entry)) {
		mt_segment_scrap(t);
		mt_add(&mt_tracer.missed, 1);
		return false;
	}
	if (forked && change_segment(t))
		return true;
	if (mt_load(&mt_tracer.phase) == MT_PHASE_OFF)
		mt_tls.self = NULL;
	else
		mt_thread_miss();
	return false;
}

void mt_thread_prepare(void)
{
	struct mt_thread_state *t = mt_tls.self;

	if (mt_likely(!mt_attach_is_foreign()) || is_within(t))
		return;
	if (!t)
		mt_thread_enter();
	else if (!change_segment(t) && mt_load(&mt_tracer.phase) == MT_PHASE_OFF)
		mt_tls.self = NULL;
}

/* ---- forks within an event: in a signal handler, which returns into the middle of it --------- */

void mt_thread_in_child(void)
{
	mt_sys_in_child();
	mt_find_in_child(); /* of an untraced process, too */
	mt_installed.in_child();
	if (!mt_attach_is_foreign())
		return;
	mt_attach_note_child();
	if (is_within(mt_tls.self))
		mt_segment_scrap(mt_tls.self);
}

MT_EXPORT pid_t _Fork(void)
{
	pid_t pid;

	if (mt_unlikely(!mt_tracer.real._Fork) && (!mt_real_ready() || !mt_tracer.real._Fork)) {
		errno = ENOSYS;
		return -1;
	}
	pid = mt_tracer.real._Fork();
	if (pid == 0)
		mt_thread_in_child();
	return pid;
}

/* From syscall(), whether the call is one that the next function must make: it returns twice, each
 * time on a copy of this stack. What clone3 is to do the kernel reads for us, since the address may
 * be wrong. */
int mt_thread_forks_within(long number, long a, long b);
int mt_thread_forks_within(long number, long a, long b)
{
	struct clone_args arguments = {.flags = CLONE_VM};
	struct iovec here = {&arguments, CLONE_ARGS_SIZE_VER0};
	struct iovec there = {(void *)a, CLONE_ARGS_SIZE_VER0};

	if (!is_within(mt_tls.self))
		return 0;
	if (number == SYS_clone)
		return !(a & CLONE_VM) && !b;
	if (number == SYS_clone3
		&& (b < CLONE_ARGS_SIZE_VER0
			|| mt_sys6(SYS_process_vm_readv, mt_sys0(SYS_gettid), &here, 1, &there, 1,
				   0)
				!= CLONE_ARGS_SIZE_VER0))
		return 0;
	return number == SYS_fork || (!(arguments.flags & CLONE_VM) && !arguments.stack);
}

long mt_thread_syscall_fork(long number, long a, long b, long c, long d, long e, long f);
long mt_thread_syscall_fork(long number, long a, long b, long c, long d, long e, long f)
{
	long result = mt_real_syscall(number, a, b, c, d, e, f);

	if (result == 0)
		mt_thread_in_child();
	return result;
}
