/* Functions of allocators that the program, or a library, carries inside itself: the recorder makes
 * their entries lead to the hooks (doc/entry-patches.md). */
#include "preload/install/patched.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "preload/base/libc.h"
#include "preload/base/sys.h"
#include "preload/base/text.h"
#include "preload/base/tracer.h"
#include "preload/hooks/prefixed.h"
#include "preload/segment/rendezvous.h"

#define HOOKS_BYTES (MT_WIRE_HOOKS_MAX * sizeof(struct mt_wire_hook))
#define PLACES 4
#define LIBRARIES 1u /* the first set of hooks for them */

/* Modules that were asked about, so that none is patched twice. Written by one thread at a time:
 * the first of a new image, or one that holds the dynamic linker's lock. */
struct tried {
	uint64_t start;
	uint32_t set; /* MT_WIRE_SETS: none was led */
};
static struct tried tried[MT_WIRE_TRIED_MAX];
static unsigned tried_count;

static void *map(uint64_t at, uint64_t bytes, int rights)
{
	long p = mt_sys6(SYS_mmap, at, bytes, rights,
		MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (p < 0 && p > -4096)
		return NULL;
	if (!at || (uint64_t)p == at)
		return (void *)p;
	mt_sys2(SYS_munmap, p, bytes); /* a kernel that does not know the flag */
	return NULL;
}

/* The stubs' memory, before anything else is mapped there. Another thread may have been faster:
 * then the recorder is asked for another place. NULL: there is none. */
static void *map_stubs(struct mt_wire_reply *module)
{
	struct mt_wire_patches request = {.module = module->module_start};
	void *code = NULL;

	for (int i = 0; i < PLACES && !code && module->stub_bytes; i++) {
		code = map(module->stubs, module->stub_bytes, PROT_READ | PROT_EXEC);
		if (!code && !mt_rendezvous_patches(&request, module))
			return NULL;
	}
	return code;
}

/* The recorder stops all threads, sees that this one still waits, and writes originals, stubs and
 * entries before it lets them go. So once the connection is closed, the originals say whether
 * entries lead here, also when no answer came. Returns how many do; the stubs stay if any does. */
static unsigned patch(struct mt_wire_patches *request, const struct mt_wire_reply *module,
	void *stubs, struct mt_wire_hook *hooks, struct mt_wire_reply *next)
{
	unsigned count = 0;

	request->stubs = module->stubs;
	request->hooks = (uint64_t)hooks;
	request->module = module->module_start;
	if (!mt_rendezvous_patches(request, next))
		*next = (struct mt_wire_reply){0};
	for (unsigned i = 0; i < request->hook_count; i++)
		count += hooks[i].original != 0;
	if (!count)
		mt_sys2(SYS_munmap, stubs, module->stub_bytes);
	return count;
}

/* ---- modules --------------------------------------------------------------------------------- */

static bool is_program(const struct mt_wire_reply *module)
{
	return getauxval(AT_ENTRY) - module->module_start
		< module->module_end - module->module_start;
}

/* Libraries that were closed again leave their hooks to others. */
static void forget_closed(void)
{
	struct dl_find_object object;
	unsigned kept = 0;

	for (unsigned i = 0; i < tried_count; i++)
		if (mt_object_of((void *)tried[i].start, &object) == 0)
			tried[kept++] = tried[i];
	tried_count = kept;
}

static unsigned free_set(void)
{
	for (unsigned set = LIBRARIES, i; set < MT_WIRE_SETS; set++) {
		for (i = 0; i < tried_count && tried[i].set != set; i++)
			;
		if (i == tried_count)
			return set;
	}
	return MT_WIRE_SETS;
}

static void list_tried(struct mt_wire_patches *request)
{
	for (unsigned i = 0; i < tried_count; i++)
		request->tried[i] = tried[i].start;
}

/* Takes what the recorder named, and gets what it names next. */
static void patch_module(struct mt_wire_reply *module)
{
	struct mt_wire_patches request = {.set = is_program(module) ? 0 : free_set()};
	void *stubs = request.set < MT_WIRE_SETS ? map_stubs(module) : NULL;
	struct mt_wire_hook *hooks = stubs ? map(0, HOOKS_BYTES, PROT_READ | PROT_WRITE) : NULL;
	struct tried *this = &tried[tried_count++];
	struct mt_wire_reply next = {0};

	*this = (struct tried){module->module_start, MT_WIRE_SETS};
	list_tried(&request);
	if (hooks) {
		request.hook_count = mt_prefixed_hooks(hooks);
		if (patch(&request, module, stubs, hooks, &next)) {
			this->set = request.set;
			mt_tracer.patched += mt_prefixed_lead(hooks, request.set,
				module->module_start, module->module_end, false);
			mt_store(&mt_tracer.header->patched, mt_tracer.patched);
		}
		mt_sys2(SYS_munmap, hooks, HOOKS_BYTES);
	} else {
		if (stubs)
			mt_sys2(SYS_munmap, stubs, module->stub_bytes);
		mt_rendezvous_patches(&request, &next);
	}
	*module = next;
}

static void patch_all(struct mt_wire_reply module)
{
	while (module.stub_bytes && tried_count < MT_WIRE_TRIED_MAX)
		patch_module(&module);
}

void mt_patched_ask(void)
{
	patch_all(mt_rendezvous_offer());
}

/* ---- libraries that are opened --------------------------------------------------------------- */

extern struct r_debug _r_debug __attribute__((weak)); /* the dynamic linker's */

static bool can_ask(void)
{
	return mt_load_acquire(&mt_tracer.phase) == MT_PHASE_ATTACHED && mt_load(mt_tracer.running)
		&& !mt_load(&mt_tracer.sealed) && !mt_tracer.standalone;
}

/* In place of the function that the dynamic linker calls for debuggers: a library that is opened
 * has been mapped, nothing of it has run yet, and it is not yet among the objects that can be
 * found by an address. */
static void opened(void)
{
	struct mt_wire_patches request = {0};
	struct mt_wire_reply module;

	if (_r_debug.r_state != RT_CONSISTENT || !can_ask())
		return;
	forget_closed();
	list_tried(&request);
	if (mt_rendezvous_patches(&request, &module))
		patch_all(module);
}

MT_COLD void mt_patched_watch(void)
{
	static uint32_t begun;
	struct mt_wire_patches request = {.module = mt_tracer.loader_start};
	struct mt_wire_hook hook = {.hook = {(uint64_t)opened}};
	struct mt_wire_reply loader, next;
	void *stubs;

	if (mt_load(&begun) || !&_r_debug || !can_ask() || mt_swap(&begun, 1))
		return;
	mt_text_add(hook.name, "_dl_debug_state");
	if (!mt_rendezvous_patches(&request, &loader) || !(stubs = map_stubs(&loader)))
		return;
	request.hook_count = request.by_name = 1;
	patch(&request, &loader, stubs, &hook, &next);
}
