/* How a process gets a segment: it asks the recorder, or makes a file, and begins all tables that
 * hold ids of the segment. A forked child drops its parent's segment and these tables, and asks
 * again. */
#include "preload/process/attach.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/installed.h"
#include "preload/base/sys.h"
#include "preload/process/allocator.h"
#include "preload/process/copy.h"
#include "preload/process/samples.h"
#include "preload/process/thread.h"
#include "preload/segment/blind.h"
#include "preload/segment/file.h"
#include "preload/segment/rendezvous.h"
#include "preload/segment/ring.h"
#include "preload/segment/segment.h"
#include "preload/segment/tree.h"
#include "preload/unwind/modules.h"
#include "preload/unwind/rules.h"

/* The word that every event checks: the kernel clears its page in a forked child. */
static bool make_running_word(void)
{
	const uint32_t *none = NULL;
	uint32_t *word;

	if (mt_load_acquire(&mt_tracer.running))
		return true;
	word = mt_sys_map(MT_WIRE_PAGE);
	if (!word)
		return false;
	if (mt_sys3(SYS_madvise, word, MT_WIRE_PAGE, MADV_WIPEONFORK) == 0
		&& mt_swap_if(&mt_tracer.running, &none, (const uint32_t *)word))
		return true;
	mt_sys_unmap(word, MT_WIRE_PAGE);
	return none != NULL;
}

bool mt_attach_is_foreign(void)
{
	uint32_t phase = mt_load_acquire(&mt_tracer.phase);

	return (phase == MT_PHASE_ATTACHED && !mt_load(mt_tracer.running))
		|| (phase == MT_PHASE_CONNECTING && !mt_load(mt_tracer.running + 1));
}

/* The third word of the page is empty in a child, too, until fork calls back: a child of vfork
 * finds what its parent has noted. What was forked by a bare system call notes nothing. */
MT_COLD void mt_attach_note_child(void)
{
	long pid = mt_sys0(SYS_getpid);

	if (pid > 0) /* it may not be asked while a filter is being installed */
		mt_store((uint32_t *)mt_tracer.running + 2, (uint32_t)pid);
}

static bool is_noted(void)
{
	uint32_t noted = mt_load(mt_tracer.running + 2);

	return !noted || mt_load(&mt_tracer.sealed) || noted == (uint32_t)mt_sys0(SYS_getpid);
}

bool mt_attach_adopt(void)
{
	uint32_t not_yet = 0;

	if (!is_noted() || !mt_swap_if((uint32_t *)mt_tracer.running + 1, &not_yet, 1))
		return false;
	mt_store_release(&mt_tracer.phase, MT_PHASE_CONNECTING);
	return true;
}

/* For leak checks. A forked child has the list of its parent already. */
static void list_own(struct mt_wire_header *h)
{
	const void *start = (void *)mt_tracer.own_start;

	mt_own_remove(start);
	mt_own_add(start, mt_tracer.own_end - mt_tracer.own_start);
	mt_store(&h->own, (uint64_t)mt_own);
	mt_store(&h->copy, (uint64_t)mt_copy);
	mt_thread_starts(&h->starts_low, &h->starts_high);
}

static bool start(struct mt_wire_header *h, const struct mt_wire_header *copy)
{
	mt_tracer.header = h;
	mt_tracer.nodes = (struct mt_wire_node *)mt_tracer.node_range.base;
	mt_tracer.free_stacks = copy->flags & MT_SEGMENT_FREE_STACKS;
	mt_tracer.check = copy->flags & MT_SEGMENT_CHECK;
	mt_tracer.drop_when_full = copy->flags & MT_SEGMENT_DROP;
	mt_tracer.wait_when_full = copy->flags & MT_SEGMENT_WAIT;
	mt_tracer.judge_end = copy->flags & MT_SEGMENT_LEAK_CHECK;
	mt_tracer.no_follow = copy->flags & MT_SEGMENT_NO_FOLLOW;
	mt_ring_use_clock(copy->clock);
	if (!mt_tracer.depth_limit || copy->depth_limit < mt_tracer.depth_limit)
		/* a forked child goes on with states of the old size */
		mt_tracer.depth_limit = copy->depth_limit;
	if (!mt_rules_init() || !mt_tree_init() || !mt_modules_init() || !mt_samples_start(copy)) {
		mt_count(MT_COUNTER_MAP_FAILURES, 1);
		return false;
	}
	/* the running word, the first modules, and the tracer's own data */
	mt_count_private(3 * MT_WIRE_PAGE);
	list_own(h);
	mt_allocator_announce(h, copy->flags & MT_SEGMENT_SLACK);
	mt_store(&h->patched, mt_tracer.patched);
	mt_count(MT_COUNTER_BOOTSTRAP, mt_load(&mt_tracer.bootstrap_allocations));
	mt_store(&h->pid, (uint32_t)mt_sys0(SYS_getpid));
	if (mt_load(&mt_tracer.said) && mt_load(&mt_tracer.said_at) == mt_load(&h->turns)) {
		mt_store(&h->recording, mt_load(&mt_tracer.said) == MT_BEGIN_RECORDING);
		mt_store_release(&h->begin, mt_load(&mt_tracer.said));
	}
	h->machine = (struct mt_wire_machine){
		.page_bytes = (uint32_t)getauxval(AT_PAGESZ),
		.pointer_bits = 8 * sizeof(void *),
		.address_bits = MT_ADDRESS_BITS,
		.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
	};
	mt_store_release(&h->state, MT_SEGMENT_ATTACHED);
	mt_store_release((uint32_t *)mt_tracer.running, 1);
	mt_segment_count_unseen();
	return true;
}

