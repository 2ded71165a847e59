/* Threads' states: where their stacks end, their rings, their entries in the segment's table. */
#include "preload/process/thread_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "preload/base/procmaps.h"
#include "preload/segment/file.h"
#include "preload/segment/ring.h"
#include "preload/unwind/arrays.h"
#include "preload/unwind/branch.h"

#define FIRST_FRAMES 512 /* that a thread has memory for before it meets a deeper stack */
#define LOOK_EVERY 16    /* rings: for threads that are gone without a word */
#define MAIN_STACK_IF_UNLIMITED (64ull << 20)

/* ---- stack bounds ---------------------------------------------------------------------------- */

/* Where the program's first stack begins. */
extern void *__libc_stack_end __attribute__((weak));

struct stack {
	uint64_t sp, within, start, end; /* end 0: sp and within are not on one stack */
};

/* Ends at the mapping that holds sp, and takes it if the other address is in it, too. */
static bool is_stack(const struct mt_procmap *map, void *context)
{
	struct stack *stack = context;

	if (stack->sp < map->start || stack->sp >= map->end)
		return true;
	if (stack->within >= map->start && stack->within < map->end) {
		stack->start = map->start;
		stack->end = map->end;
	}
	return false;
}

static uint64_t stack_limit(void)
{
	uint64_t limit[2] = {0, 0};

	if (mt_sys4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, limit) < 0 || limit[0] == RLIM_INFINITY)
		return MAIN_STACK_IF_UNLIMITED;
	return limit[0];
}

/* The stack that the kernel gave the process, if sp is on it: in a child that a thread has forked,
 * it is not. A later stack limit, or a mapping in the gap, only makes the lower bound too low,
 * which costs nothing: no word below sp is ever read. */
void mt_thread_find_main_stack(struct mt_thread_state *t, uint64_t sp)
{
	/* the kernel puts the random bytes above the first frame */
	struct stack stack = {.sp = sp,
		.within = &__libc_stack_end ? (uint64_t)__libc_stack_end : getauxval(AT_RANDOM)};

	mt_procmaps_each(is_stack, &stack);
	t->stack_hi = stack.end;
	if (t->stack_hi)
		t->stack_lo = t->stack_hi - stack_limit();
}

/* Of a thread whose creator has not told: the C library keeps its record of the thread at the
 * thread pointer, above all frames of the stack that it has given the thread. */
void mt_thread_find_stack(struct mt_thread_state *t, uint64_t sp)
{
	struct stack stack = {.sp = sp, .within = mt_arch_thread_pointer()};

	mt_procmaps_each(is_stack, &stack);
	t->stack_hi = stack.end && stack.within > sp ? stack.within : 0;
	t->stack_lo = t->stack_hi ? stack.start : 0;
}

/* ---- states ---------------------------------------------------------------------------------- */

#define LINE 64u       /* words that begin with one are compared faster */
#define SHORT_DEPTH 14 /* frames, for which the first page has room beside the rest */

/* The first page of a state: the thread, short arrays, and the first set of branches, which the
 * others follow on the next pages. The words of frames, which are rare, lie in the first room. */
static void fill_first_page(struct mt_thread_state *t)
{
	uint8_t *at = (uint8_t *)(t + 1);
	uint8_t *end = (uint8_t *)t + MT_WIRE_PAGE - sizeof(struct mt_branch_set);
	size_t words;

	_Static_assert(sizeof(struct mt_thread_state) + sizeof(struct mt_branch_set)
				+ SHORT_DEPTH
					* (sizeof(struct mt_memo) + sizeof(struct mt_unwind_frame))
				+ (SHORT_DEPTH * 2 + MT_FRAME_WORDS + 8) * 2 * sizeof(uint64_t)
				+ LINE
			<= MT_WIRE_PAGE,
		"the first page holds short arrays with two words a frame");
	t->branches = (struct mt_branch_set *)end;
	t->branch_pages = 1;
	t->memo = mt_arrays_put(&at, SHORT_DEPTH, sizeof *t->memo);
	t->frames = mt_arrays_put(&at, SHORT_DEPTH, sizeof *t->frames);
	at = (uint8_t *)(((uintptr_t)at + LINE - 1) / LINE * LINE);
	words = (size_t)(end - at) / (2 * sizeof *t->word_value) & ~(size_t)7;
	t->word_at = mt_arrays_put(&at, words, sizeof *t->word_at);
	t->word_value = mt_arrays_put(&at, words, sizeof *t->word_value);
	t->word_capacity = (uint32_t)words;
	t->capacity = SHORT_DEPTH < t->first_frames ? SHORT_DEPTH : t->first_frames;
}

