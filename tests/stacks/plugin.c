/* A plug-in whose functions lie at the same places for every FRAME, but whose frames are of that
 * size: see reload.c and jit.c. */
#include <stdlib.h>

static void *volatile keep;
__attribute__((visibility("default"))) void *plugin_back; /* where leaf returns to */

__attribute__((noinline)) static void leaf(volatile char *space)
{
	plugin_back = __builtin_return_address(0);
	keep = malloc(100);
	free(keep);
	space[1] = 2;
}

__attribute__((visibility("default"))) long plugin_work(int n)
{
	volatile char space[FRAME];

	space[0] = (char)n;
	leaf(space);
	return space[0] + n;
}
