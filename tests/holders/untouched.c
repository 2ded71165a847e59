/* A list of blocks of which most pages were never touched: whoever reads these makes them. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 2000

struct block {
	struct block *next;
	char rest[60000];
};
struct block *first;

static void __attribute__((noinline)) fill(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		struct block *made = malloc(sizeof *made);

		if (!first)
			printf("last %p\n", (void *)made);
		made->next = first;
		first = made;
	}
}

int main(void)
{
	fill();
	free(malloc(100)); /* registers forget */
	puts("ready");
	fflush(stdout);
	getchar();
	_exit(0);
}
