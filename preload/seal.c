/* The two ways by which a system-call filter is installed. What the tracer may need later is
 * prepared before: tables that can grow no more take what they have room for, and count the rest. A
 * filter may hold for one thread only, but threads share the tables: all are sealed alike. */
#include "preload/seal.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <string.h>

#include "preload/ring.h"
#include "preload/rules.h"
#include "preload/segment.h"
#include "preload/sys.h"
#include "preload/tree.h"

#define YIELDS 100

extern char **environ;

static bool attached(void)
{
	return mt_load_acquire(&mt_tracer.phase) == MT_PHASE_ATTACHED && mt_load(mt_tracer.running);
}

static void prepare(void)
{
	if (!attached())
		return;
	mt_segment_open_ahead();
	mt_tree_grow_ahead(MT_SEALED_NODES);
	mt_rules_grow_ahead(MT_SEALED_PCS);
}

/* Other threads may be about to make a call: lets them pass, and wakes those that wait for room. */
static void settle(void)
{
	struct mt_wire_header *h = mt_tracer.header;

	for (int i = 0; i < YIELDS && (i < 4 || (h && mt_load(&h->waiters))); i++) {
		if (h && mt_load(&h->waiters)) {
			mt_add(&h->room, 1);
			mt_arch_call(SYS_futex, (long)&h->room, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
		}
		mt_arch_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
}

/* A recorder that sleeps till it is called is called for the last time. From then on it looks by
 * the clock. */
static void mute(void)
{
	if (!attached())
		return;
	mt_swap(&mt_tracer.header->mute, 1);
	mt_ring_doorbell();
}

static void unmute(void)
{
	if (attached())
		mt_store(&mt_tracer.header->mute, 0);
}

enum seal { SEAL_NONE, SEAL_SEALED, SEAL_FROZEN };

/* Says whether this call is the one that seals, and whether it has stopped the time as well. Strict
 * mode forbids the time-stamp counter, too; the other clock may be a system call. */
static enum seal begin(bool strict)
{
	uint32_t open = 0;
	bool froze;

	if (mt_load(&mt_tracer.sealed) || mt_segment_is_borrowed())
		return SEAL_NONE;
	prepare();
	froze = (strict || mt_tracer.monotonic) && mt_ring_freeze();
	mute();
	if (!mt_swap_if(&mt_tracer.sealed, &open, 1))
		return SEAL_NONE;
	settle();
	return froze ? SEAL_FROZEN : SEAL_SEALED;
}

/* Programs that this one starts inherit the filter: they are not to find what would make them
 * record. The string is replaced and not written to: it may be a constant of the program's. */
static void hide(char *empty)
{
	size_t len = strlen(empty);

	for (char **at = environ; at && *at; at++)
		if (strncmp(*at, empty, len) == 0)
			*at = empty;
}

static void end(enum seal began, bool installed)
{
	static char session[] = MT_WIRE_ENVIRONMENT "=", output[] = "MEMTUI_OUTPUT=";

	if (began == SEAL_NONE)
		return;
	if (!installed) {
		if (began == SEAL_FROZEN)
			mt_ring_thaw();
		unmute();
		mt_store_release(&mt_tracer.sealed, 0);
		return;
	}
	hide(session);
	hide(output);
	if (attached())
		mt_count(MT_COUNTER_SEALED, 1);
}

static enum seal begin_prctl(int option, unsigned long a)
{
	if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV && !mt_segment_is_borrowed())
		mt_ring_freeze(); /* for good: it is not known which threads may read it */
	return option == PR_SET_SECCOMP ? begin(a == SECCOMP_MODE_STRICT) : SEAL_NONE;
}

int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
MT_EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	enum seal began = begin_prctl(option, a);
	int result = mt_tracer.real.prctl(option, a, b, c, d);

	end(began, result == 0);
	return result;
}

/* From syscall(). */
long mt_seal_prctl(long number, long option, long a, long b, long c, long d, long e);
long mt_seal_prctl(long number, long option, long a, long b, long c, long d, long e)
{
	enum seal began = begin_prctl((int)option, (unsigned long)a);
	long result = mt_real_syscall(number, option, a, b, c, d, e);

	end(began, result == 0);
	return result;
}

/* A thread that cannot take the filter is told by its id, unless a listener is asked for: its
 * descriptor comes back. */
long mt_seal_seccomp(long number, long operation, long flags, long arguments, long d, long e,
	long f);
long mt_seal_seccomp(long number, long operation, long flags, long arguments, long d, long e,
	long f)
{
	unsigned what = (unsigned)operation;
	bool strict = what == SECCOMP_SET_MODE_STRICT;
	enum seal began = strict || what == SECCOMP_SET_MODE_FILTER ? begin(strict) : SEAL_NONE;
	long result = mt_real_syscall(number, operation, flags, arguments, d, e, f);

	end(began, flags & SECCOMP_FILTER_FLAG_NEW_LISTENER ? result >= 0 : result == 0);
	return result;
}
