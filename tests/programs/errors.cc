// errors MODE: what a program can do wrongly with its blocks, on purpose and so that glibc lets it pass; prints the truth.
// mismatches: every way to allocate with every way to free, a line "ALLOCATING-FUNCTION FREEING-FUNCTION KIND KIND BYTES" each.
// double: blocks freed twice; runs under GLIBC_TUNABLES=glibc.malloc.tcache_count=0. abort: once more, so that glibc ends it.
// inside: a free of an address within a block.
// unknown: frees of what malloc has not given. pause: frees of what was allocated in a pause. fork: a child frees its parent's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memtui.h"

#define SITE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") /* no tail call: the site stays in the stack */

static const std::align_val_t wide{64};
static void *(*volatile calls_realloc)(void *, size_t) = realloc; /* compilers know what realloc(NULL) and free(malloc()) are */

#define ALLOCATES(name, expression) SITE static void *name(size_t n) { void *p = expression; KEEP; return p; }
static void *posix(size_t n) { void *p; return posix_memalign(&p, 64, n) ? nullptr : p; }
ALLOCATES(by_malloc, malloc(n))
ALLOCATES(by_calloc, calloc(1, n))
ALLOCATES(by_realloc, calls_realloc(nullptr, n))
ALLOCATES(by_posix_memalign, posix(n))
ALLOCATES(by_aligned_alloc, aligned_alloc(64, n))
ALLOCATES(by_memalign, memalign(64, n))
ALLOCATES(by_valloc, valloc(n))
ALLOCATES(by_pvalloc, pvalloc(n))
ALLOCATES(by_new, ::operator new(n))
ALLOCATES(by_new_nothrow, ::operator new(n, std::nothrow))
ALLOCATES(by_new_aligned, ::operator new(n, wide))
ALLOCATES(by_new_aligned_nothrow, ::operator new(n, wide, std::nothrow))
ALLOCATES(by_new_array, ::operator new[](n))
ALLOCATES(by_new_array_nothrow, ::operator new[](n, std::nothrow))
ALLOCATES(by_new_array_aligned, ::operator new[](n, wide))
ALLOCATES(by_new_array_aligned_nothrow, ::operator new[](n, wide, std::nothrow))

static void sized(void *p, size_t n, const char *name, bool aligned)
{
	void *found = dlsym(RTLD_DEFAULT, name); /* C23's, which glibc may not have */

	if (!found)
		free(p);
	else if (aligned)
		((void (*)(void *, size_t, size_t))found)(p, 64, n);
	else
		((void (*)(void *, size_t))found)(p, n);
}

#define FREES(name, expression) SITE static void name(void *p, size_t n) { (void)n; expression; KEEP; }
FREES(with_free, free(p))
FREES(with_free_sized, sized(p, n, "free_sized", false))
FREES(with_free_aligned_sized, sized(p, n, "free_aligned_sized", true))
FREES(with_realloc, free(realloc(p, n * 3)))
FREES(with_reallocarray, free(reallocarray(p, n, 3)))
FREES(with_delete, ::operator delete(p))
FREES(with_delete_sized, ::operator delete(p, n))
FREES(with_delete_nothrow, ::operator delete(p, std::nothrow))
FREES(with_delete_aligned, ::operator delete(p, wide))
FREES(with_delete_sized_aligned, ::operator delete(p, n, wide))
FREES(with_delete_aligned_nothrow, ::operator delete(p, wide, std::nothrow))
FREES(with_delete_array, ::operator delete[](p))
FREES(with_delete_array_sized, ::operator delete[](p, n))
FREES(with_delete_array_nothrow, ::operator delete[](p, std::nothrow))
FREES(with_delete_array_aligned, ::operator delete[](p, wide))
FREES(with_delete_array_sized_aligned, ::operator delete[](p, n, wide))
FREES(with_delete_array_aligned_nothrow, ::operator delete[](p, wide, std::nothrow))

struct allocates { const char *name, *kind; int family; void *(*call)(size_t); };
struct frees { const char *name, *kind; int family; void (*call)(void *, size_t); };

