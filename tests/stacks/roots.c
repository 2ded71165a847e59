/* Leaks of 100 to 400 bytes below a recursion that two roots call, so deep that 512 frames do not
 * show which. */
#include <stdlib.h>

#define SITE __attribute__((noinline, noclone)) static

SITE void *recurse(int left, size_t size)
{
	void *p = left > 1 ? recurse(left - 1, size) : malloc(size);

	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

SITE int root_a(int depth, size_t size)
{
	return recurse(depth, size) != NULL;
}

SITE int root_b(int depth, size_t size)
{
	return recurse(depth, size) == NULL;
}

int main(void)
{
	return root_a(600, 100) + root_b(600, 200) + root_a(3000, 300) + root_b(3000, 400) - 2;
}
