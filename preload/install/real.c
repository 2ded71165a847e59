/* The real functions, looked up at the first call of any. Until then each pointer holds a stand-in;
 * what dlsym itself allocates meanwhile comes from the bootstrap arena. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>

#include "preload/base/installed.h"
#include "preload/base/tracer.h"
#include "preload/hooks/bootstrap.h"
#include "preload/hooks/libc_family.h"
#include "preload/hooks/operators.h"
#include "preload/hooks/prefixed.h"
#include "preload/hooks/signals.h"
#include "preload/install/allocator.h"
#include "preload/install/deepbind.h"
#include "preload/install/patched.h"
#include "preload/process/allocator.h"
#include "preload/symbols/find.h"

static void look_up(void)
{
	struct mt_real real = {.malloc = NULL};
	struct mt_found found;

	mt_tls.flags |= MT_TLS_RESOLVING;
	mt_signal_fence();
#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)
	FIND(malloc);
	FIND(calloc);
	FIND(realloc);
	FIND(free);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
	FIND(malloc_usable_size);
	FIND(pthread_create);
	FIND(thrd_create);
	FIND(_Fork);
	FIND(_exit);
	FIND(dlclose);
	FIND(mmap);
	FIND(mmap64);
	FIND(munmap);
	FIND(mremap);
	FIND(brk);
	FIND(sbrk);
	FIND(mallopt);
	FIND(malloc_trim);
	FIND(prctl);
	void *system_call = dlsym(RTLD_NEXT, "syscall");
#undef FIND
	mt_find_own();
	if (mt_find_next("free_sized", &found)) /* not in every libc */
		*(void **)&real.free_sized = found.function;
	if (mt_find_next("free_aligned_sized", &found))
		*(void **)&real.free_aligned_sized = found.function;
	mt_install_find_allocator(&real);
	mt_libc_family_find(&real);
	mt_prefixed_find();
	mt_operators_find();
	/* every thread finds the same: a race stores the same words */
	mt_tracer.real = real;
	mt_real_syscall = (mt_real_syscall_function)system_call;
	mt_signal_fence();
	mt_tls.flags &= ~MT_TLS_RESOLVING;
}

static bool find_real(void)
{
	if (mt_tls.flags & MT_TLS_RESOLVING)
		return false;
	if (!mt_load(&mt_tracer.found_for_good))
		look_up();
	return true;
}

static void *early(size_t size, size_t alignment)
{
	void *p = mt_bootstrap_allocate(size, alignment);

	if (!p)
		errno = ENOMEM;
	return p;
}

static void *first_malloc(size_t size)
{
	return mt_real_ready() ? mt_tracer.real.malloc(size) : early(size, 1);
}

static void *first_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (mt_real_ready())
		return mt_tracer.real.calloc(count, size);
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : early(bytes, 1);
}

static void *first_realloc(void *old, size_t size)
{
	return mt_real_ready() ? mt_tracer.real.realloc(old, size) : early(size, 1);
}

static void first_free(void *p)
{
	if (mt_real_ready())
		mt_tracer.real.free(p);
}

static int first_posix_memalign(void **at, size_t alignment, size_t size)
{
	if (mt_real_ready())
		return mt_tracer.real.posix_memalign(at, alignment, size);
	*at = mt_bootstrap_allocate(size, alignment);
	return *at ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return mt_real_ready() ? mt_tracer.real.aligned_alloc(alignment, size)
			       : early(size, alignment);
}

static void *first_memalign(size_t alignment, size_t size)
{
	return mt_real_ready() ? mt_tracer.real.memalign(alignment, size) : early(size, alignment);
}

static void *first_valloc(size_t size)
{
	return mt_real_ready() ? mt_tracer.real.valloc(size) : early(size, MT_WIRE_PAGE);
}

static void *first_pvalloc(size_t size)
{
	return mt_real_ready() ? mt_tracer.real.pvalloc(size) : early(size, MT_WIRE_PAGE);
}

static size_t first_usable_size(void *p)
{
	return mt_real_ready() ? mt_tracer.real.malloc_usable_size(p) : 0;
}

/* dlsym may be the program's own, and call these while it is asked for them. */
static void *next(const char *name)
{
	struct mt_found found;

	return mt_find_next(name, &found) ? found.function : NULL;
}

static int first_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	void *(*function)(void *), void *argument)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (mt_real_ready())
		return mt_tracer.real.pthread_create(thread, attr, function, argument);
	*(void **)&create = next("pthread_create");
	return create ? create(thread, attr, function, argument) : EAGAIN;
}

static int first_prctl(int option, ...)
{
	int (*control)(int, ...);
	va_list at;
	unsigned long a[4];

	va_start(at, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(at, unsigned long);
	va_end(at);
	if (mt_real_ready())
		return mt_tracer.real.prctl(option, a[0], a[1], a[2], a[3]);
	*(void **)&control = next("prctl");
	if (control)
		return control(option, a[0], a[1], a[2], a[3]);
	errno = EAGAIN;
	return -1;
}

static long first_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	mt_real_syscall_function call;

	if (mt_real_ready())
		return mt_real_syscall(number, a, b, c, d, e, f);
	*(void **)&call = next("syscall");
	if (call)
		return call(number, a, b, c, d, e, f);
	errno = EAGAIN;
	return -1;
}
mt_real_syscall_function mt_real_syscall = first_syscall;

static int first_dlclose(void *handle)
{
	int (*close)(void *);

	if (mt_real_ready())
		return mt_tracer.real.dlclose(handle);
	*(void **)&close = next("dlclose");
	return close ? close(handle) : -1;
}

struct mt_tracer mt_tracer = {
	.real =
		{
			.malloc = first_malloc,
			.calloc = first_calloc,
			.realloc = first_realloc,
			.free = first_free,
			.posix_memalign = first_posix_memalign,
			.aligned_alloc = first_aligned_alloc,
			.memalign = first_memalign,
			.valloc = first_valloc,
			.pvalloc = first_pvalloc,
			.malloc_usable_size = first_usable_size,
			.pthread_create = first_pthread_create,
			.dlclose = first_dlclose,
			.prctl = first_prctl,
		},
};

struct mt_installed mt_installed = {
	.find_real = find_real,
	.in_child = mt_deepbind_in_child,
	.begun = mt_patched_ask,
	.signals = mt_signals_take,
	.settings = mt_environment,
};
