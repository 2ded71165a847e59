/* What the recorder calls: the tracer begins, and learns which functions lead to its hooks. */
#include "preload/attached/attached.h"

#include <errno.h>
#include <sys/prctl.h>

#include "preload/base/installed.h"
#include "preload/base/sys.h"
#include "preload/base/text.h"
#include "preload/hooks/prefixed.h"
#include "preload/process/attach.h"
#include "preload/process/samples.h"
#include "preload/process/thread_parts.h"
#include "preload/segment/segment.h"
#include "preload/segment/tree.h"
#include "preload/unwind/modules.h"
#include "preload/unwind/rules.h"

MT_EXPORT struct mt_wire_attached mt_attached;

/* ---- what the other rooms ask an installer --------------------------------------------------- */

struct mt_tracer mt_tracer;

static bool find_real(void)
{
	return true; /* the recorder has found them */
}

static void in_child(void) {}

static int segment(void)
{
	return mt_attached.segment;
}

static char **settings(void)
{
	static char *entries[2];

	entries[0] = mt_attached.session;
	return entries;
}

struct mt_installed mt_installed = {
	.find_real = find_real,
	.in_child = in_child,
	.segment = segment,
	.settings = settings,
};

static long no_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result = mt_arch_call(number, a, b, c, d, e, f);

	if (result >= 0 || result <= -4096)
		return result;
	errno = (int)-result;
	return -1;
}
mt_real_syscall_function mt_real_syscall = no_syscall;

/* ---- functions beside the allocator's -------------------------------------------------------- */

extern int mt_modules_dlclose(void *) __asm__("dlclose");
extern int mt_seal_prctl_hook(int, unsigned long, unsigned long, unsigned long,
	unsigned long) __asm__("prctl");

static const struct {
	const char *name;
	void *hook;
	void **real;
	bool optional;
} others[] = {
	/* what is known of code that is unloaded must be forgotten */
	{"dlclose", (void *)mt_modules_dlclose, (void **)&mt_tracer.real.dlclose, false},
	/* behind a system-call filter, the tracer makes no calls */
	{"prctl", (void *)mt_seal_prctl_hook, (void **)&mt_tracer.real.prctl, true},
};
#define OTHERS (sizeof others / sizeof *others)

static unsigned list_hooks(void)
{
	unsigned count = mt_prefixed_hooks(mt_attached.hooks);

	_Static_assert(OTHERS <= 16, "the list has room for so many");
	for (unsigned i = 0; i < OTHERS; i++, count++) {
		struct mt_wire_hook *hook = &mt_attached.hooks[count];

		mt_text_add(hook->name, others[i].name);
		hook->hook[0] = (uint64_t)others[i].hook;
		hook->exported = 1;
		hook->optional = others[i].optional;
	}
	return count;
}

/* ---- the recorder's calls -------------------------------------------------------------------- */

long mt_attached_begin(void)
{
	const struct mt_wire_attached *a = &mt_attached;

	if (a->magic != MT_WIRE_MAGIC || a->version != MT_WIRE_VERSION)
		return -EPROTO;
	mt_tls_number_at = a->thread_number_at;
	mt_tracer.allocator.address = a->allocator;
	mt_tracer.allocator.start = a->allocator_start;
	mt_tracer.allocator.end = a->allocator_end;
	mt_attached.hook_count = list_hooks();
	mt_attach();
	return mt_load_acquire(&mt_tracer.phase) == MT_PHASE_ATTACHED ? 0 : -ENOMEM;
}

long mt_attached_lead(void)
{
	const struct mt_wire_attached *a = &mt_attached;
	const struct mt_wire_hook *other = a->hooks + a->hook_count - OTHERS;
	long count = mt_prefixed_lead(a->hooks, a->set, a->module_start, a->module_end, a->is_libc);

	for (unsigned i = 0; i < OTHERS; i++)
		if (other[i].original) {
			mt_store_release(others[i].real, (void *)other[i].original);
			count++;
		}
	mt_tracer.patched += (uint64_t)count;
	mt_store(&mt_tracer.header->patched, mt_tracer.patched);
	return count;
}

/* The page that fork wipes, and the memory of thread-local state: what is used to make a call. */
static void unmap_last(void)
{
	void *page = (void *)(uintptr_t)mt_tracer.running;

	mt_store_release(&mt_tracer.running, NULL);
	mt_tls_free();
	mt_arch_call(SYS_munmap, (long)page, MT_WIRE_PAGE, 0, 0, 0, 0);
}

long mt_attached_end(void)
{
	struct mt_thread_state *t = mt_tracer.all_threads, *next;

	if (!mt_tracer.header)
		return 0; /* it has not begun */
	mt_segment_leave();
	mt_store_release(&mt_tracer.all_threads, NULL);
	for (; t; t = next) {
		next = t->next;
		mt_thread_unmap(t);
	}
	mt_rules_free();
	mt_tree_free();
	mt_modules_free();
	mt_samples_free();
	mt_sys_unmap(mt_tracer.header, mt_tracer.segment_size);
	mt_tracer.header = NULL;
	unmap_last();
	return 0;
}
