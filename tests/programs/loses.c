/* Loses a block of 3,000 bytes for every line that it reads, and says so. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void lose_one(void)
{
	void *volatile lost = malloc(3000);

	*(char *)lost = 1;
	lost = NULL;
}

/* Of calls before, words are left below the stack's end. */
__attribute__((noinline)) static void wipe(void)
{
	volatile char words[16384];

	for (size_t i = 0; i < sizeof words; i++)
		words[i] = 0;
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; fgets(line, sizeof line, stdin); i++) {
		lose_one();
		wipe();
		printf("lost %d\n", i + 1);
	}
	return 0;
}
