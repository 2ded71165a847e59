/* Proves that a limit on address space and mlockall do not meet the segment's unused reservation: a
 * program that fits its limit without the tracer fits it with it, and goes on being traced. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static long address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!f || fscanf(f, "%ld", &pages) != 1)
		return -1;
	fclose(f);
	return pages * 4096;
}

int main(void)
{
	struct rlimit limit;

	free(malloc(10));
	if (mlockall(MCL_CURRENT) == 0)
		munlockall();
	limit.rlim_cur = limit.rlim_max = 64l << 20;
	if (setrlimit(RLIMIT_AS, &limit) != 0 || address_space() > 48l << 20) {
		printf("%ld bytes of address space\n", address_space());
		return 1;
	}
	for (int i = 0; i < 1000; i++) {
		char *p = malloc(20 << 20); /* over half of what is left */

		if (!p)
			return 2;
		p[5] = 1;
		free(p);
	}
	return 0;
}
