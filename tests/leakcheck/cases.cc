// Blocks that are held, or lost, in every way that LeakSanitizer and memcheck test. Each case is a function case_NAME; the blocks
// that it makes are told apart by it. It says how many blocks of each verdict it makes. At the point that is judged, the program
// says "ready" and waits; with -DWITH_LSAN it asks LeakSanitizer instead, with -DWITH_VALGRIND valgrind.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef WITH_LSAN
#include <sanitizer/lsan_interface.h>
#endif
#ifdef WITH_VALGRIND
#include <valgrind/memcheck.h>
#endif

#define CASE extern "C" __attribute__((noinline, noclone))

static const int expected_most = 100;
static struct {
	const char *name;
	int lost, indirect, possible, reachable;
} expected[expected_most];
static int expected_count;
#define EXPECT(lost, indirect, possible, reachable) \
	(expected[expected_count++] = {__func__, lost, indirect, possible, reachable})

static void *volatile shown; // what is stored here, the compiler has to make
#define MAKE(size) ({ char *made = static_cast<char *>(malloc(size)); memset(made, 0, size); made; })

// ---- lost ----
CASE void case_lost()
{
	EXPECT(3, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		shown = MAKE(100);
	shown = nullptr;
}
CASE void case_lost_chain()
{
	EXPECT(1, 2, 0, 0);
	void **a = (void **)MAKE(48), **b = (void **)MAKE(48);

	*b = MAKE(48);
	*a = b;
}
CASE void case_lost_cycle()
{
	EXPECT(1, 1, 0, 0);
	void **a = (void **)MAKE(40), **b = (void **)MAKE(40);

	*a = b;
	*b = a;
}
CASE void case_lost_self()
{
	EXPECT(1, 0, 0, 0);
	void **a = (void **)MAKE(40);

	*a = a;
}
CASE void case_lost_tree_by_inner()
{
	EXPECT(1, 1, 0, 0);
	void **a = (void **)MAKE(48);

	*a = MAKE(64) + 32;
}
CASE void case_lost_masked()
{
	static uintptr_t hidden;

	EXPECT(1, 0, 0, 0);
	hidden = ~(uintptr_t)MAKE(72);
	shown = (void *)hidden;
	shown = nullptr;
}
CASE void case_lost_end()
{
	static char *volatile behind;

	EXPECT(1, 0, 0, 0);
	behind = MAKE(80) + 80 + 8; // beyond what malloc has rounded up to
	shown = behind;
	shown = nullptr;
}
// malloc keeps the address of a free chunk, and a chunk begins in the last bytes of the block before it.
CASE void case_lost_before_free_chunk()
{
	static void *volatile fence;

	EXPECT(1, 0, 0, 1);
	shown = MAKE(4008);
	void *volatile next = malloc(8008);

	fence = MAKE(24);
	free(next);
	shown = nullptr;
}
CASE void case_lost_large()
{
	EXPECT(1, 1, 0, 0);
	char *a = MAKE(3 << 20);

	*(void **)(a + (3 << 20) - 8) = MAKE(56);
}
CASE void case_lost_realloc()
{
	EXPECT(1, 0, 0, 0);
	void *a = MAKE(1000);

	shown = realloc(a, 200000);
	shown = nullptr;
}
CASE void case_lost_aligned()
{
	EXPECT(2, 0, 0, 0);
	void *a;

	shown = aligned_alloc(64, 640);
	if (!posix_memalign(&a, 4096, 8192))
		shown = a;
	shown = a = nullptr;
}
CASE void case_lost_zero()
{
	EXPECT(1, 0, 0, 0);
	shown = malloc(0);
	shown = nullptr;
}
CASE void case_lost_freed_holder()
{
	EXPECT(1, 0, 0, 0);
	void **a = (void **)MAKE(4096);

	a[100] = MAKE(88);
	free(a);
}
CASE void *lose_in_thread(void *)
{
	EXPECT(1, 0, 0, 0);
	void *volatile on_stack[64] = {};

	on_stack[40] = MAKE(120);
	return on_stack[41] = nullptr;
}
static void lost_with_thread()
{
	pthread_t t;

	pthread_create(&t, nullptr, lose_in_thread, nullptr);
	pthread_join(t, nullptr);
}
static __thread void *volatile of_ended;
CASE void *lose_thread_local(void *)
{
	EXPECT(1, 0, 0, 0);
	return of_ended = MAKE(136), nullptr;
}
static void lost_with_thread_local()
{
	pthread_t t;

	pthread_create(&t, nullptr, lose_thread_local, nullptr);
	pthread_join(t, nullptr);
}

// ---- held ----
void *volatile global;
static void *volatile array[100];
CASE void case_global()
{
	EXPECT(0, 0, 0, 2);
	global = MAKE(64);
	array[77] = MAKE(64);
}
static void *volatile initialized = (void *)&global;
CASE void case_initialized_data()
{
	EXPECT(0, 0, 0, 1);
	initialized = MAKE(64);
}
static __thread void *volatile thread_local_word;
CASE void case_thread_local()
{
	EXPECT(0, 0, 0, 1);
	thread_local_word = MAKE(64);
}
CASE void case_keys()
{
	pthread_key_t key = 0;

	EXPECT(0, 0, 0, 3); // the second key has its word in a block of the C library's
	pthread_key_create(&key, nullptr);
	pthread_setspecific(key, MAKE(64));
	for (int i = 0; i < 100; i++)
		pthread_key_create(&key, nullptr);
	pthread_setspecific(key, MAKE(64));
}
CASE void case_chain()
{
	static void **volatile first;

	EXPECT(0, 0, 0, 1000);
	for (int i = 0; i < 1000; i++) {
		void **a = (void **)MAKE(24);

		*a = first;
		first = a;
	}
}
CASE void case_large_holder()
{
	static char *volatile holder;

	EXPECT(0, 0, 0, 2);
	holder = (char *)malloc(200 << 20); // most of it is never touched
	*(void **)(holder + (150 << 20)) = MAKE(64);
}
CASE void case_mapped()
{
	static uintptr_t hidden;

	EXPECT(0, 0, 0, 1);
	void **map = (void **)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	map[5000] = MAKE(64);
	hidden = ~(uintptr_t)map;
	shown = (void *)hidden;
	shown = nullptr;
}
CASE void case_mapped_behind_guard() // as the heap of a collector: reserved first, and then made readable in part
{
	static uintptr_t hidden;

	EXPECT(0, 0, 0, 1);
	char *reserved = (char *)mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void **map = (void **)(reserved + (512 << 10));

	mprotect(map, 256 << 10, PROT_READ | PROT_WRITE);
	map[5000] = MAKE(64);
	hidden = ~(uintptr_t)map;
	shown = (void *)hidden;
	shown = nullptr;
}
CASE void case_zero_held()
{
	static void *volatile held;

	EXPECT(0, 0, 0, 1);
	held = malloc(0);
}
static pthread_barrier_t barrier;
CASE void *case_thread_stack(void *)
{
	EXPECT(0, 0, 0, 1);
	void *volatile on_stack[200] = {};

	on_stack[100] = MAKE(64);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return on_stack[100];
}
CASE void *case_thread_register(void *)
{
	EXPECT(0, 0, 0, 1);
	char *held = MAKE(64);

	pthread_barrier_wait(&barrier);
	for (;;) // it runs on, without a call
		asm volatile("" : "+r"(held));
	return held;
}
static ucontext_t inside, outside;
CASE void case_coroutine()
{
	void *volatile on_stack[50] = {};

	on_stack[25] = MAKE(64);
	swapcontext(&inside, &outside);
	shown = on_stack[25];
}
static void other_stack()
{
	static char *volatile stack;

	expected[expected_count++] = {"case_coroutine", 0, 0, 0, 1};
	stack = (char *)malloc(64 << 10);
	getcontext(&inside);
	inside.uc_stack = {stack, 0, 64 << 10};
	inside.uc_link = &outside;
	makecontext(&inside, case_coroutine, 0);
	swapcontext(&outside, &inside);
}

// ---- pointers into the middle ----
CASE void case_inner()
{
	static char *volatile inner;

	EXPECT(0, 0, 2, 0);
	char *a = MAKE(256);

	*(void **)a = MAKE(64);
	inner = a + 40;
}
struct counted {
	void *word;
	counted() { word = nullptr; }
	~counted() { shown = word; }
};
CASE void case_array_new()
{
	static counted *volatile held;

	EXPECT(0, 0, 0, 1);
	held = new counted[10]; // its number stands in front
}
struct first_base {
	long a[3];
	virtual ~first_base() {}
};
struct second_base {
	long b[3];
	virtual ~second_base() {}
};
struct both : first_base, second_base {
	long c;
};
CASE void case_second_base()
{
	static second_base *volatile held;

	EXPECT(0, 0, 0, 1);
	held = new both;
}
CASE void case_length_before()
{
	static char *volatile held;

	EXPECT(0, 0, 0, 1);
	char *a = MAKE(160);

	*(size_t *)a = 152;
	held = a + 8;
}
CASE void case_old_string()
{
	static char *volatile held;

	EXPECT(0, 0, 0, 1);
	size_t *representation = (size_t *)MAKE(24 + 33);

	representation[0] = 20;
	representation[1] = 32;
	held = (char *)(representation + 3);
}
CASE void case_unaligned()
{
	static volatile struct {
		char byte;
		void *word;
	} __attribute__((packed, aligned(16))) odd;

	EXPECT(1, 0, 0, 0);
	odd.word = MAKE(64);
}

// ---- a library that is opened ----
static void library(const char *path)
{
	if (!path)
		return;
	void *handle = dlopen(path, RTLD_NOW);
	void (*fill)() = handle ? (void (*)())dlsym(handle, "case_library") : nullptr;

	if (!fill) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	expected[expected_count++] = {"case_library", 0, 0, 0, 1};
	fill();
}

static __attribute__((noinline)) void wipe_stack()
{
	volatile char room[64 << 10];

	memset((void *)room, 0, sizeof room);
}

int main(int argc, char **argv)
{
	void (*const cases[])() = {case_lost, case_lost_chain, case_lost_cycle, case_lost_self, case_lost_tree_by_inner,
		case_lost_masked, case_lost_end, case_lost_large, case_lost_realloc, case_lost_aligned, case_lost_zero,
		case_lost_freed_holder, lost_with_thread, lost_with_thread_local, case_global, case_initialized_data,
		case_thread_local, case_keys, case_chain, case_large_holder, case_mapped, case_mapped_behind_guard,
		case_zero_held, other_stack, case_inner,
		case_array_new, case_second_base, case_length_before, case_old_string, case_unaligned};
	pthread_t thread;

	static char room[1 << 16];

	setvbuf(stdout, room, _IOFBF, sizeof room); // no block is made for them
	setvbuf(stdin, nullptr, _IONBF, 0);
	if (argc > 2) // what is made from now on
		getchar();
	for (auto one : cases) {
		one();
		wipe_stack();
	}
	library(argc > 1 ? argv[1] : nullptr);
	pthread_barrier_init(&barrier, nullptr, 2);
	pthread_create(&thread, nullptr, case_thread_stack, nullptr);
	pthread_barrier_wait(&barrier);
	pthread_create(&thread, nullptr, case_thread_register, nullptr);
	pthread_barrier_wait(&barrier);
	case_lost_before_free_chunk(); // the last one: nobody takes the chunk
	wipe_stack();
#if defined WITH_LSAN
	__lsan_do_recoverable_leak_check();
	_exit(0);
#elif defined WITH_VALGRIND
	VALGRIND_DO_LEAK_CHECK;
	_exit(0);
#endif
	for (int i = 0; i < expected_count; i++)
		printf("%s %d %d %d %d\n", expected[i].name, expected[i].lost, expected[i].indirect, expected[i].possible,
			expected[i].reachable);
	printf("ready\n");
	fflush(stdout);
	getchar();
	_exit(5);
}
