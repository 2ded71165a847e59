// Blocks that are held in known ways. For each case, the program says which block is asked for, what holds it, by which offsets, and
// how much the case's group or block retains by its own arithmetic; then "ready", and it waits. A line is
//	NAME block|group ADDRESS RETAINED-BYTES ROOT-KIND ROOT-NAME STEP…
// where a step is FUNCTION+OFFSET of a holding block, from the root on, and FUNCTION*N+OFFSET stands for N of them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))
#define MAKER(name) \
	extern "C" NOINLINE void *name(size_t size) \
	{ \
		void *made = calloc(1, size); \
		asm volatile("" : "+r"(made)); \
		return made; \
	}

struct say {
	const char *name, *what;
	void *block;
	size_t retained;
	std::string root, steps;
};
static std::vector<std::string> *said; // its own blocks are in no case

static void tell(const char *name, const char *what, const void *block, size_t retained, const std::string &root,
	const std::string &steps = "")
{
	char line[2000];

	snprintf(line, sizeof line, "%s %s %p %zu %s %s", name, what, block, retained, root.c_str(), steps.c_str());
	said->push_back(line);
}

// ---- a variable, and a list ----
MAKER(make_node)
struct node {
	long number;
	node *next;
	char rest[48];
};
node *list;
static void case_list()
{
	node **at = &list;

	for (int i = 0; i < 100; i++, at = &(*at)->next)
		*at = (node *)make_node(sizeof(node));
	node *last = list;

	while (last->next)
		last = last->next;
	tell("list-group", "group", list, 100 * sizeof(node), "data list");
	tell("list-end", "block", last, sizeof(node), "data list", "make_node*99+8");
	tell("list-middle", "block", list->next->next, 98 * sizeof(node), "data list", "make_node*2+8");
}

// ---- one child of two ----
MAKER(make_left)
MAKER(make_right)
MAKER(make_shared)
MAKER(make_own)
void *pair_of[4];
static void case_shared()
{
	void **left = (void **)make_left(32), **right = (void **)make_right(40), *shared = make_shared(1000);

	left[1] = shared;
	left[2] = make_own(500);
	right[1] = shared;
	pair_of[1] = left;
	pair_of[3] = right;
	tell("shared-left", "block", left, 532, "data pair_of+8");
	tell("shared-right", "block", right, 40, "data pair_of+24");
	tell("shared-child", "block", shared, 1000, "data pair_of+8", "make_left+8");
}

// ---- the shortest way, though a longer one stands in front ----
MAKER(make_far)
MAKER(make_near)
MAKER(make_target)
void *ways[2];
__thread void *volatile long_way; // is searched before variables
static void case_shortest()
{
	void **a = (void **)make_far(16), **b = (void **)make_far(16), **c = (void **)make_near(24), *target = make_target(80);

	long_way = a;
	ways[0] = a;
	*a = b;
	*b = target;
	ways[1] = c;
	c[2] = target;
	tell("shortest", "block", target, 80, "data ways+8", "make_near+16");
}

// ---- a cycle ----
MAKER(make_cycle)
void *entrance;
static void case_cycle()
{
	void **first = (void **)make_cycle(24), **at = first;

	for (int i = 0; i < 9; i++)
		at = (void **)(at[1] = make_cycle(24));
	at[1] = first;
	entrance = at;
	tell("cycle", "group", at, 240, "data entrance", "?");
	tell("cycle-block", "block", first, 24 * 9, "data entrance", "make_cycle+8");
}

// ---- thread-local storage, keys ----
MAKER(make_local)
MAKER(make_of_key)
static __thread void *local_word[3];
static pthread_key_t key;
static void case_local()
{
	local_word[2] = make_local(72);
	tell("local", "block", local_word[2], 72, "thread_local local_word+16");
	pthread_key_create(&key, nullptr);
	pthread_setspecific(key, make_of_key(88));
	tell("key", "block", pthread_getspecific(key), 88, "thread_local key" + std::to_string(key));
}

// ---- pointers into the middle ----
MAKER(make_inner)
MAKER(make_behind)
char *inner;
static void case_inner()
{
	char *a = (char *)make_inner(256);

	*(void **)(a + 200) = make_behind(64);
	inner = a + 40;
	tell("inner", "block", a, 320, "data inner");
	tell("behind-inner", "block", *(void **)(a + 200), 64, "data inner", "make_inner+200");
}

// ---- memory that the program has mapped ----
MAKER(make_mapped)
static void case_mapped();
static uintptr_t hidden_map;
extern "C" NOINLINE void *map_heap()
{
	char *reserved = (char *)mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	mprotect(reserved + (256 << 10), 512 << 10, PROT_READ | PROT_WRITE);
	asm volatile("" : "+r"(reserved));
	return reserved;
}
static void case_mapped()
{
	char *map = (char *)map_heap();
	void **word = (void **)(map + (300 << 10));

	*word = make_mapped(104);
	tell("mapped", "block", *word, 104, "mapped map_heap");
	hidden_map = ~(uintptr_t)map;
}

