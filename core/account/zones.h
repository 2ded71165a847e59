/* Ranges of addresses, each with the row that its memory belongs to. */
#ifndef MT_ACCOUNT_ZONES_H
#define MT_ACCOUNT_ZONES_H

#include <stdint.h>

struct mt_zones {
	struct mt_zone {
		uint64_t low, high;
		uint32_t row;
	} * items; /* once they are arranged: by address, and no two overlap */
	uint32_t count, capacity;
};

void mt_zones_add(struct mt_zones *, uint64_t low, uint64_t high, uint32_t row);
/* Of ranges that overlap, the one that begins last has what is in both. */
void mt_zones_arrange(struct mt_zones *);
/* The first range that ends behind the address, or the count. */
uint32_t mt_zones_from(const struct mt_zones *, uint64_t address);
/* The range that has the address, or NULL. */
const struct mt_zone *mt_zones_at(const struct mt_zones *, uint64_t address);
void mt_zones_free(struct mt_zones *);

#endif
