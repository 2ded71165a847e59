/* self forms | self LIBRARY PREFIX: patches functions in this very process and calls them, before,
 * while and after they are patched. The write needs mprotect here, which writing from outside does
 * not. */
#include "core/patch/patch.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int bad;
#define wrong(...) (bad = 1, printf("wrong: " __VA_ARGS__), puts(""))

/* ---- the writer ---- */

struct mapping {
	struct mt_patch_range range;
	uint64_t offset;
	char path[512];
};
static struct mapping mappings[1024];
static size_t mapping_count;

static void read_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];

	mapping_count = 0;
	while (f && fgets(line, sizeof line, f) && mapping_count < 1024) {
		struct mapping *m = mappings + mapping_count++;

		*m->path = 0;
		sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %511s", &m->range.low,
			&m->range.high, &m->offset, m->path);
	}
	if (f)
		fclose(f);
}

static const struct mapping *mapping_of(uint64_t address)
{
	for (size_t i = 0; i < mapping_count; i++)
		if (address >= mappings[i].range.low && address < mappings[i].range.high)
			return mappings + i;
	return NULL;
}

/* A stub's place beside a module: a page for each module. */
static uint64_t stub_beside(uint64_t low, uint64_t high)
{
	static struct {
		uint64_t low, next, end;
	} pages[16];
	struct mt_patch_range taken[1024];
	struct mt_err err = {0};
	unsigned i = 0;

	while (pages[i].low && pages[i].low != low)
		i++;
	if (!pages[i].low) {
		for (size_t n = 0; n < mapping_count; n++)
			taken[n] = mappings[n].range;
		pages[i].low = low;
		if (mt_patch_place(&pages[i].next, taken, mapping_count, low, high, 4096, &err))
			wrong("%s", err.text);
		pages[i].end = pages[i].next + 4096;
		if (mmap((void *)pages[i].next, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)
			!= (void *)pages[i].next)
			wrong("the place 0x%" PRIx64 " is not free", pages[i].next);
		read_mappings();
	}
	pages[i].next += MT_PATCH_STUB;
	if (pages[i].next > pages[i].end)
		wrong("too many functions in a module");
	return pages[i].next - MT_PATCH_STUB;
}

