/* A coroutine of several pages in a process whose first thread has ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define SIZE (1 << 20)

static void *volatile kept;
static ucontext_t inside, outside;
static pthread_t first;

static __attribute__((noinline)) void deep(int n)
{
	volatile char frame[600];

	memset((char *)frame, n, sizeof frame);
	if (n)
		deep(n - 1);
	else
		free(kept = malloc(32));
	frame[0]++;
}

static void coroutine(void)
{
	for (int i = 0; i < 20000; i++)
		deep(20 + i % 2);
}

static void *run(void *stack)
{
	pthread_join(first, NULL);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = SIZE;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	puts("ok");
	exit(0);
}

int main(void)
{
	pthread_t thread;

	first = pthread_self();
	if (pthread_create(&thread, NULL, run,
		    mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
		return 1;
	pthread_exit(NULL);
}