#define A(name, kind, family) {#name, kind, family, name},
static const allocates allocating[] = {
	A(by_malloc, "malloc", 0) A(by_calloc, "calloc", 0) A(by_realloc, "realloc", 0) A(by_posix_memalign, "posix_memalign", 0)
	A(by_aligned_alloc, "aligned_alloc", 0) A(by_memalign, "memalign", 0) A(by_valloc, "valloc", 0) A(by_pvalloc, "pvalloc", 0)
	A(by_new, "new", 1) A(by_new_nothrow, "new", 1) A(by_new_aligned, "new", 1) A(by_new_aligned_nothrow, "new", 1)
	A(by_new_array, "new[]", 2) A(by_new_array_nothrow, "new[]", 2) A(by_new_array_aligned, "new[]", 2)
	A(by_new_array_aligned_nothrow, "new[]", 2)
};
static const frees freeing[] = {
	A(with_free, "free", 0) A(with_free_sized, "free", 0) A(with_free_aligned_sized, "free", 0) A(with_realloc, "realloc", 0)
	A(with_reallocarray, "reallocarray", 0) A(with_delete, "delete", 1) A(with_delete_sized, "delete", 1)
	A(with_delete_nothrow, "delete", 1) A(with_delete_aligned, "delete", 1) A(with_delete_sized_aligned, "delete", 1)
	A(with_delete_aligned_nothrow, "delete", 1) A(with_delete_array, "delete[]", 2) A(with_delete_array_sized, "delete[]", 2)
	A(with_delete_array_nothrow, "delete[]", 2) A(with_delete_array_aligned, "delete[]", 2)
	A(with_delete_array_sized_aligned, "delete[]", 2) A(with_delete_array_aligned_nothrow, "delete[]", 2)
};

static int mismatches()
{
	size_t n = 64;

	for (const allocates &a : allocating)
		for (const frees &f : freeing) {
			n += 64;
			f.call(a.call(n), n);
			f.call(a.call(n), n);
			if (a.family != f.family)
				printf("%s %s %s %s %zu\n", a.name, f.name, a.kind, f.kind, 2 * n);
		}
	return 0;
}

SITE static void *first_life() { void *p = malloc(40); KEEP; return p; }
SITE static void *second_life() { void *p = malloc(40); KEEP; return p; }
SITE static void *other() { void *p = calloc(1, 40); KEEP; return p; }
SITE static void *fourth() { void *p = malloc(72); KEEP; return p; }
SITE static void *thrice() { void *p = malloc(104); KEEP; return p; }
SITE static void end_first(void *p) { free(p); KEEP; }
SITE static void end_second(void *p) { free(p); KEEP; }
SITE static void end_again(void *p) { free(p); KEEP; }
SITE static void end_third(void *p) { free(p); KEEP; }
SITE static void end_other(void *p) { free(p); KEEP; }
SITE static void *end_in_thread(void *p) { end_second(p); return nullptr; }

// A fastbin knows a block that was freed twice by lying on top of it, and by nothing else.
static int double_frees()
{
	void *p = first_life(), *between = other(), *q;
	pthread_t thread;

	end_first(p);
	if ((q = second_life()) != p) {
		puts("the address was not used again");
		return 3;
	}
	end_second(q);
	end_other(between);
	end_again(q); // of second_life, freed by end_second, again by end_again
	void *other_size = fourth(), *above = fourth();

	if (pthread_create(&thread, nullptr, end_in_thread, other_size) || pthread_join(thread, nullptr))
		return 3;
	end_other(above);
	end_again(other_size); // of fourth, in another thread
	p = thrice();
	q = thrice();
	end_first(p);
	end_other(q);
	end_again(p);
	end_again(q);
	end_again(p); // of thrice, freed by end_first: two times; by end_other: once
	printf("%p\n", p);
	fflush(stdout);
	_exit(0);
}

static int aborts()
{
	void *p = fourth();

	printf("%p\n", p);
	fflush(stdout);
	end_first(p);
	end_again(p);
	return 0;
}

// A free within a block, which goes on.
static int inside()
{
	char *p = static_cast<char *>(fourth());

	printf("%p\n", static_cast<void *>(p));
	fflush(stdout);
	end_first(p + 16);
	return 0;
}

// Chunks of 64 bytes as malloc has them, each followed by another.
alignas(16) static uint64_t fake[64];
static int unknown()
{
	for (int i = 1; i < 64; i += 8)
		fake[i] = 0x40;
	printf("%p %p\n", (void *)&fake[2], (void *)&fake[10]);
	fflush(stdout);
	end_first(&fake[2]);
	end_second(&fake[10]);
	end_second(&fake[18]);
	_exit(0);
}

static int pause_in_between()
{
	void *before = fourth(), *again;

	end_first(before); // known: its address may come again in the pause
	memtui_pause("hidden");
	void *hidden[] = {other(), again = fourth()};
	memtui_resume("seen");
	end_second(hidden[0]);
	end_third(again);
	printf("%s\n", again == before ? "same" : "other");
	return 0;
}

static int fork_and_free()
{
	void *p = fourth();
	pid_t child = fork();
	int status = 0;

	if (!child) {
		end_first(p);
		with_free(by_new(100), 100);
		_exit(0);
	}
	end_first(p);
	return waitpid(child, &status, 0) == child && !status ? 0 : 3;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(); } modes[] = {{"mismatches", mismatches}, {"double", double_frees},
		{"abort", aborts}, {"inside", inside}, {"unknown", unknown}, {"pause", pause_in_between}, {"fork", fork_and_free}};

	setvbuf(stdout, nullptr, _IONBF, 0);
	for (auto &mode : modes)
		if (argc > 1 && !strcmp(argv[1], mode.name))
			return mode.run();
	return 2;
}
