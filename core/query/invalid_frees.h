/* Frees of addresses at which no block of their domain was live, and the blocks that had been there
 * before. Private to core/query. */
#ifndef MT_QUERY_INVALID_FREES_H
#define MT_QUERY_INVALID_FREES_H

#include "core/query/address_index.h"
#include "core/query/errors.h"

#define MT_INVALID_FREES_MAX (1u << 18) /* looked into; what comes later is counted */

struct mt_invalid_free {
	uint32_t domain; /* of the function */
	uint64_t key;    /* in the domain */
	uint64_t address;
	uint64_t order; /* number among all of them */
	uint64_t place; /* allocations before it */
	struct mt_error_call call;
	bool has_next;  /* another block is allocated there afterwards; the next: */
	bool swapped;   /* ended by a free that nobody saw */
	uint64_t next;  /* its number */
	bool has_block; /* the last one at the address before it: */
	bool matches;   /* which the filter takes */
	struct mt_allocation block;
	/* The last block of another domain that lived at the address when this free came; NULL:
	 * there is none. elsewhere: it is what was freed, and block is the same. */
	struct mt_allocation *other;
	bool elsewhere;
	uint32_t same; /* index + 1 of another free_ with the same block; 0: there are no more */
};

struct mt_invalid_frees_slot {
	uint64_t key;
	uint32_t domain;
	uint32_t first, count;
}; /* count 0: empty */
struct mt_invalid_frees_table {
	struct mt_invalid_frees_slot *slots;
	uint32_t mask;
};
struct mt_invalid_frees {
	struct mt_invalid_free *items; /* by domain and key, and then in their order */
	uint32_t count, capacity;
	uint64_t seen; /* all that there are */
	bool resumed;  /* the events begin at a checkpoint */
	/* blocks that live at the end, and have such an address inside */
	struct mt_address_index around;
	struct mt_invalid_frees_table by_key; /* and domain */
	struct mt_invalid_frees_table by_address, by_number;
	uint32_t *addressed; /* indexes of the items, by address, and then in their order */
};

/* Collects them: a pass over the events. invalid: zeroed. */
int mt_invalid_frees_gather(struct mt_invalid_frees *, const struct mt_source *, struct mt_err *);
/* To be told of every allocation, in the order of ends, with addresses and stacks. */
void mt_invalid_frees_visit(struct mt_invalid_frees *, const struct mt_allocation *);
/* When all were told. */
void mt_invalid_frees_settle(struct mt_invalid_frees *);
/* Then: the block that had the address inside when it was freed, and lives still; or NULL. */
const struct mt_address_block *mt_invalid_frees_around(const struct mt_invalid_frees *,
	const struct mt_invalid_free *);
/* Then: an allocation that the filter takes. */
void mt_invalid_frees_match(struct mt_invalid_frees *, const struct mt_allocation *);
void mt_invalid_frees_free(struct mt_invalid_frees *);

#endif
