/* A program whose call frame information mutants.py changes at random. It never unwinds by itself,
 * so it runs the same whatever stands there. It allocates under frames of all sorts: with and
 * without a frame pointer, large and realigned ones, on an alternate signal stack, in a thread, and
 * on stacks of coroutines that are unmapped afterwards. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SITE __attribute__((noinline, noclone)) static
#define COROUTINE_STACK 65536

static unsigned long total;

SITE void allocate(unsigned n)
{
	char *p = malloc(16 + n % 200);

	memset(p, (int)n, 16);
	total += (unsigned char)p[n % 16];
	p = realloc(p, 300);
	free(p);
	__asm__ volatile("" ::: "memory");
}

SITE void leaf(unsigned n)
{
	allocate(n);
	allocate(n + 1);
	total++;
}

SITE void large(unsigned n)
{
	volatile char room[5000];

	room[n % sizeof room] = (char)n;
	leaf(n + (unsigned)room[n % sizeof room]);
	total++;
}

SITE void dynamic(unsigned n)
{
	volatile char *room = __builtin_alloca(n % 64 + 16);

	room[0] = (char)n;
	large(n + (unsigned)room[0]);
	total++;
}

SITE void aligned(unsigned n)
{
	volatile char room[64] __attribute__((aligned(64)));

	room[n % 64] = (char)n;
	dynamic(n);
	total += (unsigned char)room[n % 64];
}

SITE unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f)
{
	leaf(a);
	aligned(b);
	leaf(c ^ d);
	total += a + b * 3 + c * 5 + d * 7 + e * 9 + f * 11;
	return a ^ b ^ c ^ d ^ e ^ f;
}

SITE unsigned recurse(unsigned depth, unsigned n)
{
	unsigned value;

	leaf(n);
	value = depth ? recurse(depth - 1, n * 7 + 1) : many(n, n + 1, n + 2, n + 3, n + 4, n + 5);
	leaf(n + value);
	return value + 1;
}

static int compare(const void *a, const void *b)
{
	leaf(*(const unsigned *)a);
	return *(const int *)a - *(const int *)b;
}

SITE void sort(void)
{
	int values[32];

	for (int i = 0; i < 32; i++)
		values[i] = i * 37 % 101;
	qsort(values, 32, sizeof *values, compare);
	total += (unsigned)values[7];
}

static void handler(int number)
{
	(void)number;
	dynamic(3);
	recurse(2, 9);
}

SITE void signals(void)
{
	static char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 3; i++)
		raise(SIGUSR1);
	action.sa_flags = 0;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 3; i++)
		raise(SIGUSR1);
}

static ucontext_t outside, inside;
static void coroutine(void)
{
	for (unsigned i = 0; i < 4; i++) {
		recurse(4, i);
		swapcontext(&inside, &outside);
		dynamic(i);
	}
}

SITE void coroutines(void)
{
	for (int round = 0; round < 3; round++) {
		char *stack = mmap(NULL, COROUTINE_STACK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		getcontext(&inside);
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = COROUTINE_STACK;
		inside.uc_link = &outside;
		makecontext(&inside, coroutine, 0);
		for (int i = 0; i < 5; i++) {
			swapcontext(&outside, &inside);
			leaf((unsigned)i);
		}
		munmap(stack, COROUTINE_STACK);
		leaf((unsigned)round);
	}
}

static void *thread(void *argument)
{
	recurse(10, (unsigned)(size_t)argument);
	signals();
	return NULL;
}

int main(void)
{
	pthread_t other;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < 4; i++) {
		recurse(20 + i, i);
		many(i, 1, 2, 3, 4, 5);
	}
	sort();
	signals();
	coroutines();
	pthread_create(&other, NULL, thread, (void *)5);
	pthread_join(other, NULL);
	recurse(30, 1);
	printf("%lu\n", total);
	return (int)(total % 97);
}
