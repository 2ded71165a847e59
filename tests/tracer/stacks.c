/* Prints what glibc's own unwinder says of stacks at which it then allocates a block of a size that
 * tells them apart: "SIZE address address ...", innermost first, addresses relative to their
 * modules. run.sh compares that with what the tracer recorded. */
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
static size_t next_size = 100001;
static char text[1 << 20];
static size_t len;
static void *volatile keep;

/* All but the innermost two, this function's own, whose addresses differ from the allocation's. */
NOINLINE static void here(void)
{
	void *pcs[300];
	int n = backtrace(pcs, 300);

	len += (size_t)snprintf(text + len, sizeof text - len, "%zu", next_size);
	for (int i = 1; i < n; i++) {
		struct link_map *map;
		Dl_info info;

		if (dladdr1(pcs[i], &info, (void **)&map, RTLD_DL_LINKMAP)
			&& !strstr(info.dli_fname, "libmemtui"))
			len += (size_t)snprintf(text + len, sizeof text - len, " %lx",
				(unsigned long)pcs[i] - map->l_addr);
	}
	len += (size_t)snprintf(text + len, sizeof text - len, "\n");
	keep = malloc(next_size++);
	free(keep);
}

NOINLINE static void plain(int depth)
{
	if (depth > 0)
		plain(depth - 1);
	else
		here();
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void moving(int n)
{
	char *p = alloca((size_t)n);

	memset(p, 1, (size_t)n);
	keep = p;
	plain(n % 7);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void realigned(int depth)
{
	_Alignas(128) volatile char space[128];

	space[0] = 1;
	plain(depth);
	space[1] = space[0];
}

static void handler(int number)
{
	plain(number % 3);
}

static int compare(const void *a, const void *b)
{
	static int calls;

	plain(10 + calls++); /* each stack once: the size names it */
	return *(const int *)a - *(const int *)b;
}

static void *thread(void *unused)
{
	plain(3);
	realigned(2);
	return unused;
}

int main(void)
{
	int numbers[3] = {3, 2, 1};
	void *pcs[1];
	pthread_t t;

	backtrace(pcs, 1); /* loads libgcc */
	for (int i = 0; i < 40; i += 7)
		plain(i);
	for (int i = 1; i < 3000; i += 430)
		moving(i);
	for (int i = 0; i < 5; i++)
		realigned(i);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	qsort(numbers, 3, sizeof *numbers, compare);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	fwrite(text, 1, len, stdout);
	return 0;
}
