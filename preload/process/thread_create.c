/* How threads begin and end: what a thread's creator knows of its stack, and a word when its
 * function has returned. */
#undef __EXCEPTIONS /* pthread_cleanup_push in the form that needs libc alone, not libgcc */
#include "preload/base/installed.h"
#include "preload/process/thread.h"

#include "preload/base/sys.h"
#include "preload/process/exec.h"

/* of pthread_cleanup_push, and glibc's alone: see preload/base/libc.h */
#pragma weak __pthread_register_cancel
#pragma weak __pthread_unregister_cancel

/* What a new thread needs from its creator. Not on the program's heap, whose layout must not
 * change. */
struct start {
	void *(*function)(void *);
	void *argument;
	uint64_t stack_size;
	uint32_t taken;
};
#define STARTS_PER_PAGE ((MT_WIRE_PAGE - sizeof(void *)) / sizeof(struct start))
struct mt_start_page {
	struct mt_start_page *next;
	struct start starts[STARTS_PER_PAGE];
};

static struct start *take_start(void)
{
	struct mt_start_page *page, *next;

	for (page = mt_load_acquire(&mt_tracer.start_pages); page; page = page->next)
		for (size_t i = 0; i < STARTS_PER_PAGE; i++) {
			uint32_t taken = 0;

			if (!mt_load(&page->starts[i].taken)
				&& mt_swap_if(&page->starts[i].taken, &taken, 1))
				return &page->starts[i];
		}
	/* of the program's: it has arguments that nobody else holds yet */
	page = mt_sys_map_for_program(sizeof *page);
	if (!page)
		return NULL;
	mt_count_private(sizeof *page);
	page->starts[0].taken = 1;
	next = mt_load(&mt_tracer.start_pages);
	do {
		page->next = next;
	} while (!mt_swap_if(&mt_tracer.start_pages, &next, page));
	return &page->starts[0];
}

/* Frees still come after this, from destructors of thread-local objects. */
static void leave(void *unused)
{
	struct mt_thread_state *t = mt_tls.self;
	long tid;

	(void)unused;
	mt_tls.flags |= MT_TLS_LEAVING;
	mt_sys_forget();
	mt_exec_leave();
	if (!t)
		return;
	/* it recorded first in a child of vfork */
	if (mt_unlikely(!mt_load(&t->tid)) && (tid = mt_sys0(SYS_gettid)) > 0)
		mt_store(&t->tid, (int32_t)tid);
	mt_store_release(&t->leaving, 1);
}

/* These are on the stack of a thread as long as it lives, and the tracer is not at work. */
#define STARTS __attribute__((section("mt_starts"), noinline))
extern const char __start_mt_starts[] __attribute__((visibility("hidden")));
extern const char __stop_mt_starts[] __attribute__((visibility("hidden")));

void mt_thread_starts(uint64_t *low, uint64_t *high)
{
	*low = (uint64_t)__start_mt_starts;
	*high = (uint64_t)__stop_mt_starts;
}

static STARTS void *run(void *at)
{
	struct start *start = at;
	void *(*function)(void *) = start->function;
	/* the C library keeps it as long as the thread lives, where we do not stand in between:
	 * a leak check must find it */
	void *volatile argument = start->argument;
	void *result;

	/* struct pthread, which pthread_self is the address of, lies above all frames of the
	 * stack */
	mt_tls.stack_hi = start->stack_size ? (uint64_t)pthread_self() : 0;
	mt_tls.stack_lo = mt_tls.stack_hi - start->stack_size;
	start->argument = NULL;
	mt_store_release(&start->taken, 0);
	pthread_cleanup_push(leave, NULL);
	result = function(argument);
	pthread_cleanup_pop(1);
	return result;
}

/* The function of thrd_create returns an int, in the same register: what lies beside it nobody
 * looks at. */
static STARTS int run_thrd(void *at)
{
	return (int)(intptr_t)run(at);
}

/* Never more than there is. Of attributes without a size the C library tells the default of the
 * moment. */
static uint64_t stack_size(const pthread_attr_t *attr)
{
	static const pthread_attr_t defaults;
	size_t size, guard;

	if (pthread_attr_getstacksize(attr ? attr : &defaults, &size) != 0)
		return 0;
	if (!attr || pthread_attr_getguardsize(attr, &guard) != 0 || guard > size)
		guard = MT_WIRE_PAGE;
	return size > guard + 2 * MT_WIRE_PAGE ? size - guard - MT_WIRE_PAGE : 0;
}

static struct start *prepare_start(const pthread_attr_t *attr, void *(*function)(void *),
	void *argument)
{
	struct start *start = NULL;

	mt_thread_prepare();
	if (mt_load(&mt_tracer.phase) == MT_PHASE_ATTACHED && !mt_load(&mt_tracer.sealed))
		start = take_start();
	if (!start)
		return NULL;
	start->function = function;
	start->argument = argument;
	start->stack_size = stack_size(attr);
	return start;
}

MT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	void *(*function)(void *), void *argument)
{
	struct start *start = prepare_start(attr, function, argument);
	int error;

	if (!start)
		return mt_tracer.real.pthread_create(thread, attr, function, argument);
	error = mt_tracer.real.pthread_create(thread, attr, run, start);
	if (error)
		mt_store_release(&start->taken, 0);
	return error;
}

MT_EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	struct start *start;
	int error;

	if (mt_unlikely(!mt_tracer.real.thrd_create)
		&& (!mt_real_ready() || !mt_tracer.real.thrd_create))
		return thrd_error;
	start = prepare_start(NULL, (void *(*)(void *))(void *)function, argument);
	if (!start)
		return mt_tracer.real.thrd_create(thread, function, argument);
	error = mt_tracer.real.thrd_create(thread, run_thrd, start);
	if (error != thrd_success)
		mt_store_release(&start->taken, 0);
	return error;
}
