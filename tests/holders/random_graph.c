/* Blocks that point to each other at random: random_graph SEED BLOCKS. Block i is made by maker i %
 * GROUPS, and is held as a Python twin (random_graph.py) computes by the same numbers. Prints the
 * address of each block. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GROUPS 8
#define ROOTS 10

void *roots[ROOTS];
static uint64_t state;

static uint64_t next(uint64_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

#define MAKER(n) \
	void *__attribute__((noinline, noclone)) make_##n(size_t size) \
	{ \
		void *made = calloc(1, size); \
		__asm__ volatile("" : "+r"(made)); \
		return made; \
	}
#define MAKERS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
MAKERS(MAKER)

int main(int argc, char **argv)
{
	static void *(*const makers[GROUPS])(
		size_t) = {make_0, make_1, make_2, make_3, make_4, make_5, make_6, make_7};
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	void ***blocks;
	uint64_t *words;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	blocks = calloc(count, sizeof *blocks);
	words = calloc(count, sizeof *words);
	for (uint64_t i = 0; i < count; i++) {
		words[i] = 1 + next(12);
		blocks[i] = makers[i % GROUPS](8 * words[i]);
	}
	for (uint64_t i = 0; i < count; i++)
		for (uint64_t k = 0; k < words[i]; k++)
			if (next(8) == 0)
				blocks[i][k] = blocks[next(count)];
	for (int i = 0; i < ROOTS; i++)
		roots[i] = blocks[next(count)];
	for (uint64_t i = 0; i < count; i++)
		printf("%p\n", (void *)blocks[i]);
	for (uint64_t i = 0; i < count; i++)
		blocks[i] = NULL; /* where it was is no root, and holds nothing */
	free(blocks);
	free(words);
	puts("ready");
	fflush(stdout);
	/* stack and registers forget */
	for (volatile char room[32 << 10], *at = room; at < room + sizeof room; at++)
		*at = 0;
	getchar();
	_exit(0);
}
