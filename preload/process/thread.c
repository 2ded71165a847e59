/* Threads: how they enter, and leave what they were in the middle of. */
#include "preload/process/ending.h"
#include "preload/process/thread_parts.h"

#include "preload/segment/ring.h"
#include "preload/unwind/branch.h"
#include "preload/unwind/check.h"

/* For want of a ring: this event counts as lost, as do all that follow. */
static struct mt_thread_state *stay_untraced(void)
{
	mt_tls.flags |= MT_TLS_UNTRACED;
	mt_count(MT_COUNTER_THREADS_FULL, 1);
	mt_count(MT_COUNTER_UNTRACED_EVENTS, 1);
	return NULL;
}

static struct mt_thread_state *enter_once(void)
{
	uint32_t phase = mt_load_acquire(&mt_tracer.phase);
	struct mt_thread_state *t;
	int32_t tid;

	if (phase == MT_PHASE_NEW)
		mt_attach();
	else if (mt_attach_is_foreign())
		mt_thread_find_segment(NULL);
	phase = mt_load_acquire(&mt_tracer.phase);
	if (phase != MT_PHASE_ATTACHED || !mt_load(mt_tracer.running)) {
		if (phase != MT_PHASE_NEW && phase != MT_PHASE_OFF)
			mt_thread_miss();
		return NULL;
	}
	if (mt_load(&mt_tracer.sealed)) /* a state needs memory, and the thread's id */
		return stay_untraced();
	tid = (int32_t)mt_sys0(SYS_gettid);
	t = mt_thread_make(tid);
	if (!t)
		return stay_untraced();
	if (!t->stack_hi && tid == mt_sys0(SYS_getpid))
		mt_thread_find_main_stack(t, (uint64_t)__builtin_frame_address(0));
#ifdef MT_ATTACHED /* nobody has seen it begin */
	else if (!t->stack_hi)
		mt_thread_find_stack(t, (uint64_t)__builtin_frame_address(0));
#endif
	if (mt_tls.flags & MT_TLS_LEAVING)
		mt_store_release(&t->leaving, 1);
	mt_signal_fence();
	mt_tls.self = t;
	return t;
}

MT_COLD struct mt_thread_state *mt_thread_enter(void)
{
	struct mt_thread_state *t;
	uint64_t signals;
	bool blocked;

	if (mt_likely(mt_load(&mt_tracer.phase) == MT_PHASE_OFF) || mt_tls.flags & MT_TLS_ENTERING)
		return NULL;
	if (mt_tls.flags & MT_TLS_UNTRACED && mt_attach_is_foreign())
		mt_tls.flags &= ~MT_TLS_UNTRACED; /* a new segment, new rings */
	if (mt_tls.flags & MT_TLS_UNTRACED) {
		mt_count(MT_COUNTER_UNTRACED_EVENTS, 1);
		return NULL;
	}
	mt_tls.flags |= MT_TLS_ENTERING;
	mt_signal_fence();
	blocked = mt_signals_block(&signals); /* no handler leaves this by longjmp */
	t = enter_once();
	mt_signal_fence();
	mt_tls.flags &= ~MT_TLS_ENTERING;
	if (blocked)
		mt_signals_unblock(&signals);
	return t;
}

__attribute__((constructor)) static void started(void)
{
	if (!mt_is_glibc())
		return;
	mt_thread_self();
	mt_check_start();
	mt_ending_register();
	__register_atfork(NULL, NULL, mt_thread_in_child, &__dso_handle);
}

MT_COLD void mt_thread_recover(struct mt_thread_state *t)
{
	mt_count(MT_COUNTER_ABANDONED, 1);
	if (t == mt_tls.self)
		mt_sys_forget();
	mt_ring_abandon(t);
	if (t->growing)
		__atomic_fetch_and(&mt_tracer.growing, ~t->growing, __ATOMIC_RELEASE);
	t->growing = 0;
	mt_branch_forget_memo(t);
	mt_signal_fence();
	mt_store(&t->busy, 0);
}
