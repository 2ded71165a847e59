/* Functions of an allocator that the program carries inside itself: the recorder makes their
 * entries lead to the hooks (doc/entry-patches.md). */
#include "preload/install/patched.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "preload/base/libc.h"
#include "preload/base/sys.h"
#include "preload/base/tracer.h"
#include "preload/hooks/prefixed.h"
#include "preload/segment/rendezvous.h"

#define HOOKS_BYTES (MT_WIRE_HOOKS_MAX * sizeof(struct mt_wire_hook))

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

/* The executable's code and data. */
static bool find_program(uint64_t *start, uint64_t *end)
{
	struct dl_find_object object;

	if (mt_object_of((void *)getauxval(AT_ENTRY), &object) < 0)
		return false;
	*start = (uint64_t)object.dlfo_map_start;
	*end = (uint64_t)object.dlfo_map_end;
	return true;
}

/* The recorder stops this thread, sees that it still waits, and writes originals, stubs and entries
 * before it lets it go. So once the connection is closed, the originals say whether entries lead
 * here, also when no answer came. */
void mt_patched_ask(void)
{
	uint64_t stubs, stub_bytes, start, end;
	struct mt_wire_hook *hooks;
	struct mt_wire_patches request = {0};
	void *code;

	mt_rendezvous_stubs(&stubs, &stub_bytes);
	if (!stub_bytes || !find_program(&start, &end)
		|| !(code = map(stubs, stub_bytes, PROT_READ | PROT_EXEC)))
		return;
	hooks = map(0, HOOKS_BYTES, PROT_READ | PROT_WRITE);
	if (hooks) {
		request.stubs = stubs;
		request.hooks = (uint64_t)hooks;
		request.hook_count = mt_prefixed_hooks(hooks);
		mt_rendezvous_patches(&request);
		mt_tracer.patched = mt_prefixed_lead(hooks, start, end, false);
		mt_sys2(SYS_munmap, hooks, HOOKS_BYTES);
	}
	if (mt_tracer.patched)
		mt_store(&mt_tracer.header->patched, mt_tracer.patched);
	else
		mt_sys2(SYS_munmap, code, stub_bytes);
}