// ---- C++ ----
std::map<int, std::string> *the_map;
std::vector<std::vector<int>> *the_vectors;
struct base_a {
	long a[3];
	virtual ~base_a() {}
};
struct base_b {
	long b[3];
	virtual ~base_b() {}
};
struct derived : base_a, base_b {
	void *own;
};
base_b *second;
MAKER(make_for_derived)
extern "C" NOINLINE void fill_map()
{
	the_map = new std::map<int, std::string>;
	for (int i = 0; i < 50; i++)
		(*the_map)[i] = std::string(100, 'x');
}
extern "C" NOINLINE void fill_vectors()
{
	the_vectors = new std::vector<std::vector<int>>;
	the_vectors->reserve(10);
	for (int i = 0; i < 10; i++)
		the_vectors->emplace_back(100);
}
extern "C" NOINLINE derived *make_derived() { return new derived; }
static void case_containers()
{
	fill_map();
	fill_vectors();
	// a node has three pointers, a colour, the key and the string's 32 bytes; the text has its NUL
	tell("map", "block", the_map, sizeof *the_map + 50 * (32 + sizeof(std::pair<const int, std::string>) + 101), "data the_map");
	tell("map-text", "block", (*the_map)[49].data(), 101, "data the_map", "?");
	tell("vectors", "block", the_vectors, sizeof *the_vectors + 10 * sizeof(std::vector<int>) + 10 * 400, "data the_vectors");
	tell("vectors-inner", "block", (*the_vectors)[7].data(), 400, "data the_vectors",
		"fill_vectors+0 fill_vectors+" + std::to_string(7 * sizeof(std::vector<int>)));
	derived *d = make_derived();

	d->own = make_for_derived(48);
	second = d;
	tell("second-base", "block", d->own, 48, "data second", "make_derived+" + std::to_string((char *)&d->own - (char *)d));
	tell("derived", "block", d, sizeof *d + 48, "data second");
}

// ---- a thread's stack and register ----
MAKER(make_on_stack)
MAKER(make_local_of_thread)
MAKER(make_key_of_thread)
MAKER(make_of_stack)
MAKER(make_in_register)
static pthread_barrier_t barrier;
extern "C" NOINLINE void waits_deeper()
{
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
}
extern "C" NOINLINE void holds_on_stack()
{
	void **volatile held[50] = {};

	held[20] = (void **)make_on_stack(40);
	held[20][3] = make_of_stack(136);
	tell("stack", "block", held[20], 176, "stack holds_on_stack");
	tell("of-stack", "block", held[20][3], 136, "stack holds_on_stack", "make_on_stack+24");
	waits_deeper();
	asm volatile("" : : "r"(held[20]));
}
static void *on_stack(void *)
{
	pthread_setname_np(pthread_self(), "stack holder");
	local_word[1] = make_local_of_thread(96); // lies in the mapping of the stack, behind it
	tell("local-of-thread", "block", local_word[1], 96, "thread_local local_word+8");
	pthread_setspecific(key, make_key_of_thread(112));
	tell("key-of-thread", "block", pthread_getspecific(key), 112, "thread_local key" + std::to_string(key));
	holds_on_stack();
	return nullptr;
}
extern "C" NOINLINE void spins_with(void *held)
{
	register void *word asm("r13") = held;

	pthread_barrier_wait(&barrier);
	for (;;) // no other register that keeps its value over calls has it
		asm volatile("xor %%ebx, %%ebx; xor %%r12d, %%r12d; xor %%r14d, %%r14d; xor %%r15d, %%r15d"
			     : "+r"(word)
			     :
			     : "rbx", "r12", "r14", "r15");
}
static void *in_register(void *)
{
	void *held = make_in_register(56);

	tell("register", "block", held, 56, "registers r13");
	spins_with(held);
	return nullptr;
}

static NOINLINE void wipe_stack()
{
	volatile char room[64 << 10];

	memset((void *)room, 0, sizeof room);
}

int main()
{
	pthread_t thread;

	said = new std::vector<std::string>;
	for (auto one : {case_list, case_shared, case_shortest, case_cycle, case_local, case_inner, case_mapped, case_containers}) {
		one();
		wipe_stack();
	}
	pthread_barrier_init(&barrier, nullptr, 2);
	pthread_create(&thread, nullptr, on_stack, nullptr);
	pthread_barrier_wait(&barrier);
	pthread_create(&thread, nullptr, in_register, nullptr);
	pthread_barrier_wait(&barrier);
	wipe_stack();
	for (auto &line : *said)
		puts(line.c_str());
	puts("ready");
	fflush(stdout);
	getchar();
	_exit(0);
}
