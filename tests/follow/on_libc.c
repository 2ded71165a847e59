/* A malloc on top of glibc's other names: a library's (preloaded behind the tracer), or a program's
 * own, which comes before it. The program keeps 1,000 blocks. */
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

void *malloc(size_t size)
{
	void *volatile p = __libc_malloc(size);

	return p;
}

/* A call in the place of the return: it comes from whoever called this. */
void *calloc(size_t count, size_t size)
{
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return __libc_realloc(old, size);
}

void free(void *p)
{
	__libc_free(p);
}

#ifdef PROGRAM
static __attribute__((noinline)) void keep(void)
{
	void *volatile p;

	for (int i = 0; i < 500; i++) {
		p = malloc(16);
		p = calloc(1, 16);
	}
	for (int i = 0; i < 100; i++)
		free(realloc(malloc(8), 100));
	(void)p;
}

int main(void)
{
	keep();
	return 0;
}
#endif
