/* A program that carries an allocator inside itself: under the names of jemalloc, which no dynamic
 * linker leads to, or with OWN in place of malloc. It counts what main and work ask for, and prints
 * what a trace of it must say: "allocated COUNT BYTES" "live COUNT BYTES" of the process, and the
 * first of a forked child. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 5000
#ifdef OWN
#define je_malloc malloc
#define je_calloc calloc
#define je_realloc realloc
#define je_free free
#define je_sdallocx free_of_size
#define FUNCTION __attribute__((noinline, noipa))
void free_of_size(void *p, size_t size, int flags);
#elif defined EXPORTED
#define FUNCTION __attribute__((noinline, noipa))
#else
#define FUNCTION __attribute__((visibility("hidden"), noinline, noipa))
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) char memory[64 << 20];
static size_t used;
static __thread int asks; /* main or work does, not libc */
#define ASK(call) (asks = 1, (call), asks = 0)
static _Atomic uint64_t allocated, allocated_bytes, freed, freed_bytes;

struct head {
	size_t size;
	size_t room;
	struct head *next;
};
#define HEAD 32
static struct head *lists[16];

static int list_of(size_t size)
{
	int list = 0;

	while (((size_t)32 << list) < size)
		list++;
	return list;
}

static void *take(size_t size)
{
	int list = list_of(size);
	struct head *h;

	pthread_mutex_lock(&lock);
	h = lists[list];
	if (h) {
		lists[list] = h->next;
	} else {
		h = (struct head *)(memory + used);
		used += HEAD + ((size_t)32 << list);
		if (used > sizeof memory)
			abort();
		h->room = (size_t)32 << list;
	}
	h->size = size;
	pthread_mutex_unlock(&lock);
	allocated += (uint64_t)asks;
	allocated_bytes += asks ? size : 0;
	return (char *)h + HEAD;
}

static void give_back(void *p)
{
	struct head *h = (struct head *)((char *)p - HEAD);

	freed += (uint64_t)asks;
	freed_bytes += asks ? h->size : 0;
	pthread_mutex_lock(&lock);
	h->next = lists[list_of(h->size)];
	lists[list_of(h->size)] = h;
	pthread_mutex_unlock(&lock);
}

FUNCTION void *je_malloc(size_t size)
{
	return take(size);
}
FUNCTION void je_free(void *p)
{
	if (p)
		give_back(p);
}
FUNCTION void *je_calloc(size_t count, size_t size)
{
	return memset(je_malloc(count * size), 0, count * size); /* a call within a call */
}
FUNCTION void *je_realloc(void *old, size_t size)
{
	void *p;

	if (!old)
		return je_malloc(size);
	p = take(size);
	memcpy(p, old,
		size < ((struct head *)((char *)old - HEAD))->size
			? size
			: ((struct head *)((char *)old - HEAD))->size);
	give_back(old);
	return p;
}
/* With OWN no name of an allocator, so that the free inside it is what counts. */
FUNCTION void je_sdallocx(void *p, size_t size, int flags)
{
	(void)size;
	(void)flags;
	je_free(p);
}

static void *work(void *seed)
{
	void *kept[64] = {0};
	uint64_t random = (uint64_t)seed;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned at = (random = random * 6364136223846793005u + 1442695040888963407u) >> 58;
		size_t size = 16 + (random >> 40) % 900;

		if (!kept[at])
			ASK(kept[at] = i % 3 ? je_malloc(size) : je_calloc(2, size / 2));
		else if (i % 5 == 0)
			ASK(kept[at] = je_realloc(kept[at], size));
		else if (i % 2)
			ASK(je_free(kept[at])), kept[at] = NULL;
		else
			ASK(je_sdallocx(kept[at], 0, 0)), kept[at] = NULL;
	}
	return NULL;
}

static void tell(FILE *f)
{
	fprintf(f, "allocated %lu %lu\nlive %lu %lu\n", allocated, allocated_bytes,
		allocated - freed, allocated_bytes - freed_bytes);
	fflush(f);
}

int main(int argc, char **argv)
{
	void *(*copied)(size_t) = je_malloc; /* a copied pointer leads there, too */
	pthread_t threads[THREADS];
	FILE *truth = fopen(argc > 1 ? argv[1] : "/dev/stdout", "w");

	ASK(copied(777));
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	tell(truth);
	if (argc > 2 && fork() == 0) {
		FILE *of_child = fopen(argv[2], "w");

		allocated = allocated_bytes = 0; /* its trace begins with the blocks that live */
		ASK(copied(99));
		fprintf(of_child, "allocated %lu %lu\n", allocated, allocated_bytes);
		fclose(of_child);
		_exit(0);
	}
	wait(NULL);
	fclose(truth);
	return 0;
}