/* The phase is CONNECTING. */
static int connect_to_segment(uint64_t forked_from, bool *uncounted)
{
	struct mt_wire_header *h = NULL, copy;
	int fd = !forked_from && mt_installed.segment
		? mt_installed.segment()
		: mt_rendezvous(forked_from, uncounted);

	if (fd >= 0) {
		h = mt_segment_map(fd, &copy);
		mt_sys1(SYS_close, fd);
	} else if (fd == -ENOENT) {
		h = mt_file_start(&copy, forked_from);
	}
	if (h && start(h, &copy)) {
		if (!forked_from && mt_installed.signals)
			mt_installed.signals(h);
		if (!forked_from && mt_installed.begun)
			mt_installed.begun();
		return 0;
	}
	return fd == -EAGAIN ? fd : -ENOENT;
}

void mt_attach_count_missed(void)
{
	if (__atomic_load_n(&mt_tracer.phase, __ATOMIC_SEQ_CST) == MT_PHASE_ATTACHED
		&& mt_load(mt_tracer.running))
		mt_count(MT_COUNTER_UNTRACED_EVENTS, mt_swap(&mt_tracer.missed, 0));
}

MT_COLD void mt_attach(void)
{
	uint32_t expected = MT_PHASE_NEW;
	int error = -ENOMEM;
	bool can, uncounted = false;

	if (!mt_is_glibc()) {
		mt_store_release(&mt_tracer.phase, MT_PHASE_OFF);
		return;
	}
	can = make_running_word();
	if (can)
		mt_store_release((uint32_t *)mt_tracer.running + 1, 1);
	if (!mt_swap_if(&mt_tracer.phase, &expected, MT_PHASE_CONNECTING))
		return;
	if (can)
		error = connect_to_segment(0, &uncounted);
	mt_store_release(&mt_tracer.phase,
		error == 0                 ? MT_PHASE_ATTACHED
			: error == -EAGAIN ? MT_PHASE_NEW
					   : MT_PHASE_OFF);
	mt_attach_count_missed();
}

/* ---- fork ------------------------------------------------------------------------------------ */

static void note_untraced(struct mt_wire_header *parents)
{
	static char path[PATH_MAX]; /* one thread asks for the child's segment */
	long n = mt_sys3(SYS_readlink, "/proc/self/exe", path, sizeof path - 1);

	path[n > 0 ? n : 0] = '\0';
	mt_blind_note_in(parents, MT_BLIND_UNTRACED, n > 0 ? path : "(unknown)",
		(uint32_t)mt_sys0(SYS_getpid));
}

/* All that holds ids of the parent's segment. */
static void drop_tables(void)
{
	mt_rules_free();
	mt_tree_free();
	mt_modules_free();
	mt_tracer.next_node = mt_tracer.next_pc = mt_tracer.next_module = mt_tracer.next_thread =
		mt_tracer.next_ring = 0;
	mt_tracer.growing = 0;
	mt_store(&mt_tracer.forked, 1);
	/* of other threads' dlcloses nobody will see the end */
	mt_tracer.generation = mt_tls.closing * MT_CLOSING;
	mt_tracer.bootstrap_allocations = 0;
	mt_tracer.private_bytes = 0;
	mt_tracer.all_threads = NULL;
}

MT_COLD bool mt_attach_forked(void)
{
	static uint64_t parent; /* its segment */
	/* a signal handler may have come here between a look at where the header is and one at what
	 * it says */
	static struct mt_wire_header *kept;
	struct mt_wire_header *old = mt_tracer.header, *parents;
	bool done, uncounted;

	if (old->id) /* a child that is forked while another thread is here finds an empty header */
		parent = old->id;
	parents = mt_segment_parents();
	mt_tracer.scrapped = false;
	mt_segment_drop();
	drop_tables();
	if (mt_tracer.standalone)
		mt_file_forked();
	uncounted = parents != NULL;
	done = connect_to_segment(parent, &uncounted) == 0;
	if (!done && uncounted)
		note_untraced(parents);
	if (parents)
		mt_sys_unmap(parents, 2 * MT_WIRE_PAGE);
	if (done) {
		struct mt_wire_header *older = kept;

		kept = old;
		mt_signal_fence();
		if (older)
			mt_sys_unmap(older, 2 * MT_WIRE_PAGE);
	} else {
		mt_tracer.header = old;
	}
	mt_store_release(&mt_tracer.phase, done ? MT_PHASE_ATTACHED : MT_PHASE_OFF);
	mt_attach_count_missed();
	return done;
}
