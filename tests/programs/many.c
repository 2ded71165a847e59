/* Leaks from 131,072 places, each a stack of its own, then says "made", and ends with its standard
 * input. */
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 17

static void *volatile kept;

/* Each bit is another line to call from. */
__attribute__((noinline)) static void descend(int depth, unsigned path)
{
	if (!depth)
		kept = malloc(32);
	else if (path & 1)
		descend(depth - 1, path >> 1);
	else
		descend(depth - 1, path >> 1);
	__asm__ volatile("" : : "r"(path));
}

int main(void)
{
	for (unsigned path = 0; path < 1u << DEPTH; path++)
		descend(DEPTH, path);
	puts("made");
	fflush(stdout);
	return getchar() != EOF;
}