static void write_code(uint64_t address, const uint8_t *bytes, size_t size)
{
	void *page = (void *)(address & ~4095ull);

	mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy((void *)address, bytes, size);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

/* The size of a function that a symbol names, with padding. */
static size_t length_of(uint64_t address)
{
	const ElfW(Sym) *symbol = NULL;
	size_t gap;
	Dl_info info;

	if (!dladdr1((void *)address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol
		|| (uint64_t)info.dli_saddr != address)
		return 0;
	gap = 4096 - (address + symbol->st_size) % 4096;
	return symbol->st_size
		+ mt_patch_padding((uint8_t *)address + symbol->st_size, gap < 16 ? gap : 16);
}

static struct mt_patch_range module_of(const char *path)
{
	struct mt_patch_range all = {UINT64_MAX, 0};

	for (size_t i = 0; i < mapping_count; i++)
		if (!strcmp(mappings[i].path, path)) {
			if (all.low > mappings[i].range.low)
				all.low = mappings[i].range.low;
			all.high = mappings[i].range.high;
		}
	return all;
}

/* Computes the patch of a function, and writes only the stub. */
static int prepare(struct mt_patch *p, const char *name, void *function, void *hook,
	struct mt_err *err)
{
	uint64_t address = (uint64_t)function, stub;
	int code = -EAGAIN;

	for (unsigned steps = 0; code == -EAGAIN && steps < 8; steps++) {
		const struct mapping *m = mapping_of(address);
		struct mt_patch_function f = {name, address, length_of(address), (void *)address,
			NULL, UINT64_MAX, 0};
		uint8_t *file = malloc(f.len + 1);
		int fd = open(m->path, O_RDONLY);

		if (pread(fd, file, f.len, (off_t)(m->offset + address - m->range.low))
			== (ssize_t)f.len)
			f.file = file;
		else
			wrong("the file of %s cannot be read", name);
		close(fd);
		f.module_low = module_of(m->path).low;
		f.module_high = module_of(m->path).high;
		stub = stub_beside(f.module_low, f.module_high);
		code = mt_patch_make(p, &f, stub, (uint64_t)hook, err);
		f.stays = code == -EAGAIN && !length_of(p->next);
		if (f.stays)
			code = mt_patch_make(p, &f, stub, (uint64_t)hook, err);
		address = p->next;
		free(file);
	}
	if (!code)
		memcpy((void *)p->stub_address, p->stub, p->stub_size);
	return code;
}

static void arm(const struct mt_patch *p)
{
	write_code(p->entry, p->after, p->size);
}

static void disarm(const struct mt_patch *p)
{
	write_code(p->entry, p->before, p->size);
}

/* ---- functions of each form ---- */

typedef uint64_t form(uint64_t, uint64_t);
#define FORMS(X) \
	X(pushes, 1) \
	X(test_je, 1) \
	X(test_je_long, 1) \
	X(cmpb, 1) \
	X(cmp_ja_lea, 1) \
	X(mov_rip_fs, 1) \
	X(mov_fs, 1) \
	X(endbr, 1) \
	X(endbr_itself, a + 1) \
	X(recursive, a + 1) \
	X(short_padded, 1) \
	X(table, 1) \
	X(lock, 1) \
	X(vector, 1) \
	X(alias, 1) \
	X(call, 1) \
	X(late_call, 1)
#define DECLARE(name, calls) form form_##name;
FORMS(DECLARE)
#undef DECLARE
form form_indirect_call, form_short, form_loop;
extern uint64_t scratch, spy_original;
extern struct spied {
	uint64_t words[17];
} spy_given, spy_hook_saw, spy_function_saw;
void spy(void), spy_hook(void), spy_drive(void);

static form *original;
static uint64_t calls;

/* All that a function may change is changed before the original runs. */
static uint64_t form_hook(uint64_t a, uint64_t b)
{
	calls++;
	__asm__ volatile("stc\n mov $-1, %%rax\n mov %%rax, %%rcx\n mov %%rax, %%rdx\n"
			 "mov %%rax, %%r8\n mov %%rax, %%r9\n mov %%rax, %%r10\n mov %%rax, %%r11"
			 :
			 :
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc");
	return original(a, b);
}

static void run(form *f, uint64_t results[4][4])
{
	scratch = 0;
	for (uint64_t a = 0; a < 4; a++)
		for (uint64_t b = 0; b < 4; b++)
			results[a][b] = f(a, b);
}

static void check_form(const char *name, form *f, uint64_t wanted_calls)
{
	uint64_t before[4][4], during[4][4], after[4][4];
	struct mt_err err = {0};
	struct mt_patch p;

	run(f, before);
	if (prepare(&p, name, f, form_hook, &err)) {
		wrong("%s", err.text);
		return;
	}
	original = (form *)p.original;
	calls = 0;
	run(f, during);
	if (calls || memcmp(before, during, sizeof before))
		wrong("%s: the stub alone has changed something", name);
	arm(&p);
	run(f, during);
	disarm(&p);
	if (calls != wanted_calls)
		wrong("%s: %" PRIu64 " calls, not %" PRIu64, name, calls, wanted_calls);
	calls = 0;
	run(f, after);
	if (memcmp(before, during, sizeof before) || memcmp(before, after, sizeof before) || calls)
		wrong("%s: another result", name);
}

static void check_spy(void)
{
	static const uint64_t flags[] = {0x202, 0x202 | 0x8d5}; /* none; all of arithmetic */
	struct mt_err err = {0};
	struct mt_patch p;

	if (prepare(&p, "spy", spy, spy_hook, &err)) {
		wrong("%s", err.text);
		return;
	}
	spy_original = p.original;
	arm(&p);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 16; i++)
			spy_given.words[i] = 0x1111111111111111u * i + round;
		spy_given.words[16] = flags[round];
		memset(&spy_hook_saw, 0, sizeof spy_hook_saw);
		memset(&spy_function_saw, 0, sizeof spy_function_saw);
		spy_drive();
		spy_given.words[7] = spy_function_saw.words[7]; /* rsp */
		for (unsigned i = 0; i < 17; i++)
			if (spy_hook_saw.words[i] != spy_given.words[i]
				|| spy_function_saw.words[i] != spy_given.words[i])
				wrong("register %u: given %" PRIx64 ", the hook saw %" PRIx64
				      ", the function %" PRIx64,
					i, spy_given.words[i], spy_hook_saw.words[i],
					spy_function_saw.words[i]);
	}
	disarm(&p);
}

static void check_refused(const char *name, form *f, enum mt_patch_refusal refusal)
{
	struct mt_err err = {0};
	struct mt_patch p;

	if (!prepare(&p, name, f, form_hook, &err) || p.refusal != refusal)
		wrong("%s is not refused as it should: %s", name, err.text);
}

static int forms(void)
{
	unsigned count = 0;
	uint64_t wanted;

#define CHECK(name, per_call) \
	wanted = 0; \
	for (uint64_t a = 0; a < 4; a++) \
		wanted += 4 * (per_call); \
	check_form(#name, form_##name, wanted); \
	count++;
	FORMS(CHECK)
#undef CHECK
	check_spy();
	check_refused("indirect_call", form_indirect_call, MT_PATCH_REFUSED_CALL);
	check_refused("short", form_short, MT_PATCH_REFUSED_SHORT);
	check_refused("loop", form_loop, MT_PATCH_REFUSED_BRANCH);
	printf("%u forms, and what a hook sees of registers and flags\n", count);
	return bad;
}

/* ---- allocators ---- */

enum { MALLOC, FREE, CALLOC, REALLOC, MEMALIGN, POSIX_MEMALIGN, ALIGNED_ALLOC, USABLE_SIZE, ALL };
static const char *const usual[ALL] = {"malloc", "free", "calloc", "realloc", "memalign",
	"posix_memalign", "aligned_alloc", "malloc_usable_size"};
typedef uint64_t any(uint64_t, uint64_t, uint64_t);
static any *functions[ALL], *originals[ALL];
static bool is_refused[ALL]; /* its calls are not counted */
static __thread unsigned depth;
static uint64_t outermost, nested, from_within;
static struct mt_patch_range module; /* the allocator's */

/* Calls from the module itself are its own affair: when a thread ends, glibc frees what lies in its
 * cache, which the program has freed before. */
static uint64_t through(unsigned which, uint64_t a, uint64_t b, uint64_t c, const void *caller)
{
	bool is_within = (uint64_t)caller >= module.low && (uint64_t)caller < module.high;
	uint64_t result;

	__atomic_fetch_add(depth    ? &nested
			: is_within ? &from_within
				    : &outermost,
		1, __ATOMIC_RELAXED);
	depth++;
	result = originals[which](a, b, c);
	depth--;
	return result;
}

#define HOOK(n) \
	static uint64_t hook_##n(uint64_t a, uint64_t b, uint64_t c) \
	{ \
		return through(n, a, b, c, __builtin_return_address(0)); \
	}
HOOK(0)
HOOK(1)
HOOK(2)
HOOK(3)
HOOK(4)
HOOK(5)
HOOK(6)
HOOK(7)
static any *const hooks[ALL] = {hook_0, hook_1, hook_2, hook_3, hook_4, hook_5, hook_6, hook_7};

#define SLOTS 256u
#define ROUNDS 20000u
struct worker {
	uint64_t state, hash, calls, misaligned;
	struct {
		uint8_t *at;
		size_t size;
		uint8_t fill;
	} slots[SLOTS];
};

static uint64_t next(struct worker *w, uint64_t below)
{
	w->state = w->state * 6364136223846793005u + 1442695040888963407u;
	return (w->state >> 33) % below;
}

static uint64_t call(struct worker *w, unsigned which, uint64_t a, uint64_t b, uint64_t c)
{
	w->calls += !is_refused[which];
	return functions[which](a, b, c);
}

static void check_filled(struct worker *w, unsigned slot, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (w->slots[slot].at[i] != w->slots[slot].fill) {
			wrong("a block has changed");
			return;
		}
}

static void step(struct worker *w)
{
	unsigned slot = (unsigned)next(w, SLOTS), which = (unsigned)next(w, ALL);
	size_t size = 1 + next(w, next(w, 50) ? 500 : 300000), align = 16u << next(w, 6), kept = 0;
	uint8_t *at = w->slots[slot].at;
	uint64_t pointer = 0;

	if (at) {
		check_filled(w, slot, w->slots[slot].size);
		if (call(w, USABLE_SIZE, (uint64_t)at, 0, 0) < w->slots[slot].size)
			wrong("a block is smaller than it was asked for");
	}
	if (which != REALLOC && at)
		call(w, FREE, (uint64_t)at, 0, 0);
	switch (which) {
	case CALLOC: pointer = call(w, CALLOC, 3, size / 3 + 1, 0); break;
	case REALLOC:
		kept = at ? (w->slots[slot].size < size ? w->slots[slot].size : size) : 0;
		pointer = call(w, REALLOC, (uint64_t)at, size, 0);
		break;
	case MEMALIGN:
	case ALIGNED_ALLOC:
		pointer = call(w, which, align, (size + align - 1) / align * align, 0);
		break;
	case POSIX_MEMALIGN: w->hash += call(w, which, (uint64_t)&pointer, align, size); break;
	default: pointer = call(w, MALLOC, size, 0, 0); break;
	}
	w->slots[slot].at = (uint8_t *)pointer;
	if (!pointer) {
		wrong("no memory");
		exit(1);
	}
	if ((which == MEMALIGN || which == ALIGNED_ALLOC || which == POSIX_MEMALIGN)
		&& pointer % align)
		w->misaligned++;
	check_filled(w, slot, kept);
	for (size_t i = 0; which == CALLOC && i < size; i++)
		w->hash += w->slots[slot].at[i];
	w->hash = w->hash * 31 + which * size;
	w->slots[slot].size = size;
	w->slots[slot].fill = (uint8_t)next(w, 256);
	memset((void *)pointer, w->slots[slot].fill, size);
}

static void *work(void *worker)
{
	struct worker *w = worker;

	for (unsigned i = 0; i < ROUNDS; i++)
		step(w);
	for (unsigned i = 0; i < SLOTS; i++)
		if (w->slots[i].at) {
			check_filled(w, i, w->slots[i].size);
			call(w, FREE, (uint64_t)w->slots[i].at, 0, 0);
		}
	return NULL;
}

/* The same work in two threads, always with the same seeds. */
static void workload(uint64_t *hash, uint64_t *made, uint64_t *misaligned)
{
	static struct worker workers[2];
	pthread_t threads[2];

	for (unsigned i = 0; i < 2; i++) {
		memset(workers + i, 0, sizeof *workers);
		workers[i].state = 1 + i;
		pthread_create(threads + i, NULL, work, workers + i);
	}
	*hash = *made = *misaligned = 0;
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		*hash = *hash * 31 + workers[i].hash;
		*made += workers[i].calls;
		*misaligned += workers[i].misaligned;
	}
}

static void *find(void *library, const char *prefix, unsigned which)
{
	char name[64];
	void *at;

	snprintf(name, sizeof name, "%s%s", prefix, usual[which]);
	at = dlsym(library, name);
	if (!at && which == ALIGNED_ALLOC)
		return find(library, prefix, MEMALIGN);
	if (!at && which == USABLE_SIZE) {
		snprintf(name, sizeof name, "%s%s", prefix,
			!strcmp(prefix, "tc_") ? "malloc_size" : "usable_size");
		at = dlsym(library, name);
	}
	return at;
}

static int allocator(const char *file, const char *prefix)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	static struct mt_patch patches[ALL];
	uint64_t hashes[3], made[3], misaligned[3];
	unsigned kept = 0;

	if (!library)
		return wrong("%s", dlerror()), 1;
	for (unsigned i = 0; i < ALL; i++) {
		functions[i] = (any *)find(library, prefix, i);
		if (!functions[i])
			return wrong("there is no %s%s", prefix, usual[i]), 1;
	}
	printf("%s:", file);
	fflush(stdout);
	workload(hashes, made, misaligned);
	read_mappings();
	module = module_of(mapping_of((uint64_t)functions[MALLOC])->path);
	/* free first and malloc last; names of one entry have one patch */
	for (unsigned n = 0; n < ALL; n++) {
		unsigned i = n == 0 ? FREE : n == ALL - 1 ? MALLOC : n == FREE ? USABLE_SIZE : n;
		struct mt_err err = {0};
		bool is_known = false;

		if (prepare(patches + kept, usual[i], functions[i], hooks[i], &err)) {
			is_refused[i] = true;
			printf(" %s;", err.text);
			continue;
		}
		originals[i] = (any *)patches[kept].original;
		for (unsigned k = 0; k < kept; k++)
			is_known |= patches[k].entry == patches[kept].entry;
		kept += !is_known;
	}
	for (unsigned k = 0; k < kept; k++)
		arm(patches + k);
	workload(hashes + 1, made + 1, misaligned + 1);
	for (unsigned k = kept; k-- > 0;)
		disarm(patches + k);
	printf(" %u entries, %" PRIu64 " calls, %" PRIu64 " reached hooks", kept, made[1],
		outermost);
	if (outermost != made[1] || !made[1])
		wrong("not every call has reached a hook");
	printf(", and %" PRIu64 " calls of the allocator itself\n", nested + from_within);
	outermost = from_within = 0;
	workload(hashes + 2, made + 2, misaligned + 2);
	if (outermost + from_within)
		wrong("%" PRIu64 " calls reached a hook that is gone", outermost + from_within);
	if (hashes[0] != hashes[1] || hashes[0] != hashes[2] || made[1] != made[2])
		wrong("another result");
	/* mimalloc 2.0.9 gives some such blocks by itself. */
	if (misaligned[1] && !misaligned[0])
		wrong("%" PRIu64 " blocks are not aligned", misaligned[1]);
	return bad;
}

int main(int argc, char **argv)
{
	read_mappings();
	if (argc == 2 && !strcmp(argv[1], "forms"))
		return forms();
	if (argc == 3)
		return allocator(argv[1], argv[2]);
	fprintf(stderr, "usage: self forms | self LIBRARY PREFIX\n");
	return 2;
}