static struct mt_thread_state *new_state(void)
{
	uint32_t limit = mt_tracer.depth_limit,
		 frames = limit < FIRST_FRAMES ? limit : FIRST_FRAMES;
	size_t branches = (MT_BRANCH_SETS - 1) * sizeof(struct mt_branch_set);
	size_t head = MT_WIRE_PAGE + (branches + LINE - 1) / LINE * LINE;
	size_t len = head + mt_arrays_bytes(frames) + limit * MT_NESTED_LEVELS * sizeof(uint32_t);
	uint8_t *at = mt_sys_map(len);
	struct mt_thread_state *t = (struct mt_thread_state *)at;

	if (!t)
		return NULL;
	t->first_room = at + head;
	t->first_frames = frames;
	mt_arrays_use(t, t->first_room, frames);
	at += head + mt_arrays_bytes(frames);
	for (int i = 0; i < MT_NESTED_LEVELS; i++)
		t->pcs[i] = mt_arrays_put(&at, limit, sizeof *t->pcs[i]);
	t->map_len = len;
	fill_first_page(t);
	mt_count_private(MT_WIRE_PAGE);
	return t;
}

void mt_thread_unmap(struct mt_thread_state *t)
{
	if (t->room)
		mt_sys_unmap(t->room, t->room_len);
	mt_sys_unmap(t, t->map_len);
}

bool mt_thread_claim_ring(struct mt_thread_state *t)
{
	const struct mt_wire_sizes *sizes = &mt_tracer.sizes;
	uint64_t place, records;
	uint32_t id;

	if (mt_load(&mt_tracer.next_ring) >= mt_tracer.rings.capacity)
		return false;
	id = mt_add(&mt_tracer.next_ring, 1);
	if (id >= mt_tracer.rings.capacity || !mt_range_need(&mt_tracer.rings, id + 1))
		return false;
	place = mt_wire_ring_place(sizes, id) * sizeof *t->data;
	records = mt_wire_ring_capacity(sizes, id);
	if (mt_tracer.standalone)
		t->data = mt_file_first_chunk(id);
	else if (mt_range_open_piece(&mt_tracer.ring_data, place, records * sizeof *t->data))
		t->data = (struct mt_wire_record *)(mt_tracer.ring_data.base + place);
	if (!t->data)
		return false;
	t->ring = (struct mt_wire_ring *)mt_tracer.rings.base + id;
	t->mask = records - 1;
	mt_publish_count(&mt_tracer.header->ring_count, id + 1);
	return true;
}

/* A child of vfork uses its parent's memory, but knows nothing of its threads. */
static bool is_own_process(void)
{
	return mt_load(&mt_tracer.header->pid) == (uint32_t)mt_sys0(SYS_getpid);
}

/* Takes over the state of a thread that is gone: whoever sets its tid to 0. Threads that did not
 * come through us do not say that they leave. */
static struct mt_thread_state *recycle(int32_t tid, bool silent)
{
	long pid = mt_load(&mt_tracer.header->pid);

