/* The call tree in the segment: (parent, pc id) to node. */
#ifndef MT_TREE_H
#define MT_TREE_H

#include "preload/base/tracer.h"

bool mt_tree_init(void);
void mt_tree_free(void);
/* Makes the index large enough for so many more nodes. */
void mt_tree_grow_ahead(uint32_t more);
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

#endif
