/* The program's own truth: each case counts what it has done, and mixes what it has seen (results,
 * errno, places in the heap) into a sum that must be that of the untraced run. Prints without
 * allocating. */
#ifndef MT_TESTS_TRUTH_H
#define MT_TESTS_TRUTH_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 1000
#define CASE __attribute__((noinline)) static void

struct truth {
	/* count: allocations and reallocations, as groups have them */
	long count, bytes, leaked, leaked_bytes;
	uint64_t seen;
};
static struct truth now;
static long allocations, reallocations, frees;
static uint64_t heap; /* the first block: others are seen relative to it */

static inline void see(uint64_t value)
{
	now.seen = (now.seen ^ value) * 0x100000001b3ull;
	now.seen ^= now.seen >> 29;
}

/* After a call: its result and errno. Blocks of the heap proper are seen by their place. */
static inline void *saw(void *p)
{
	int error = errno;
	uint64_t away = (uint64_t)p - heap;

	see((uint64_t)error);
	see(!p ? 0 : away < 16u << 20 ? away : 1);
	errno = 77;
	return p;
}

static inline void *got(void *p, size_t size)
{
	saw(p);
	if (p) {
		allocations++;
		now.count++;
		now.bytes += (long)size;
		now.leaked++;
		now.leaked_bytes += (long)size;
	}
	return p;
}

static inline void gone(size_t size)
{
	see((uint64_t)errno);
	errno = 77;
	frees++;
	now.leaked--;
	now.leaked_bytes -= (long)size;
}

static inline void *moved(void *p, size_t from, size_t to)
{
	saw(p);
	if (p) {
		reallocations++;
		now.count++;
		now.bytes += (long)to;
		now.leaked_bytes += (long)to - (long)from;
	}
	return p;
}

static int truth_fd = STDOUT_FILENO;

static inline void say(const char *text, int len)
{
	if (write(truth_fd, text, (size_t)len) != len)
		_exit(99);
}

/* kinds: of the groups, in alphabetical order; NULL: whatever libc calls. */
static inline void run_case(const char *name, const char *kinds, void (*function)(size_t))
{
	char text[256];

	now = (struct truth){0, 0, 0, 0, 0};
	errno = 77;
	for (size_t i = 0; i < ROUNDS; i++)
		function(i);
	say(text,
		snprintf(text, sizeof text,
			"CASE case_%s count=%ld bytes=%ld leaked=%ld "
			"leaked_bytes=%ld seen=%016lx%s%s\n",
			name, now.count, now.bytes, now.leaked, now.leaked_bytes,
			(unsigned long)now.seen, kinds ? " kinds=" : "", kinds ? kinds : ""));
}

static inline void say_total(void)
{
	char text[256];

	say(text,
		snprintf(text, sizeof text, "TOTAL allocations=%ld reallocations=%ld frees=%ld\n",
			allocations, reallocations, frees));
}

#endif
