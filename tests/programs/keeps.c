/* Keeps a block of 3,000,000 bytes for every line that it reads, and says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[64];

__attribute__((noinline)) static void keep_one(int number)
{
	kept[number] = malloc(3000000);
	memset(kept[number], 1, 3000000);
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < 64 && fgets(line, sizeof line, stdin); i++) {
		keep_one(i);
		printf("kept %d\n", i + 1);
	}
	return 0;
}