	/* a child of vfork may see other numbers than its parent */
	if (!is_own_process() && mt_sys3(SYS_tgkill, pid, pid, 0) != 0)
		return NULL;
	for (struct mt_thread_state *t = mt_load_acquire(&mt_tracer.all_threads); t; t = t->next) {
		int32_t old = mt_load_acquire(&t->tid);
		uint32_t leaving = mt_load_acquire(&t->leaving);

		if (old == 0 || (!silent && !leaving))
			continue;
		if (old != tid && mt_sys3(SYS_tgkill, pid, old, 0) != -ESRCH)
			continue;
		if (!mt_swap_if(&t->tid, &old, 0))
			continue;
		if (old != tid)
			mt_tls_forget(old);
		mt_store(&t->leaving, 0);
		if (t->busy)
			mt_thread_recover(t);
		mt_branch_forget_memo(t);
		mt_branch_forget(t);
		t->pending_function = 0;
		t->freeing.p = NULL;
		t->outer.sp = 0;
		return t;
	}
	return NULL;
}

/* The last entry of the table stands for all threads that come when the others are taken. */
static uint32_t take_thread_entry(void)
{
	uint32_t last = mt_tracer.threads.capacity - 1, id = last;

	if (mt_load(&mt_tracer.next_thread) < last)
		id = mt_add(&mt_tracer.next_thread, 1);
	return id < last ? id : last;
}

bool mt_thread_register(struct mt_thread_state *t, int32_t tid)
{
	static const char later[] = "later threads";
	uint32_t id = take_thread_entry();
	bool own = id < mt_tracer.threads.capacity - 1;
	struct mt_wire_thread *entry;

	if (!mt_range_need(&mt_tracer.threads, id + 1))
		return false;
	entry = (struct mt_wire_thread *)mt_tracer.threads.base + id;
	if (own) {
		entry->ring = t->ring - (struct mt_wire_ring *)mt_tracer.rings.base;
		mt_sys2(SYS_prctl, PR_GET_NAME, entry->name);
		mt_store_release(&entry->tid, (uint32_t)tid);
	} else {
		memcpy(entry->name, later, sizeof later);
	}
	mt_publish_count(&mt_tracer.header->thread_count, id + 1);
	t->index = id;
	t->number = 1 + (uint32_t)(t->ring - (struct mt_wire_ring *)mt_tracer.rings.base);
	t->newborn = 1;
	t->singles = 0;
	t->claimed_at = 0; /* long ago: it begins as a slow one */
	t->limit = 0;
	t->stack_lo = mt_tls.stack_lo;
	t->stack_hi = mt_tls.stack_hi;
	mt_store_release(&t->tid, is_own_process() ? tid : 0);
	return true;
}

void mt_thread_enlist(struct mt_thread_state *t)
{
	struct mt_thread_state *next = mt_load(&mt_tracer.all_threads);

	do {
		t->next = next;
	} while (!mt_swap_if(&mt_tracer.all_threads, &next, t));
}

/* With a ring that nobody had before. */
static struct mt_thread_state *add_state(void)
{
	struct mt_thread_state *t = new_state();

	if (!t) {
		mt_count(MT_COUNTER_MAP_FAILURES, 1);
		return NULL;
	}
	if (!mt_thread_claim_ring(t)) {
		mt_thread_unmap(t);
		return NULL;
	}
	mt_thread_enlist(t);
	return t;
}

struct mt_thread_state *mt_thread_make(int32_t tid)
{
	uint32_t rings = mt_load(&mt_tracer.next_ring);
	bool looked = rings % LOOK_EVERY == 0 || rings >= mt_tracer.rings.capacity;
	struct mt_thread_state *t = recycle(tid, looked);

	if (!t && rings < mt_tracer.rings.capacity)
		t = add_state();
	if (!t && !looked)
		t = recycle(tid, true);
	if (!t)
		return NULL;
	if (mt_thread_register(t, tid))
		return t;
	mt_store(&t->leaving, 1);
	mt_store_release(&t->tid, tid);
	return NULL;
}
