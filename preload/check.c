/* Compares the path of a node with a full walk, by address: two pc ids may name the same one. */
#include "preload/check.h"

#include "preload/unwind.h"

static bool same_pc(uint32_t a, uint32_t b)
{
	const struct mt_wire_pc *pcs = (const struct mt_wire_pc *)mt_tracer.pcs.base;

	if (a < MT_PC_FIRST || b < MT_PC_FIRST)
		return a == b;
	return pcs[a].address == pcs[b].address && (pcs[a].flags & MT_PC_FLAG_EXACT) == (pcs[b].flags & MT_PC_FLAG_EXACT);
}

MT_COLD void mt_check(struct mt_thread *t, const struct mt_entry *entry, uint32_t node)
{
	struct mt_walk walk = {.pcs = t->pcs[0]};
	uint32_t i = 0;
	bool wrong;

	if (node == MT_PC_TABLE_FULL)
		return;
	mt_walk(t, entry, &walk);
	for (; i < walk.count && same_pc(mt_tracer.nodes[node].pc, walk.pcs[i]); i++)
		node = mt_tracer.nodes[node].parent;
	wrong = i < walk.count || node != (walk.cut ? MT_PC_CUT : MT_NODE_ROOT);
	mt_count(MT_COUNTER_CHECKED_STACKS, 1);
	mt_count(MT_COUNTER_WRONG_STACKS, wrong);
}
