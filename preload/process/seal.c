/* The two ways by which a system-call filter is installed. What the tracer may need later is
 * prepared before: tables that can grow no more take what they have room for, and count the rest. A
 * filter may hold for one thread only, but threads share the tables: all are sealed alike. */
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <string.h>

#include "core/rendezvous.h"
#include "preload/base/installed.h"
#include "preload/base/sys.h"
#include "preload/segment/ring.h"
#include "preload/segment/segment.h"
#include "preload/segment/tree.h"
#include "preload/unwind/rules.h"

/* at other threads' calls: a disk may be slow, a thread be kept from running */
#define LOOKS (MT_YIELDS + 1000)
#define PAUSES 10000

extern char **environ;

static bool attached(void)
{
	return mt_load_acquire(&mt_tracer.phase) == MT_PHASE_ATTACHED && mt_load(mt_tracer.running);
}

/* Once a filter holds this cannot be asked, and another thread's may hold already while it is still
 * about to say so. A child of vfork then does to its parent what it does to itself. */
static bool is_borrowed(void)
{
	return !mt_load(&mt_tracer.sealed) && mt_segment_is_borrowed(mt_sys0(SYS_getpid));
}

static void prepare(void)
{
	if (!attached())
		return;
	mt_segment_open_ahead();
	mt_tree_grow_ahead(MT_SEALED_NODES);
	mt_rules_grow_ahead(MT_SEALED_PCS);
}

/* Another thread's filter may hold for this one as well: from when it seals, too, no call is made
 * here, and it waits for the one under way. */
static void rest(int look)
{
	if (mt_load(&mt_tracer.sealed) == mt_tls.sealing)
		mt_sys_rest(look);
	else
		for (int i = 0; i < PAUSES; i++)
			mt_arch_pause();
}

/* Waits for the calls that other threads have begun, and wakes those that wait for room. The other
 * waits are in steps of 50 ms at most, each followed by a call that is refused. */
static void settle(void)
{
	struct mt_wire_header *h = mt_tracer.header;

	mt_tls.sealing++;
	for (int i = 0; i < LOOKS && mt_sys_others_call(); i++) {
		if (h && mt_load(&h->waiters)) {
			mt_add(&h->room, 1);
			mt_sys_futex_wake(&h->room);
		}
		rest(i);
	}
	mt_tls.sealing--;
}

/* A recorder that sleeps till it is called is called for the last time. From then on it looks by
 * the clock. */
static void mute(void)
{
	mt_swap_add(&mt_tracer.header->mute, 1);
	mt_ring_doorbell();
}

/* An installation under way, with what it holds until it is known how it went: several threads may
 * be at it, and what one takes back another may still need. */
struct sealing {
	bool seals, freezes;
	struct mt_wire_header *muted; /* NULL: no recorder had to be told */
};

/* Strict mode forbids the time-stamp counter, too; the other clock may be a system call. Who comes
 * while another is about to seal makes no call any more: all is prepared. */
static struct sealing begin(bool strict)
{
	struct sealing s = {0};

	if (is_borrowed())
		return s;
	s.freezes = strict || mt_tracer.monotonic;
	s.seals = !(mt_load(&mt_tracer.sealed) & MT_FOR_GOOD);
	if (s.seals && !mt_load(&mt_tracer.sealed))
		prepare();
	if (s.freezes)
		mt_ring_freeze();
	if (!s.seals)
		return s;
	if (attached()) {
		s.muted = mt_tracer.header;
		mute();
	}
	mt_swap_add(&mt_tracer.sealed, 1);
	settle();
	return s;
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

static void end(const struct sealing *s, bool installed)
{
	static char session[] = MT_WIRE_ENVIRONMENT "=", output[] = "MEMTUI_OUTPUT=";

	if (s->freezes)
		mt_ring_frozen(installed);
	if (!s->seals)
		return;
	if (!installed) {
		mt_swap_add(&mt_tracer.sealed, -1);
		/* a handler may have forked meanwhile */
		if (s->muted && s->muted == mt_tracer.header && attached())
			mt_swap_add(&s->muted->mute, -1);
		return;
	}
	hide(session);
	hide(output);
	if (!(mt_swap_or(&mt_tracer.sealed, MT_FOR_GOOD) & MT_FOR_GOOD) && attached())
		mt_count(MT_COUNTER_SEALED, 1);
	mt_swap_add(&mt_tracer.sealed, -1);
}

static struct sealing begin_prctl(int option, unsigned long a)
{
	if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV && !is_borrowed()) {
		mt_ring_freeze();
		mt_ring_frozen(true); /* for good: it is not known which threads may read it */
	}
	return option == PR_SET_SECCOMP ? begin(a == SECCOMP_MODE_STRICT) : (struct sealing){0};
}

int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
MT_EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	struct sealing began = begin_prctl(option, a);
	int result = mt_tracer.real.prctl(option, a, b, c, d);

	end(&began, result == 0);
	return result;
}

/* From syscall(). */
long mt_seal_prctl(long number, long option, long a, long b, long c, long d, long e);
long mt_seal_prctl(long number, long option, long a, long b, long c, long d, long e)
{
	struct sealing began = begin_prctl((int)option, (unsigned long)a);
	long result = mt_real_syscall(number, option, a, b, c, d, e);

	end(&began, result == 0);
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
	struct sealing began = {0};
	long result;

	if (strict || what == SECCOMP_SET_MODE_FILTER)
		began = begin(strict);
	result = mt_real_syscall(number, operation, flags, arguments, d, e, f);
	end(&began, flags & SECCOMP_FILTER_FLAG_NEW_LISTENER ? result >= 0 : result == 0);
	return result;
}
