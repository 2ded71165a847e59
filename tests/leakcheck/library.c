#include <stdlib.h>
#include <string.h>

static void *volatile held;

__attribute__((noinline)) void case_library(void)
{
	void *block = malloc(64);

	memset(block, 0, 64);
	held = block;
}
