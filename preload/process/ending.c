/* The end of the program, where it is to be looked at (MT_SEGMENT_LEAK_CHECK): behind all functions
 * that the program itself has registered, and all destructors, so that what is reachable then is
 * what it keeps on purpose. doc/leak-check.md, "At the end". */
#include "preload/process/ending.h"

#include <stdlib.h>
#include <unistd.h>

#include "preload/base/sys.h"
#include "preload/segment/ring.h"

/* While a leak check has stopped the program, that costs no patience. */
#define PATIENCE_NS 60000000000ull
#define LOOK_NS 10000000ull

static bool is_recorded(const struct mt_wire_header *h)
{
	return h && mt_load_acquire(&mt_tracer.phase) == MT_PHASE_ATTACHED && !mt_tracer.standalone
		&& !mt_load(&mt_tracer.sealed) && mt_load(&h->pid) == (uint32_t)mt_sys0(SYS_getpid);
}

static void wait_for_judgement(void *unused)
{
	struct mt_wire_header *h = mt_tracer.header;
	struct mt_patience patience;

	(void)unused;
	if (!mt_tracer.judge_end || !is_recorded(h))
		return;
	mt_store_release(&h->ending, 1);
	mt_ring_doorbell();
	patience = mt_patience(PATIENCE_NS);
	while (!mt_load_acquire(&h->judged) && !mt_ring_recorder_is_dead()
		&& mt_patience_take(&patience, LOOK_NS))
		mt_sys_futex_wait_bits(&h->judged, 0, patience.since + LOOK_NS,
			FUTEX_BITSET_MATCH_ANY);
}

/* Functions run in the reverse order: what is registered before the program begins comes last, when
 * libraries are done, too. It is asked for, since one function more may need memory of the heap. */
void mt_ending_register(void)
{
	if (mt_tracer.header && mt_tracer.judge_end && &__cxa_atexit)
		__cxa_atexit(wait_for_judgement, NULL, NULL);
}

/* Shells and forked children end so, without the functions above. exit() does not come by here. In
 * a child of vfork, the process is another one than the recorded. */
MT_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	wait_for_judgement(NULL);
	if (mt_tracer.real._exit) /* not our call: a filter may forbid the tracer any */
		mt_tracer.real._exit(status);
	for (;;)
		mt_arch_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

MT_EXPORT __attribute__((noreturn, alias("_exit"))) void _Exit(int);
