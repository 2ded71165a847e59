/* The tracer's half of the race: threads that write events. The hooks are left out: malloc is the
 * sanitizer's. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/installed.h"
#include "preload/process/attach.h"
#include "preload/process/ending.h"
#include "preload/process/thread.h"
#include "preload/record/event.h"
#include "preload/segment/rendezvous.h"
#include "tests/stress/race.h"

/* ---- what the left-out parts of the tracer would do ---- */

struct mt_tracer mt_tracer;

int mt_rendezvous(uint64_t forked_from, bool *uncounted)
{
	(void)forked_from;
	(void)uncounted;
	return race.memory ? dup(race.memory) : -EAGAIN;
}

mt_real_syscall_function mt_real_syscall;

void mt_ending_register(void) {}

void mt_thread_starts(uint64_t *low, uint64_t *high)
{
	*low = *high = 0;
}

static bool find_real(void)
{
	return true;
}

static void in_child(void) {}

struct mt_installed mt_installed = {
	.find_real = find_real,
	.in_child = in_child,
	.settings = mt_environment,
};

/* ---- producers ---- */

int race_attach(void)
{
	mt_attach();
	if (mt_load_acquire(&mt_tracer.phase) != MT_PHASE_ATTACHED)
		return -1;
	mt_tracer.own_start = mt_tracer.own_end = 0; /* it takes all of this program for its own */
	mt_tracer.usable_rule = MT_USABLE_NONE;      /* it is not glibc that allocates here */
	race.mapped = mt_tracer.header;
	return 0;
}

static __attribute__((noinline)) void *make(size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = mt_thread_self();
	void *p = malloc(size);

	/* else the compiler knows that nothing is its own before the block */
	__asm__ volatile("" : "+r"(p));
	if (t)
		mt_event_allocated(t, &entry, MT_FUNCTION_MALLOC, p, size);
	return p;
}

static __attribute__((noinline)) void drop(void *p)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = mt_thread_self();

	if (t)
		mt_event_freed(t, &entry, MT_FUNCTION_FREE, p);
	free(p);
}

/* Paths of two kinds of step, so that the tree has many nodes, which threads meet at the same
 * time. */
static __attribute__((noinline)) void *left(uint64_t path, int depth);
static __attribute__((noinline)) void *right(uint64_t path, int depth)
{
	void *volatile p = depth == 0 ? make(path % 3000)
		: path & 1            ? left(path >> 1, depth - 1)
				      : right(path >> 1, depth - 1);

	return p;
}

static __attribute__((noinline)) void *left(uint64_t path, int depth)
{
	void *volatile p = depth == 0 ? make(path % 90000)
		: path & 1            ? left(path >> 1, depth - 1)
				      : right(path >> 1, depth - 1);

	return p;
}

/* A thread that has slept this long is a slow one: it claims the room for each record by itself,
 * just when the pages around go away. */
#define SLEEP_NS 20000000
#define SLOW_ROUNDS 24

static void pause_a_while(long round, uint64_t random)
{
	if (round % SLOW_ROUNDS == 0)
		nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
	for (volatile uint64_t spin = random >> 32 & 0x1fff; spin; spin--)
		;
}

void *race_work(void *number)
{
	uint64_t random = 0x9e3779b97f4a7c15ull * ((uint64_t)number + 1);

	for (long i = 0; i < race.rounds; i++) {
		void *p;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		if (race.pauses)
			pause_a_while(i, random);
		p = left(random >> 16, 2 + (int)(random >> 40) % 9);
		p = __atomic_exchange_n(&race.slots[random % RACE_SLOTS], p, __ATOMIC_ACQ_REL);
		if (p)
			drop(p);
	}
	/* No ring is handed on: that a thread is gone the tracer learns from the kernel, which the
	 * sanitizer does not see. */
	__atomic_sub_fetch(&race.running, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&race.running, __ATOMIC_ACQUIRE))
		sched_yield();
	return NULL;
}
