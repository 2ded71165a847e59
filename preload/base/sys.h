/* System calls as the tracer makes them: errno untouched, no cancellation point, no symbol that the
 * program could interpose. All return -errno on failure: -EPERM, without a call, once the program
 * is sealed. A call that the program itself has asked for goes by mt_arch_call. Nothing that an
 * event does without a system call is dearer for any of this. */
#ifndef MT_SYS_H
#define MT_SYS_H

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/base/own.h"
#include "preload/base/tracer.h"

long mt_sys_call(long nr, long a, long b, long c, long d, long e, long f);

/* Where calls belong together: who seals the program waits until the end, so one that puts right
 * what the first of them did is made by mt_arch_call. False: it is sealed, and there is no end. */
bool mt_sys_begin(void);
void mt_sys_end(void);
/* What this thread began has been left by longjmp, or with the thread. */
void mt_sys_forget(void);
/* In a forked child, from its one thread. */
void mt_sys_in_child(void);
/* Whether any other thread may be in a call that it began before the program was sealed. */
bool mt_sys_others_call(void);

/* Blocks all signals of this thread; false, and nothing to be undone, when that cannot be. */
bool mt_signals_block(uint64_t *old);
void mt_signals_unblock(const uint64_t *old);

#define mt_sys0(nr) mt_sys_call((nr), 0, 0, 0, 0, 0, 0)
#define mt_sys1(nr, a) mt_sys_call((nr), (long)(a), 0, 0, 0, 0, 0)
#define mt_sys2(nr, a, b) mt_sys_call((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define mt_sys3(nr, a, b, c) mt_sys_call((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define mt_sys4(nr, a, b, c, d) mt_sys_call((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define mt_sys6(nr, a, b, c, d, e, f) \
	mt_sys_call((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Zeroed private memory, or NULL. */
static inline void *mt_sys_map_for_program(size_t len)
{
	long p = mt_sys6(SYS_mmap, 0, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

/* The same for the tracer's own use. */
static inline void *mt_sys_map(size_t len)
{
	void *p = mt_sys_map_for_program(len);

	if (p)
		mt_own_add(p, len);
	return p;
}

/* Whoever else maps memory there afterwards does not find it in the list of the tracer's own. */
static inline void mt_sys_unmap(void *p, size_t len)
{
	mt_own_remove(p);
	mt_sys2(SYS_munmap, p, len);
}

/* Can eight bytes be read? -EINVAL: they can; -EFAULT: they cannot; else the kernel was not asked.
 * It reads the set before it looks at the command, which is none. */
static inline long mt_sys_look(uint64_t address)
{
	return mt_sys4(SYS_rt_sigprocmask, -1, address, NULL, 8);
}

/* Nanoseconds, in a call of the kernel's: the library's reads the time-stamp counter, which the
 * program may have forbidden. */
static inline uint64_t mt_sys_clock(clockid_t clock)
{
	struct timespec now = {0, 0};

	mt_sys2(SYS_clock_gettime, clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static inline void mt_sys_futex_wake(uint32_t *word)
{
	mt_sys3(SYS_futex, word, FUTEX_WAKE, INT32_MAX);
}

/* Until somebody wakes one of these bits, or CLOCK_MONOTONIC shows until_ns. */
static inline void mt_sys_futex_wait_bits(uint32_t *word, uint32_t value, uint64_t until_ns,
	uint32_t bits)
{
	struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};

	mt_sys6(SYS_futex, word, FUTEX_WAIT_BITSET, value, &until, 0, bits);
}

/* Between two looks at what another thread has: the first ones yield, later ones are a millisecond
 * apart, since that thread may be kept from running. */
#define MT_YIELDS 1000

static inline void mt_sys_rest(int look)
{
	struct timespec pause = {0, 1000000};

	if (look < MT_YIELDS)
		mt_sys0(SYS_sched_yield);
	else
		mt_sys2(SYS_nanosleep, &pause, NULL);
}

/* For how long somebody else is still waited for, look by look. While the whole machine stood
 * still, or this thread was kept from running, he could do no more than we: a look costs no more
 * than it was to take. */
struct mt_patience {
	uint64_t left, since; /* ns; of the look under way, on CLOCK_MONOTONIC */
};

static inline struct mt_patience mt_patience(uint64_t ns)
{
	return (struct mt_patience){ns, mt_sys_clock(CLOCK_MONOTONIC)};
}

/* After a look that was to take no longer than this. False: there is none left. */
static inline bool mt_patience_take(struct mt_patience *p, uint64_t look_ns)
{
	uint64_t now = mt_sys_clock(CLOCK_MONOTONIC), taken = now - p->since;

	if (taken > look_ns)
		taken = look_ns;
	p->since = now;
	p->left -= taken < p->left ? taken : p->left;
	return p->left > 0;
}

#endif
