/* Interning. A node holds three links to children as a cache; behind it an index of 4-byte slots, whose
 * keys are the nodes themselves. Lock-free and forgiving: a lost race gives the same (parent, pc) two
 * nodes, which readers merge. */
#include "preload/tree.h"

#include "preload/segment.h"
#include "preload/sys.h"
#include "preload/thread.h"

#define FIRST_BITS 13
#define MAX_PROBES 64
#define FIRST_PATH_BITS 10
#define LAST_PATH_BITS 16
#define PATH_BITS_STEP 2
#define REPLACE_EACH 16
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
	if (len >= HUGE_BYTES)
		mt_sys3(SYS_madvise, index, len, MADV_HUGEPAGE);
	index->shift = 64 - bits;
	index->mask = (1u << bits) - 1;
	return index;
}

static struct mt_paths *new_paths(unsigned bits)
{
	size_t len = sizeof(struct mt_paths) + (sizeof(struct mt_path) << bits);
	struct mt_paths *paths = mt_sys_map(len);

	if (paths)
		paths->shift = 32 - bits;
	return paths;
}

bool mt_tree_init(void)
{
	mt_tracer.index = new_index(FIRST_BITS);
	mt_tracer.paths = new_paths(FIRST_PATH_BITS);
	if (!mt_tracer.index || !mt_tracer.paths || !mt_range_need(&mt_tracer.node_range, MT_NODE_FIRST))
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

/* Puts a node in, unless its neighbourhood is full: then it is found by its parent's links or not at all. */
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

static void grow(struct mt_index *old)
{
	struct mt_index *index;

	if (!mt_thread_may_grow(MT_GROWING_INDEX))
		return;
	index = mt_load(&mt_tracer.index) == old ? new_index(64 - old->shift + 1) : NULL;
	if (index) {
		for (uint32_t i = 0; i <= old->mask; i++) {
			uint32_t id = mt_load_acquire(&old->slots[i]);

			if (id)
				insert(index, id);
		}
		mt_store_release(&mt_tracer.index, index);
	}
	mt_thread_has_grown(MT_GROWING_INDEX);
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

/* Remembers a child in its parent. When the links are taken only one call in REPLACE_EACH puts another
 * in the place of one: children that come in turn would drive each other out all the time. */
static void link_child(struct mt_wire_node *parent, uint32_t pc, uint32_t id)
{
	uint64_t link = (uint64_t)id << 32 | pc;
	uint32_t turn;

	for (int i = 0; i < 3; i++)
		if (mt_load(&parent->child[i]) == 0) {
			mt_store_release(&parent->child[i], link);
			return;
		}
	turn = mt_tls.turn++;
	if (turn % REPLACE_EACH == 0)
		mt_store_release(&parent->child[turn / REPLACE_EACH % 3], link);
}

MT_COLD uint32_t mt_tree_find(uint32_t parent, uint32_t pc)
{
	struct mt_index *index = mt_load_acquire(&mt_tracer.index);
	uint32_t id, at = hash(parent, pc, index->shift);

	if (pc == 0 || parent == MT_PC_TABLE_FULL)
		return parent;
	if (parent == MT_NODE_ROOT && pc < MT_NODE_FIRST)
		return pc;
	for (int i = 0; i < MAX_PROBES; i++, at = (at + 1) & index->mask) {
		const struct mt_wire_node *node;

		id = mt_load_acquire(&index->slots[at]);
		if (id == 0)
			break;
		node = &mt_tracer.nodes[id];
		if (node->parent == parent && mt_load(&node->pc) == pc) {
			link_child(&mt_tracer.nodes[parent], pc, id);
			return id;
		}
	}
	id = make(parent, pc);
	if (id == MT_PC_TABLE_FULL)
		return id;
	if (mt_load(&index->used) > index->mask / 2) {
		grow(index);
		index = mt_load_acquire(&mt_tracer.index);
	}
	insert(index, id);
	link_child(&mt_tracer.nodes[parent], pc, id);
	return id;
}

/* An empty table four times as large, once the old one has been filled half: the paths in use come back by
 * themselves. */
static void grow_paths(struct mt_paths *old)
{
	unsigned bits = 32 - old->shift + PATH_BITS_STEP;
	struct mt_paths *paths;

	if (bits > LAST_PATH_BITS || !mt_thread_may_grow(MT_GROWING_PATHS))
		return;
	paths = mt_load(&mt_tracer.paths) == old ? new_paths(bits) : NULL;
	if (paths)
		mt_store_release(&mt_tracer.paths, paths);
	else
		mt_store(&old->fills, 0);
	mt_thread_has_grown(MT_GROWING_PATHS);
}

/* Whoever finds the line being written leaves it alone. */
static void remember_path(struct mt_path *path, uint32_t start, const uint32_t *pcs, uint32_t count,
	uint32_t last, uint32_t node)
{
	uint32_t turn = mt_load(&path->turn);

	if (turn & 1 || !mt_swap_if(&path->turn, &turn, turn + 1))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (uint32_t i = 0; i < MT_PATH_MAX; i++)
		mt_store(&path->pcs[i], i < count ? pcs[i] : i == count ? last : 0);
	mt_store(&path->start, start);
	mt_store(&path->node, node);
	mt_store_release(&path->turn, turn + 2);
}

MT_COLD uint32_t mt_tree_follow(uint32_t start, const uint32_t *pcs, uint32_t count, uint32_t last,
	uint32_t hash)
{
	struct mt_paths *paths = mt_load_acquire(&mt_tracer.paths);
	uint32_t node, slot = mt_tree_slot(paths, start, hash);

	node = mt_tree_match(&paths->at[slot ^ 1], start, pcs, count, last);
	if (node)
		return node;
	node = start;
	for (uint32_t i = 0; i < count; i++)
		node = mt_tree_child(node, pcs[i]);
	node = mt_tree_child(node, last);
	if (node == MT_PC_TABLE_FULL) /* not remembered, so that the next one is counted too */
		return node;
	if (mt_add(&paths->fills, 1) >= 1u << (31 - paths->shift)) {
		grow_paths(paths);
		paths = mt_load_acquire(&mt_tracer.paths);
		slot = mt_tree_slot(paths, start, hash);
	}
	if (mt_load(&paths->at[slot].turn) && !mt_load(&paths->at[slot ^ 1].turn))
		slot ^= 1;
	remember_path(&paths->at[slot], start, pcs, count, last, node);
	return node;
}
