/* Allocates through the functions of nocfi.S, blocks of 1,000 bytes where the stack can be followed
 * and of 2,000 where it cannot. */
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 4000

void framed(void (*)(void)), zeroed(void (*)(void)), clobbered(void (*)(void));

static void *volatile keep;

__attribute__((noinline, noclone)) static void followed(void)
{
	keep = malloc(1000);
	free(keep);
}

__attribute__((noinline, noclone)) static void lost(void)
{
	keep = malloc(2000);
	free(keep);
}

__attribute__((noinline, noclone)) static void twice(void)
{
	framed(followed);
	__asm__ volatile("");
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		framed(followed);
		framed(twice);
		zeroed(lost);
		clobbered(lost);
	}
	puts("done");
	return 0;
}
