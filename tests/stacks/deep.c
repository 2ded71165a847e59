/* Allocates ROUNDS times at each of LEVELS levels of a recursion, on the way in and on the way out,
 * and twice in a row. */
#include <stdio.h>
#include <stdlib.h>

#define LEVELS 1500
#define ROUNDS 8

static void *volatile keep;

__attribute__((noinline, noclone)) static void level(int n)
{
	for (int i = 0; i < 2; i++) {
		keep = malloc(100);
		free(keep);
	}
	if (n > 1)
		level(n - 1);
	keep = malloc(200);
	free(keep);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++)
		level(LEVELS);
	puts("done");
	return 0;
}
