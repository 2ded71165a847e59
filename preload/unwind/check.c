#include "preload/unwind/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "preload/base/sys.h"
#include "preload/unwind/cfi.h"
#include "preload/unwind/modules.h"
#include "preload/unwind/rules.h"
#include "preload/unwind/step.h"
#include "preload/unwind/unwind.h"

#define INNER_MAX 64 /* frames of the tracer, and of the real operator new, inside an event */
#define ROOM 8192    /* bytes of stack that libgcc's unwinder may take */

static const struct mt_wire_pc *pc_entry(uint32_t id)
{
	return (const struct mt_wire_pc *)mt_tracer.pcs.base + id;
}

/* ---- our own full walk ----------------------------------------------------------------------- */

/* By address: two pc ids may name the same one. */
static bool same_pc(uint32_t a, uint32_t b)
{
	if (a < MT_PC_FIRST || b < MT_PC_FIRST)
		return a == b;
	return pc_entry(a)->address == pc_entry(b)->address
		&& (pc_entry(a)->flags & MT_PC_FLAG_EXACT)
		== (pc_entry(b)->flags & MT_PC_FLAG_EXACT);
}

/* Does the pc id still mean the module that lies there? While a dlclose runs that is not
 * settled. */
static bool stale(uint32_t id)
{
	return id >= MT_PC_FIRST && pc_entry(id)->module != MT_NO_MODULE
		&& mt_load(&mt_tracer.generation) < MT_CLOSING
		&& !mt_modules_present(pc_entry(id)->address, id);
}

static bool agrees_with_walk(struct mt_thread_state *t, const struct mt_entry *entry, uint32_t node)
{
	struct mt_walk walk = {.pcs = t->pcs[0]};
	uint32_t i = 0;

	mt_walk(t, entry, &walk);
	for (; i < walk.count; i++) {
		uint32_t pc = mt_tracer.nodes[node].pc;

		if (!same_pc(pc, walk.pcs[i]) || stale(pc))
			return false;
		node = mt_tracer.nodes[node].parent;
	}
	return node == (walk.cut ? MT_PC_CUT : MT_NODE_ROOT);
}

/* ---- libgcc's unwinder ----------------------------------------------------------------------- */

/* Can libgcc's unwinder, which trusts what it reads, be let go as far as a frame? It searches the
 * same table, runs the same instructions, and follows all registers. */
static bool is_harmless(const struct mt_mapped *image, uint64_t pc)
{
	struct mt_cfi_row row;

	return mt_cfi_row(image, pc, &row) != MT_CFI_UNKNOWN && row.harmless;
}

/* The same of a module that a stack leads through. Whether its table is sorted is looked at
 * once. */
static bool look_whether_harmless(uint64_t pc)
{
	struct dl_find_object object;
	struct mt_mapped *image = mt_modules_image(pc);

	if (!image) /* the tracer, code of no module: there it stops */
		return mt_is_own(pc) || mt_object_of((void *)pc, &object) < 0;
	if (mt_load(&image->sorted) == MT_MAPPED_NOT_ASKED)
		mt_store(&image->sorted,
			mt_cfi_is_sorted(image) ? MT_MAPPED_SORTED : MT_MAPPED_UNSORTED);
	return mt_load(&image->sorted) == MT_MAPPED_SORTED && is_harmless(image, pc);
}

#define VERDICTS 4096 /* a power of two */

/* The same, remembered: each word holds a pc, the generation of modules that it is of, and the
 * verdict. */
static bool may_follow(uint64_t pc)
{
	static uint64_t verdicts[VERDICTS];
	uint64_t generation = mt_load(&mt_tracer.generation) & 0x7fff;
	uint64_t *verdict = &verdicts[(pc * 0x9e3779b97f4a7c15ull >> 32) % VERDICTS];
	uint64_t key = pc << 16 | generation << 1, found = mt_load(verdict);

	if ((found & ~1ull) != key) {
		found = key | look_whether_harmless(pc);
		mt_store(verdict, found);
	}
	return found & 1;
}

