/* What the program has mapped now, beside the heap: pieces in order of address, of which no two
 * overlap. */
#ifndef MT_CAPTURE_MAPS_H
#define MT_CAPTURE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct mt_map {
	uint64_t address, length; /* no wrap, not empty */
	uint64_t time_ns;
	uint32_t protection, flags; /* as given to mmap */
	uint32_t node;
};

struct mt_map_list {
	struct mt_map *items;
	uint32_t count, capacity;
};

struct mt_maps {
	struct mt_map_list pieces;
	uint64_t anonymous_bytes, file_bytes, peak_bytes; /* peak: of both together */
	uint64_t reserved_bytes; /* mapped with PROT_NONE: address space alone */
};

void mt_maps_free(struct mt_maps *);
/* Whatever was in the range is replaced; returns of how many pieces something was. */
uint32_t mt_maps_add(struct mt_maps *, const struct mt_map *);
/* As many adds; they are in order of address and do not overlap. */
void mt_maps_add_list(struct mt_maps *, const struct mt_map_list *);
/* Appends what is in the range, one after another, of pieces that reach beyond it their share. */
void mt_maps_shares(const struct mt_maps *, uint64_t address, uint64_t length,
	struct mt_map_list *shares);
/* Takes the range away, and from pieces that reach beyond it only their share. removed (may be
 * NULL): gets what it was, as shares do. */
uint32_t mt_maps_remove(struct mt_maps *, uint64_t address, uint64_t length,
	struct mt_map_list *removed);
/* Puts back what remove took away, except where something else is mapped by now. */
void mt_maps_restore(struct mt_maps *, const struct mt_map_list *removed);

#endif
