/* A program with three leaks. MOVED: the same program after a few commits, with another function;
 * FIXED: cache_fill frees what it makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef MOVED
static int checksum(const char *text)
{
	int sum = 0;

	while (*text)
		sum += *text++;
	return sum;
}
#endif

static void *volatile kept;

static void parse(int n)
{
	for (int i = 0; i < n; i++) {
		kept = malloc(1000);
		memset(kept, 1, 1000);
	}
}

static void cache_fill(int n)
{
	for (int i = 0; i < n; i++) {
		char *line = malloc(500);

		kept = line;
		memset(kept, 2, 500);
#ifdef FIXED
		free(line);
#endif
	}
}

static void arena_init(void)
{
	kept = calloc(1, 20000);
}

static void handle(int n)
{
	parse(n);
	cache_fill(n);
}

int main(int argc, char **argv)
{
	arena_init();
#ifdef MOVED
	if (checksum(argv[0]) == 1)
		puts("unlikely");
#endif
	(void)argv;
	handle(100 * argc);
	return 0;
}
