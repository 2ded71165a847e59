/* The call tree in the segment: (parent, pc id) to node. */
#ifndef MT_TREE_H
#define MT_TREE_H

#include "preload/tracer.h"

#define MT_PATH_MAX 13

/* A path remembered: from a node down by one pc id after the other, of which the last may be a kind. One
 * cache line, so that a stack whose inner frames are new costs one miss and not one per frame. */
struct mt_path {
	uint32_t turn; /* odd while it is written */
	uint32_t node, start;
	uint32_t pcs[MT_PATH_MAX]; /* 0: end */
};

struct mt_paths {
	uint32_t shift, fills;
	_Alignas(64) struct mt_path at[];
};

bool mt_tree_init(void);
uint32_t mt_tree_follow(uint32_t start, const uint32_t *pcs, uint32_t count, uint32_t last, uint32_t hash);
uint32_t mt_tree_find(uint32_t parent, uint32_t pc);

/* The child of parent with that pc id, made when it is new; parent itself for pc id 0. */
static inline uint32_t mt_tree_child(uint32_t parent, uint32_t pc)
{
	const struct mt_wire_node *node = &mt_tracer.nodes[parent];
	uint64_t link;

	link = mt_load_acquire(&node->child[0]);
	if ((uint32_t)link == pc && pc)
		return link >> 32;
	link = mt_load_acquire(&node->child[1]);
	if ((uint32_t)link == pc && pc)
		return link >> 32;
	link = mt_load_acquire(&node->child[2]);
	if ((uint32_t)link == pc && pc)
		return link >> 32;
	return mt_tree_find(parent, pc);
}

/* The hash of a path is made as the path is: 0 when it is empty, then pc id after pc id. */
static inline uint32_t mt_tree_hash(uint32_t hash, uint32_t pc)
{
	return (hash + pc) * 0x9e3779b1u;
}

static MT_INLINE uint32_t mt_tree_slot(const struct mt_paths *paths, uint32_t start, uint32_t hash)
{
	return (hash ^ start * 0x85ebca6bu) >> paths->shift;
}

/* The node that path has for this key, 0 when it has another key. */
static MT_INLINE uint32_t mt_tree_match(const struct mt_path *path, uint32_t start, const uint32_t *pcs,
	uint32_t count, uint32_t last)
{
	uint32_t turn = mt_load_acquire(&path->turn), node = mt_load(&path->node), differ;

	differ = (turn & 1) | (mt_load(&path->start) ^ start) | (mt_load(&path->pcs[count]) ^ last);
	for (uint32_t i = 0; i < count; i++)
		differ |= mt_load(&path->pcs[i]) ^ pcs[i];
	if (count + 1 < MT_PATH_MAX)
		differ |= mt_load(&path->pcs[count + 1]);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return differ == 0 && mt_load(&path->turn) == turn ? node : 0;
}

/* The node to which pcs[0 .. count) and then last lead from start. None of them is 0; hash is theirs. */
static MT_INLINE uint32_t mt_tree_path(uint32_t start, const uint32_t *pcs, uint32_t count, uint32_t last,
	uint32_t hash)
{
	const struct mt_paths *paths = mt_load_acquire(&mt_tracer.paths);
	uint32_t slot = mt_tree_slot(paths, start, hash), node;

	node = mt_tree_match(&paths->at[slot], start, pcs, count, last);
	return mt_likely(node) ? node : mt_tree_follow(start, pcs, count, last, hash);
}

#endif
