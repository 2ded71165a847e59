/* Finds what a profile defines by what it is, or defines it: for whoever makes a profile from
 * things that come more than once. */
#ifndef MT_MODEL_DEFINE_H
#define MT_MODEL_DEFINE_H

#include "core/model/profile.h"

/* Zeroed it knows nothing. The profile must get its nodes and groups through it alone, but for
 * those of mt_profile_init; pcs may come past it, where none is to be found again. */
struct mt_define {
	uint32_t *nodes, node_mask; /* open addressing: node ids; 0, the root, is nobody's child */
	uint32_t *pcs, pc_mask;     /* the same: pc ids, none of which is 0 */
	uint32_t *groups, group_nodes; /* by node: its group + 1 */
};

uint32_t mt_define_node(struct mt_define *, struct mt_profile *, uint32_t parent, uint32_t pc);
/* A program address. */
uint32_t mt_define_pc(struct mt_define *, struct mt_profile *, const struct mt_pc *);
/* The group whose leaf the node is. */
uint32_t mt_define_group(struct mt_define *, struct mt_profile *, uint32_t leaf);
uint64_t mt_define_memory(const struct mt_define *); /* in bytes */
void mt_define_free(struct mt_define *);

#endif
