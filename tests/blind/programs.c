/* Programs of which memtui sees not all; the first argument says which. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN_MALLOC /* the executable's own malloc, past any library's */
static char heap[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	used += (size + 15) & ~15ul;
	return used <= sizeof heap ? heap + used - ((size + 15) & ~15ul) : NULL;
}
void free(void *p)
{
	(void)p;
}
#endif

#ifdef PASSES_ON /* its own malloc, which calls the next one */
static unsigned long calls;

void *malloc(size_t size)
{
	static void *(*next)(size_t);

	calls++;
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
	return next(size);
}
#endif

#ifdef BUNDLED /* what a program with mimalloc in it looks like: one of its functions */
static char arena[1 << 16];
static size_t taken;

void *mi_malloc(size_t size);
__attribute__((noinline)) void *mi_malloc(size_t size)
{
	taken += (size + 15) & ~15ul;
	return arena + taken - ((size + 15) & ~15ul);
}
#endif

/* Memory by a bare system call, as an allocator that does not use libc takes it. It lives until the
 * file is there. */
static int grow(const char *until)
{
	size_t size = 24 << 20;
	char *p = (char *)syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, size);
	while (access(until, F_OK) < 0)
		usleep(10000);
	return 0;
}

/* By the instruction itself: syscall() is a function that can be hooked. */
static long call(long number, const void *a, const void *b, const void *c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

/* A child that executes with an empty environment past every hook, and lives until the file is
 * there. */
static int start(char **argv, const char *until)
{
	char *child[] = {argv[0], "grow", (char *)until, NULL}, *none[] = {NULL};
	long pid = syscall(SYS_fork);

	if (pid == 0) {
		call(SYS_execve, argv[3], child, none);
		call(SYS_exit, (void *)1, NULL, NULL);
	}
	return waitpid((pid_t)pid, NULL, 0) == pid ? 0 : 1;
}

int main(int argc, char **argv)
{
	void *volatile p;

	if (argc > 2 && !strcmp(argv[1], "grow"))
		return grow(argv[2]);
	if (argc > 3 && !strcmp(argv[1], "start")) {
		p = malloc(10);
		free(p);
		return start(argv, argv[2]);
	}
	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;
#ifdef BUNDLED
	p = mi_malloc(100);
#else
	p = malloc(100);
#endif
#ifdef PASSES_ON
	free(p);
	return calls == 0;
#endif
	return p == NULL;
}
