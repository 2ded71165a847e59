/* chain COUNT:SIZE:LEFT ...: each step allocates COUNT blocks of SIZE bytes, all live at once,
 * frees all but LEFT of them, and executes this program again for the next step. The last ends. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile blocks[10000];

__attribute__((noinline)) static void step(unsigned count, unsigned size, unsigned left)
{
	for (unsigned i = 0; i < count; i++)
		blocks[i] = malloc(size);
	for (unsigned i = left; i < count; i++)
		free(blocks[i]);
}

int main(int argc, char **argv)
{
	unsigned count, size, left;

	if (argc < 2 || sscanf(argv[1], "%u:%u:%u", &count, &size, &left) != 3 || count > 10000)
		return 2;
	step(count, size, left);
	if (argc < 3)
		return 0;
	argv[1] = argv[0];
	execv("/proc/self/exe", argv + 1);
	return 3;
}
