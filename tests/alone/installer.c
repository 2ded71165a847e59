/* Another installer than preload/install/: it finds the real functions without dlsym, and the
 * settings are its own, not the environment's. All else of the tracer is the same. */
#include "preload/base/installed.h"
#include "preload/hooks/libc_family.h"
#include "preload/hooks/operators.h"
#include "preload/hooks/prefixed.h"
#include "preload/install/allocator.h"
#include "preload/process/allocator.h"
#include "preload/symbols/find.h"

static void fill(const char *name, void *function)
{
	struct mt_found found;

	*(void **)function = mt_find_next(name, &found) ? found.function : NULL;
}

static bool find_real(void)
{
	static struct mt_real real;

	if (mt_load(&mt_tracer.allocator.address))
		return true;
	mt_find_own();
#define FILL(name) fill(#name, &real.name)
	FILL(malloc);
	FILL(calloc);
	FILL(realloc);
	FILL(free);
	FILL(posix_memalign);
	FILL(aligned_alloc);
	FILL(memalign);
	FILL(valloc);
	FILL(pvalloc);
	FILL(malloc_usable_size);
	FILL(pthread_create);
	FILL(thrd_create);
	FILL(dlclose);
	FILL(prctl);
	FILL(mmap);
	FILL(mmap64);
	FILL(munmap);
	FILL(mremap);
	FILL(brk);
	FILL(sbrk);
	FILL(mallopt);
	FILL(malloc_trim);
	FILL(_Fork);
#undef FILL
	fill("syscall", &mt_real_syscall);
	mt_tracer.real = real;
	mt_install_find_allocator(&real);
	mt_libc_family_find(&real);
	mt_prefixed_find();
	mt_operators_find();
	return true;
}

/* The dynamic linker allocates before the constructor: these look up what is missing. */
static void *first_malloc(size_t size)
{
	return find_real() ? mt_tracer.real.malloc(size) : NULL;
}

static void *first_calloc(size_t count, size_t size)
{
	return find_real() ? mt_tracer.real.calloc(count, size) : NULL;
}

static void *first_realloc(void *old, size_t size)
{
	return find_real() ? mt_tracer.real.realloc(old, size) : NULL;
}

static void first_free(void *p)
{
	if (find_real())
		mt_tracer.real.free(p);
}

struct mt_tracer mt_tracer = {
	.real =
		{
			.malloc = first_malloc,
			.calloc = first_calloc,
			.realloc = first_realloc,
			.free = first_free,
		},
};

__attribute__((constructor(101))) static void start(void)
{
	find_real();
}

static char **settings(void)
{
	static char output[] = "MEMTUI_OUTPUT=installer.mem", *all[] = {output, NULL};

	return all;
}

static void in_child(void) {}

struct mt_installed mt_installed = {
	.find_real = find_real,
	.in_child = in_child,
	.settings = settings,
};
mt_real_syscall_function mt_real_syscall;