/* Are the tables of the unwinder's own library in order? */
static bool may_call(const void *function)
{
	struct dl_find_object object;
	struct mt_mapped image;

	if (!function || mt_object_of(function, &object) < 0)
		return false;
	mt_mapped_read(&object, &image);
	return mt_cfi_is_sorted(&image) && is_harmless(&image, (uint64_t)function);
}

/* glibc opens libgcc at the first backtrace: that is done here, where it disturbs nobody, since
 * inside a malloc it would. What it allocates is not the program's. */
void mt_check_start(void)
{
	struct mt_thread_state *t = mt_tls.self;
	struct dl_find_object object;
	int (*backtrace)(void **, int), error = errno;
	void *pc, *library, *function;

	if (!t || !mt_tracer.check)
		return;
	mt_tls.flags |= MT_TLS_ENTERING;
	mt_tls.self = NULL;
	/* the next one: the program may have a function of this name */
	*(void **)&backtrace = dlsym(RTLD_NEXT, "backtrace");
	library = dlopen("libgcc_s.so.1", RTLD_LAZY);
	function = library ? dlsym(library, "_Unwind_Backtrace") : NULL;
	if (may_call(function) && may_call((const void *)backtrace) && backtrace(&pc, 1) == 1
		&& mt_object_of(function, &object) == 0) {
		mt_tracer.other_start = (uint64_t)object.dlfo_map_start;
		mt_tracer.other_end = (uint64_t)object.dlfo_map_end;
		mt_store_release(&mt_tracer.backtrace, backtrace);
	}
	mt_tls.self = t;
	mt_tls.flags &= ~MT_TLS_ENTERING;
	errno = error;
}

/* False, too, where no call may be made. */
static bool readable(uint64_t address)
{
	return mt_sys_look(address) == -EINVAL;
}

static bool has_room(const struct mt_thread_state *t, uint64_t sp)
{
	stack_t alternate;

	if (mt_step_is_own(t, sp))
		return sp - t->stack_lo > ROOM;
	if (mt_sys2(SYS_sigaltstack, NULL, &alternate) == 0
		&& sp - (uint64_t)alternate.ss_sp < alternate.ss_size)
		return sp - (uint64_t)alternate.ss_sp > ROOM / 2;
	return readable(sp - ROOM / 2) && readable(sp - ROOM);
}

/* What both unwinders must agree on. */
struct common {
	uint32_t frames; /* including those of the tracer's own; 0: nothing */
	bool end;        /* beyond which there is nothing */
	bool limit;      /* beyond which ours has not looked */
};

static struct common common_part(const struct mt_thread_state *t, const struct mt_entry *entry)
{
	struct mt_state state = {entry->pc - 1, entry->sp, entry->fp};
	struct common common = {0};
	struct mt_unwind_frame_words words;
	struct mt_unwind_frame frame;

	while (common.frames < mt_tracer.depth_limit) {
		uint64_t rule = mt_rules_find(state.key), pc = state.key & ~MT_KEY_EXACT;
		enum mt_step last;

		if (pc - mt_tracer.other_start < mt_tracer.other_end - mt_tracer.other_start)
			return (struct common){0};
		if (!may_follow(pc))
			return common;
		if (mt_rule_kind(rule) == MT_RULE_NO_CFI) {
			/* libgcc's looks whether the code there is that of a signal frame */
			common.frames += readable(pc) && readable(pc + 8);
			return common;
		}
		last = mt_step(t, &state, rule, &frame, &words);
		if (last == MT_STEP_CUT)
			return common;
		common.frames++;
		common.end = last == MT_STEP_END;
		if (common.end)
			return common;
	}
	common.limit = true;
	return common;
}

/* How many frames lie between here, the caller's state, and the event's: the tracer's, and the real
 * operator new. 0 when we do not find our way even there. Where libgcc's may not be let go there,
 * nothing is common. */
