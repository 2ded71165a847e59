/* From ids of the segment to ids of the profile: each entry is read and checked once, when a record
 * first names it. Entries that make no sense are counted and stand for the mark of a cut stack. */
#ifndef MT_CAPTURE_ID_MAP_H
#define MT_CAPTURE_ID_MAP_H

#include "core/capture/segment.h"
#include "core/model/profile.h"

struct mt_id_map {
	const struct mt_segment *segment; /* borrowed */
	struct mt_profile *profile;       /* borrowed */
	/* borrowed; of the program, for modules without a full path; or NULL */
	const char *program_path, *directory;
	uint32_t *groups;                  /* by node of the segment: group + 1, 0 = not seen */
	uint32_t *nodes;                   /* the same, for nodes of the profile */
	uint32_t *pcs, *modules, *threads; /* the same */
	struct mt_id_map_node {
		uint32_t depth, group; /* group + 1 */
	} * info;                      /* by node of the profile */
	uint32_t info_count, info_capacity;
	uint32_t *node_slots, node_mask; /* (parent, pc) -> node */
	uint32_t *pc_slots, pc_mask;     /* entry -> pc */
	struct mt_id_map_step {
		uint32_t id, pc;
	} * chain;
	uint32_t unknown_thread; /* thread + 1 that stands for what no mark named */
};

void mt_id_map_init(struct mt_id_map *, const struct mt_segment *, struct mt_profile *);
void mt_id_map_free(struct mt_id_map *);
uint32_t mt_id_map_group_slow(struct mt_id_map *, uint32_t node);
/* The node in the profile; its leaf is a function, or node 0. */
uint32_t mt_id_map_node(struct mt_id_map *, uint32_t node);
uint32_t mt_id_map_thread(struct mt_id_map *, uint32_t thread);
/* String id of the path of the module that the tracer has met at an address; 0: none. */
uint32_t mt_id_map_module_path(struct mt_id_map *, uint64_t address);
uint32_t mt_id_map_unknown_thread(struct mt_id_map *);
uint16_t mt_id_map_kind_slow(const struct mt_id_map *, uint32_t node);

static inline uint32_t mt_id_map_group(struct mt_id_map *t, uint32_t node)
{
	if (__builtin_expect(node < t->segment->nodes.capacity && t->groups[node], 1))
		return t->groups[node] - 1;
	return mt_id_map_group_slow(t, node);
}

/* Group of an allocation by a function that its record names: if the node does not name it, since
 * the call tree was full, the site is the function, called from the node. */
uint32_t mt_id_map_group_of(struct mt_id_map *, uint32_t node, unsigned function);

/* Kind of a free, from its node. */
static inline uint16_t mt_id_map_kind(const struct mt_id_map *t, uint32_t node)
{
	return node < MT_FUNCTION_COUNT ? (uint16_t)node : mt_id_map_kind_slow(t, node);
}

#endif
