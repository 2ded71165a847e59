/* Leaks by the hundred: plant_leaks(N) loses N blocks, of several sizes, some of which hold others
 * that are lost with them. All are made by functions whose names begin with plant_. */
#include <stdlib.h>
#include <string.h>

static void *__attribute__((noinline, noclone)) plant_block(size_t size)
{
	void *made = malloc(size);

	memset(made, 0, size);
	__asm__ volatile("" : "+r"(made));
	return made;
}

static void __attribute__((noinline, noclone)) plant_leaks(int count)
{
	void *volatile last = NULL;

	while (count > 0) {
		void **first = (void **)plant_block(16 + (size_t)count % 13 * 24);

		count--;
		if (count % 5 == 0 && count) {
			first[1] = plant_block(40);
			count--;
		}
		last = first;
	}
	last = plant_block(1);
	free(last);
}