static uint32_t inner_frames(const struct mt_thread_state *t, struct mt_entry here,
	const struct mt_entry *entry, struct common *common)
{
	struct mt_state state = {here.pc - 1, here.sp, here.fp};
	uint32_t count = 1;
	struct mt_unwind_frame_words words;
	struct mt_unwind_frame frame;

	for (; state.sp < entry->sp && count < INNER_MAX; count++) {
		if (!may_follow(state.key))
			*common = (struct common){0};
		if (mt_step(t, &state, mt_rules_find(state.key), &frame, &words) != MT_STEP_ON)
			return 0;
	}
	return state.sp == entry->sp && state.key == entry->pc - 1 ? count : 0;
}

static bool agrees_with_other(void *const *pcs, uint32_t count, const struct common *common,
	uint32_t node)
{
	if (count != common->frames)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t pc = (uint64_t)pcs[i];
		const struct mt_wire_pc *ours;

		if (mt_is_own(pc))
			continue;
		if (node < MT_NODE_FIRST)
			return false;
		if (mt_tracer.nodes[node].pc == MT_PC_TABLE_FULL)
			return true;
		ours = pc_entry(mt_tracer.nodes[node].pc);
		if (ours->address + (ours->flags & MT_PC_FLAG_EXACT ? 0 : 1) != pc)
			return false;
		node = mt_tracer.nodes[node].parent;
	}
	return (!common->end || node == MT_NODE_ROOT) && (!common->limit || node == MT_PC_CUT);
}

static void **other_pcs(struct mt_thread_state *t, uint32_t level)
{
	size_t len = mt_tracer.depth_limit + INNER_MAX + 1;

	if (!t->other_pcs)
		t->other_pcs = mt_sys_map(len * MT_NESTED_LEVELS * sizeof(void *));
	return t->other_pcs ? t->other_pcs + level * len : NULL;
}

/* Compares at least the first MT_CHECK_OTHER_FIRST stacks of which something can be compared. */
static void check_other(struct mt_thread_state *t, const struct mt_entry *entry, uint32_t node,
	uint32_t level, uint64_t nth)
{
	int (*backtrace)(void **, int) = mt_load_acquire(&mt_tracer.backtrace);
	uint32_t inner, count;
	struct common common;
	void **pcs;

	if (!backtrace
		|| (nth % MT_CHECK_OTHER_EACH
			&& mt_load(&mt_tracer.header->counters[MT_COUNTER_CHECKED_OTHERWISE])
				>= MT_CHECK_OTHER_FIRST))
		return;
	common = common_part(t, entry);
	inner = inner_frames(t, MT_ENTRY(), entry, &common);
	pcs = common.frames && has_room(t, (uint64_t)__builtin_frame_address(0))
		? other_pcs(t, level)
		: NULL;
	if (!pcs || (!common.end && !common.limit))
		mt_count(MT_COUNTER_NOT_COMPARABLE, 1);
	if (!pcs)
		return;
	count = inner ? (uint32_t)backtrace(pcs, (int)(inner + common.frames + common.end)) : 0;
	mt_count(MT_COUNTER_CHECKED_OTHERWISE, 1);
	if (count <= inner || !agrees_with_other(pcs + inner, count - inner, &common, node))
		mt_count(MT_COUNTER_WRONG_OTHERWISE, 1);
}

/* ---- both ------------------------------------------------------------------------------------ */

MT_COLD void mt_check(struct mt_thread_state *t, const struct mt_entry *entry, uint32_t node)
{
	uint64_t nth;

	if (node == MT_PC_TABLE_FULL)
		return;
	nth = mt_add(&mt_tracer.header->counters[MT_COUNTER_CHECKED_STACKS], 1);
	mt_count(MT_COUNTER_WRONG_STACKS, !agrees_with_walk(t, entry, node));
	check_other(t, entry, node, 0, nth);
}

MT_COLD void mt_check_nested(struct mt_thread_state *t, const struct mt_entry *entry, uint32_t node,
	uint32_t level)
{
	if (node != MT_PC_TABLE_FULL)
		check_other(t, entry, mt_tracer.nodes[node].parent, level, 0);
}
