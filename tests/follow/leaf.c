/* What the tests execute: allocates 1,000 blocks, prints its arguments, and KEPT if it is set. */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void keep(void)
{
	for (int i = 0; i < 1000; i++) {
		void *volatile p = malloc(16);

		(void)p;
	}
}

int main(int argc, char **argv)
{
	keep();
	for (int i = 0; i < argc; i++)
		printf("%s%s", i ? " " : "", argv[i]);
	printf("\n");
	if (getenv("KEPT"))
		printf("KEPT=%s\n", getenv("KEPT"));
	return 7;
}
