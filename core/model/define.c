#include "core/model/define.h"

#include <stdlib.h>

#define FIRST_MASK 1023u

static uint32_t hash(uint64_t a, uint64_t b)
{
	return (uint32_t)((a * 0x9e3779b97f4a7c15ull
				  ^ (b + 0x632be59bd9b4e019ull) * 0xd6e8feb86659fd93ull)
		>> 32);
}

/* ---- nodes ---- */

/* The slot of the node, or the empty one where it belongs. */
static uint32_t *node_slot(const struct mt_define *d, const struct mt_profile *p, uint32_t parent,
	uint32_t pc)
{
	uint32_t at = hash((uint64_t)parent << 32 | pc, 0) & d->node_mask;

	while (d->nodes[at]
		&& (p->nodes[d->nodes[at]].parent != parent || p->nodes[d->nodes[at]].pc != pc))
		at = (at + 1) & d->node_mask;
	return &d->nodes[at];
}

static void grow_nodes(struct mt_define *d, const struct mt_profile *p)
{
	free(d->nodes);
	do
		d->node_mask = d->node_mask ? d->node_mask * 2 + 1 : FIRST_MASK;
	while (p->node_count >= d->node_mask / 2);
	d->nodes = mt_alloc(((size_t)d->node_mask + 1) * sizeof *d->nodes);
	for (uint32_t i = 1; i < p->node_count; i++)
		*node_slot(d, p, p->nodes[i].parent, p->nodes[i].pc) = i;
}

uint32_t mt_define_node(struct mt_define *d, struct mt_profile *p, uint32_t parent, uint32_t pc)
{
	if (p->node_count >= d->node_mask / 2)
		grow_nodes(d, p);
	uint32_t *slot = node_slot(d, p, parent, pc);

	if (!*slot)
		*slot = mt_profile_add_node(p, parent, pc);
	return *slot;
}

/* ---- pcs ---- */

static uint32_t *pc_slot(const struct mt_define *d, const struct mt_profile *p,
	const struct mt_pc *pc)
{
	uint32_t at = hash(pc->address, (uint64_t)pc->module << 32 | pc->flags) & d->pc_mask;

	while (d->pcs[at]) {
		const struct mt_pc *there = &p->pcs[d->pcs[at]];

		if (there->address == pc->address && there->module == pc->module
			&& there->flags == pc->flags)
			break;
		at = (at + 1) & d->pc_mask;
	}
	return &d->pcs[at];
}

static void grow_pcs(struct mt_define *d, const struct mt_profile *p)
{
	free(d->pcs);
	do
		d->pc_mask = d->pc_mask ? d->pc_mask * 2 + 1 : FIRST_MASK;
	while (p->pc_count >= d->pc_mask / 2);
	d->pcs = mt_alloc(((size_t)d->pc_mask + 1) * sizeof *d->pcs);
	for (uint32_t i = MT_PC_FIRST; i < p->pc_count; i++)
		*pc_slot(d, p, &p->pcs[i]) = i;
}

uint32_t mt_define_pc(struct mt_define *d, struct mt_profile *p, const struct mt_pc *pc)
{
	if (p->pc_count >= d->pc_mask / 2)
		grow_pcs(d, p);
	uint32_t *slot = pc_slot(d, p, pc);

	if (!*slot)
		*slot = mt_profile_add_pc(p, pc);
	return *slot;
}

/* ---- groups ---- */

uint32_t mt_define_group(struct mt_define *d, struct mt_profile *p, uint32_t leaf)
{
	while (d->group_nodes <= leaf) {
		uint32_t wanted = d->group_nodes ? 2 * d->group_nodes : 1024;

		d->groups = mt_resize(d->groups, (size_t)wanted * sizeof *d->groups);
		for (uint32_t i = d->group_nodes; i < wanted; i++)
			d->groups[i] = 0;
		d->group_nodes = wanted;
	}
	if (!d->groups[leaf])
		d->groups[leaf] = mt_profile_add_group(p, leaf) + 1;
	return d->groups[leaf] - 1;
}

uint64_t mt_define_memory(const struct mt_define *d)
{
	return ((uint64_t)d->node_mask + d->pc_mask + 2 + d->group_nodes) * sizeof(uint32_t);
}

void mt_define_free(struct mt_define *d)
{
	free(d->nodes);
	free(d->pcs);
	free(d->groups);
	*d = (struct mt_define){0};
}
