/* What the programs with leaks share: NAME [SEED [REQUESTS [PER_SECOND]]]. REQUESTS 0: until
 * SIGTERM or SIGINT; PER_SECOND 0: as fast as can be. What is done depends on SEED and REQUESTS
 * alone. At the end they give back all but what they leak, and say what that is: 'TRUTH function=…
 * file=… line=… count=… bytes=…'. */
#ifndef LEAKS_COMMON_H
#define LEAKS_COMMON_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static uint64_t random_state;
static unsigned long requests_wanted, per_second;
static volatile sig_atomic_t stopped;
static struct timespec begun;

static inline void on_stop(int number)
{
	(void)number;
	stopped = 1;
}

static inline uint32_t step_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static inline uint32_t next_random(uint32_t below)
{
	return step_random(&random_state) % below;
}

static inline void begin(int argc, char **argv, unsigned long usual_rate)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = on_stop;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	random_state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2654435761u + 1 : 1;
	requests_wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	per_second = argc > 3 ? strtoul(argv[3], NULL, 10) : usual_rate;
	clock_gettime(CLOCK_MONOTONIC, &begun);
}

/* Waits until the request is due; false: it is not wanted any more. */
static inline int next_request(unsigned long done)
{
	struct timespec now, at = begun;
	uint64_t ns;

	if (stopped || (requests_wanted && done >= requests_wanted))
		return 0;
	if (!per_second || done % 16)
		return 1;
	ns = (uint64_t)((double)done * 1e9 / (double)per_second) + (uint64_t)at.tv_nsec;
	at.tv_sec += (time_t)(ns / 1000000000u);
	at.tv_nsec = (long)(ns % 1000000000u);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec < at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec < at.tv_nsec))
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	return !stopped;
}

/* Writes to a block, so that it is not optimised away. */
static NOINLINE void *fill(void *block, size_t size)
{
	memset(block, 'x', size);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

static inline void tell_truth(const char *function, const char *file, int line, unsigned long count,
	unsigned long bytes)
{
	const char *slash = strrchr(file, '/');

	printf("TRUTH function=%s file=%s line=%d count=%lu bytes=%lu\n", function,
		slash ? slash + 1 : file, line, count, bytes);
	fflush(stdout);
}

#endif
