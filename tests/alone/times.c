/* Allocates in early(), waits, allocates in late(), tells how many nanoseconds lay between, and
 * waits to be killed. Built as a library (-DHURRIED), it is to be loaded into a reader: its
 * CLOCK_MONOTONIC runs twice as fast as the machine's, as if another machine had made the file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef HURRIED
int clock_gettime(clockid_t which, struct timespec *now)
{
	int error = (int)syscall(SYS_clock_gettime, which, now);

	if (which == CLOCK_MONOTONIC) {
		now->tv_sec = 2 * now->tv_sec + now->tv_nsec / 500000000;
		now->tv_nsec = 2 * now->tv_nsec % 1000000000;
	}
	return error;
}
#else
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline)) void *early(void)
{
	void *volatile p = malloc(24);

	return p;
}

static __attribute__((noinline)) void *late(void)
{
	void *volatile p = malloc(40);

	return p;
}

int main(void)
{
	uint64_t begin, end;

	early();
	begin = now();
	nanosleep(&(struct timespec){0, 300000000}, NULL);
	end = now();
	late();
	printf("%llu\n", (unsigned long long)(end - begin));
	fflush(stdout);
	for (;;)
		pause();
}
#endif
