/* A stable sort by a 64-bit key: what orders groups and tree nodes. */
#ifndef MT_QUERY_SORT_H
#define MT_QUERY_SORT_H

#include <stdint.h>

struct mt_sort_entry {
	uint64_t key;
	uint32_t id;
};

/* Ascending by key; entries of equal keys keep their order. */
void mt_sort(struct mt_sort_entry *entries, uint32_t count);

#endif
