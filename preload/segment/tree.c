/* Interning. A node holds links to the first three of its children; an index of 4-byte slots, whose
 * keys are the nodes themselves, holds the others. Lock-free and forgiving: a lost race gives the
 * same (parent, pc) two nodes, which readers merge. */
#include "preload/segment/tree.h"

#include "preload/base/grow.h"
#include "preload/base/sys.h"
#include "preload/segment/file.h"
#include "preload/segment/segment.h"

#define FIRST_BITS 13
#define MAX_PROBES 64
#define LINKS 3               /* of a node to its children */
#define HUGE_BYTES (4u << 20) /* huge pages pay above this size */

struct mt_index {
	uint32_t shift, mask, used, reserved;
	uint32_t slots[];
};

static struct mt_index *new_index(unsigned bits)
{
	size_t len = sizeof(struct mt_index) + (sizeof(uint32_t) << bits);
	struct mt_index *index = mt_sys_map(len);

	if (!index)
		return NULL;
	mt_count_private(len);
	if (len >= HUGE_BYTES)
		mt_sys3(SYS_madvise, index, len, MADV_HUGEPAGE);
	index->shift = 64 - bits;
	index->mask = (1u << bits) - 1;
	return index;
}

void mt_tree_free(void)
{
	struct mt_index *index = mt_tracer.index;

	mt_store_release(&mt_tracer.index, NULL);
	if (index)
		mt_sys_unmap(index,
			sizeof *index + ((uint64_t)index->mask + 1) * sizeof *index->slots);
}

bool mt_tree_init(void)
{
	mt_tracer.index = new_index(FIRST_BITS);
	if (!mt_tracer.index || !mt_range_need(&mt_tracer.node_range, MT_NODE_FIRST))
		return false;
	for (uint32_t i = 1; i < MT_NODE_FIRST; i++)
		mt_tracer.nodes[i] = (struct mt_wire_node){.pc = i};
	mt_tracer.next_node = MT_NODE_FIRST;
	mt_publish_count(&mt_tracer.header->node_count, MT_NODE_FIRST);
	return true;
}

static uint32_t hash(uint32_t parent, uint32_t pc, uint32_t shift)
{
	return (((uint64_t)parent << 32 | pc) * 0x9e3779b97f4a7c15ull) >> shift;
}

/* Puts a node in, unless its neighbourhood is full: then it is not found again. */
static void insert(struct mt_index *index, uint32_t id)
{
	const struct mt_wire_node *node = &mt_tracer.nodes[id];
	uint32_t at = hash(node->parent, node->pc, index->shift);

	for (int i = 0; i < MAX_PROBES; i++, at = (at + 1) & index->mask) {
		uint32_t found = mt_load(&index->slots[at]);

		if (found == 0 && mt_swap_if(&index->slots[at], &found, id)) {
			mt_add(&index->used, 1);
			return;
		}
	}
}

/* Gives back the memory of a table that others may still be reading: to them it is empty but for
 * its first page. What they do not find there they make again, and readers merge it. */
static void forget_slots(struct mt_index *index)
{
	size_t len = sizeof *index + ((size_t)index->mask + 1) * sizeof index->slots[0];

	if (len > MT_WIRE_PAGE)
		mt_sys3(SYS_madvise, (uint8_t *)index + MT_WIRE_PAGE, len - MT_WIRE_PAGE,
			MADV_DONTNEED);
}

static void grow(struct mt_index *old, unsigned bits)
{
	struct mt_index *index;

	if (!mt_grow_begin(MT_GROWING_INDEX))
		return;
	index = mt_load(&mt_tracer.index) == old ? new_index(bits) : NULL;
	if (index) {
		for (uint32_t i = 0; i <= old->mask; i++) {
			uint32_t id = mt_load_acquire(&old->slots[i]);

			if (id)
				insert(index, id);
		}
		mt_store_release(&mt_tracer.index, index);
		forget_slots(old);
	}
	mt_grow_end(MT_GROWING_INDEX);
}

MT_COLD void mt_tree_grow_ahead(uint32_t more)
{
	struct mt_index *index = mt_load_acquire(&mt_tracer.index);
	unsigned bits = 64 - index->shift;

	while (1ull << bits < 2 * ((uint64_t)mt_load(&index->used) + more))
		bits++;
	if (bits > 64 - index->shift)
		grow(index, bits);
}

static uint32_t make(uint32_t parent, uint32_t pc)
{
	uint32_t id = mt_load(&mt_tracer.next_node);

	if (id < mt_tracer.node_range.capacity)
		id = mt_add(&mt_tracer.next_node, 1);
	if (id >= mt_tracer.node_range.capacity || !mt_range_need(&mt_tracer.node_range, id + 1)) {
		mt_count(MT_COUNTER_NODES_FULL, 1);
		return MT_PC_TABLE_FULL;
	}
	mt_tracer.nodes[id].parent = parent;
	mt_store_release(&mt_tracer.nodes[id].pc, pc);
	mt_publish_count(&mt_tracer.header->node_count, id + 1);
	return id;
}

/* Remembers a child in its parent, or in the index where the parent has three already. */
static void link_child(uint32_t parent, uint32_t pc, uint32_t id)
{
	struct mt_index *index = mt_load_acquire(&mt_tracer.index);

	for (int i = 0; i < LINKS; i++) {
		uint64_t *link = &mt_tracer.nodes[parent].child[i], free = 0;

		if (mt_load(link) == 0 && mt_swap_if(link, &free, (uint64_t)id << 32 | pc))
			return;
	}
	if (mt_load(&index->used) > index->mask / 2) {
		grow(index, 64 - index->shift + 1);
		index = mt_load_acquire(&mt_tracer.index);
	}
	insert(index, id);
}

static MT_COLD uint32_t make_child(uint32_t parent, uint32_t pc)
{
	uint32_t id;

	if (pc == 0 || parent == MT_PC_TABLE_FULL)
		return parent;
	if (parent == MT_NODE_ROOT && pc < MT_NODE_FIRST)
		return pc;
	id = make(parent, pc);
	if (id != MT_PC_TABLE_FULL)
		link_child(parent, pc, id);
	if (mt_tracer.standalone)
		mt_file_tend_now();
	return id;
}

uint32_t mt_tree_find(uint32_t parent, uint32_t pc)
{
	const struct mt_wire_node *nodes = mt_tracer.nodes, *node;
	const struct mt_index *index = mt_load_acquire(&mt_tracer.index);
	uint32_t at = hash(parent, pc, index->shift), id;

	if (mt_load(&nodes[parent].child[LINKS - 1]) == 0)
		return make_child(parent, pc);
	for (int i = 0; i < MAX_PROBES; i++, at = (at + 1) & index->mask) {
		id = mt_load_acquire(&index->slots[at]);
		if (id == 0)
			break;
		node = &nodes[id];
		if (node->parent == parent && mt_load(&node->pc) == pc) {
			/* what it called first got the next ids */
			__builtin_prefetch(node + 2);
			__builtin_prefetch(node + 4);
			return id;
		}
	}
	return make_child(parent, pc);
}
