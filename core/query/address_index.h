/* The blocks that live at an instant, by domain and address: which of them holds an address, and
 * which comes next. It is filled once, and then only read. Addresses are keys (doc/domains.md):
 * they differ from addresses in pools alone, where they name the pool, too. */
#ifndef MT_QUERY_ADDRESS_INDEX_H
#define MT_QUERY_ADDRESS_INDEX_H

#include "core/query/scan.h"

struct mt_address_block {
	uint64_t address, size, number, time_ns;
	uint32_t domain, group, thread;
};

struct mt_address_index {
	struct mt_address_block *blocks; /* by domain and address, once arranged */
	uint32_t count, capacity;
};

/* Of all blocks that live at a time; MT_LIVE: at the end of the recording. index: zeroed; to be
 * freed after an error too. */
int mt_address_index_make(struct mt_address_index *, const struct mt_source *, uint64_t time_ns,
	struct mt_err *);
/* Of blocks that the caller chooses: each is added, in any order, and then all are arranged. */
void mt_address_index_add(struct mt_address_index *, const struct mt_allocation *);
void mt_address_index_arrange(struct mt_address_index *);
/* The place of the first block of the domain that begins behind an address. Up to
 * mt_address_index_end, the blocks from there on follow in memory. */
uint32_t mt_address_index_behind(const struct mt_address_index *, uint32_t domain,
	uint64_t address);
/* The place behind the domain's last block. */
uint32_t mt_address_index_end(const struct mt_address_index *, uint32_t domain);
/* The domain's block that holds an address, or NULL. A block of no bytes holds its own address.
 * Where blocks overlap, since a free was lost, it is the one that begins last. */
const struct mt_address_block *mt_address_index_find(const struct mt_address_index *,
	uint32_t domain, uint64_t address);
void mt_address_index_free(struct mt_address_index *);

#endif
