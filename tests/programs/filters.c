/* filters: allocations of which everything is known, for a test of every filter. Each place
 * (site_*) has its own size; four phases begin with a marker each, and at least 3 ms lie between
 * two. spread: one in each phase. Prints the address of site_big's block. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "memtui.h"

#define SITE __attribute__((noinline, noclone))
#define PHASE_NS 3000000

/* and loops count by volatile numbers: unrolled, each turn would be a group of its own */
static void *volatile sink;

SITE static void *keep(void *p)
{
	sink = p;
	memset(p, 1, 16);
	return p;
}

#define ALLOCATES(name, call) \
	SITE static void *name(void *old, size_t size) \
	{ \
		void *p = call; \
		(void)old; \
		(void)size; \
		return keep(p); \
	}
ALLOCATES(site_early, malloc(100))
ALLOCATES(site_brief, malloc(200))
ALLOCATES(site_apart, malloc(300))
ALLOCATES(site_other, malloc(310))
ALLOCATES(site_start, malloc(64))
ALLOCATES(site_grow, realloc(old, 128))
ALLOCATES(site_last, realloc(old, 4000))
ALLOCATES(site_pair, malloc(70))
ALLOCATES(site_pair_grow, realloc(old, 140))
ALLOCATES(site_worker, malloc(500))
ALLOCATES(site_big, malloc(1 << 20))
ALLOCATES(site_spread, malloc(800))

SITE static void *site_deep(int frames)
{
	void *p = frames ? site_deep(frames - 1) : malloc(600);

	return keep(p);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void phase(const char *marker)
{
	uint64_t until = now_ns() + PHASE_NS;

	while (now_ns() < until)
		;
	memtui_marker(marker);
}

/* early: three, of which the first lives until phase four. brief: two, each freed at once. apart:
 * freed after one other. */
static void *first_phase(void)
{
	void *early[3], *apart;

	for (volatile int i = 0; i < 3; i++)
		early[i] = site_early(NULL, 0);
	for (volatile int i = 0; i < 2; i++)
		free(site_brief(NULL, 0));
	apart = site_apart(NULL, 0);
	site_other(NULL, 0);
	free(apart);
	return early[0];
}

/* A chain of three that is kept, and one of two that is freed; and a stack of six frames of its
 * own. */
static void *second_phase(void)
{
	site_last(site_grow(site_start(NULL, 0), 0), 0);
	free(site_pair_grow(site_pair(NULL, 0), 0));
	return site_deep(5);
}

static void *work(void *unused)
{
	void *blocks[2];

	(void)unused;
	prctl(PR_SET_NAME, "worker");
	for (volatile int i = 0; i < 2; i++)
		blocks[i] = site_worker(NULL, 0);
	return blocks[0];
}

static void *third_phase(void)
{
	pthread_t thread;
	void *first = NULL;

	if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, &first) != 0)
		exit(1);
	return first;
}

static void *fourth_phase(void)
{
	return site_big(NULL, 0);
}

int main(void)
{
	static const struct {
		const char *marker;
		void *(*run)(void);
	} phases[] = {
		{"one", first_phase},
		{"two", second_phase},
		{"three", third_phase},
		{"four", fourth_phase},
	};
	void *kept[4];

	setvbuf(stdout, NULL, _IONBF, 0); /* no block of its own behind the last of ours */
	for (volatile int i = 0; i < 4; i++) {
		phase(phases[i].marker);
		if (i == 3)
			free(kept[2]); /* the worker's first, before site_big */
		kept[i] = phases[i].run();
		site_spread(NULL, 0);
	}
	free(kept[0]);
	printf("%p\n", kept[3]);
	return 0;
}
