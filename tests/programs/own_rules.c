/* Leaks 3000 bytes that the program itself suppresses, and 500 others. */
#include <stdlib.h>

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:^known$\n";
}

static void *volatile kept[4];

static __attribute__((noinline)) void known(int i)
{
	kept[i] = malloc(1000);
}

static __attribute__((noinline)) void other(void)
{
	kept[3] = malloc(500);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		known(i);
	other();
	return 0;
}
