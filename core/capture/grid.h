/* Small live blocks by where they lie. A row stands for 512 bytes of the program's memory: a bit
 * for each word at which a block begins, and cells for what the ends of these blocks need, as many
 * as give every block its own. How many that are follows from how close together blocks lie; so a
 * block's cell is found without a search, and nothing moves when another begins or ends. What a
 * program allocates and frees together lies together: an event mostly touches lines that the one
 * before has brought, which in a table by hash it never does, and a block takes less memory. */
#ifndef MT_CAPTURE_GRID_H
#define MT_CAPTURE_GRID_H

#include "core/base/assert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_GRID_WORD 8u                                                      /* bytes */
#define MT_GRID_WORDS 64u                                                    /* of a row */
#define MT_GRID_ROWS 1024u                                                   /* of a page */
#define MT_GRID_SPAN ((uint64_t)MT_GRID_WORD * MT_GRID_WORDS * MT_GRID_ROWS) /* bytes of a page */
#define MT_GRID_SHIFTS 7u /* cells for 1, 2, 4, ... 64 words each */

/* A block whose numbers are not below these does not fit a cell. */
#define MT_GRID_SIZES (1u << 16)
#define MT_GRID_GROUPS (1u << 28)
#define MT_GRID_THREADS (1u << 20)
struct mt_grid_cell {
	uint64_t number;
	uint64_t size : 16, group : 28, thread : 20;
};

struct mt_grid_row {
	uint64_t begins; /* bit: a block begins at this word */
	/* address of the cells, one for every 1 << shift words; 0: there are none yet */
	uint64_t cells : 48, shift : 16;
};

struct mt_grid_page {
	struct mt_grid_row rows[MT_GRID_ROWS];
};

struct mt_grid {
	/* pages by what the addresses of their blocks have in common: open addressing */
	struct mt_grid_slot {
		uint64_t key;
		struct mt_grid_page *page; /* NULL: empty */
	} * slots;
	uint32_t bits, pages;
	uint64_t blocks;
	uint64_t refused;   /* blocks, since what is not needed was last left */
	uint64_t paid;      /* up to which block's number its blocks are worth the pages made */
	uint64_t used, due; /* bytes of pages and cells; where that is looked for next, */
	uint32_t tightened; /* and up to which slot it has been */
	/* What rows and pages have left, by shift; the first word of each leads to the next. */
	void *spare_cells[MT_GRID_SHIFTS], *spare_pages;
	char *room, *room_end;
	void **chunks;
	uint32_t chunk_count, chunk_capacity;
};

/* Of what has no page yet; never written to. */
extern struct mt_grid_row mt_grid_nothing;

void mt_grid_init(struct mt_grid *);
void mt_grid_free(struct mt_grid *);
/* The address's row, with a cell for the address that is nobody's; NULL: so few blocks share a page
 * that it would take more than it is worth. row: the address's so far; number: the block's. */
struct mt_grid_row *mt_grid_make_room(struct mt_grid *, struct mt_grid_row *row, uint64_t address,
	uint64_t number);
/* A walk over the blocks, page by page in the order of the hashes of their keys, which does not
 * change with the slots. So blocks may be inserted and removed on the way: a block that is there
 * all the time is met once. The walk begins with all zeroes. */
struct mt_grid_walk {
	uint64_t page;   /* hash of the key */
	uint64_t passed; /* bits of the row */
	uint32_t row, slot;
};
/* The next block's address and cell; false: there is none. */
bool mt_grid_next(const struct mt_grid *, struct mt_grid_walk *, uint64_t *address,
	struct mt_grid_cell *);

/* All of an address but at which of its page's words it is: those within words are others'. */
static inline uint64_t mt_grid_key(uint64_t address)
{
	return address & ~(MT_GRID_SPAN - MT_GRID_WORD);
}

/* No two keys have the same. Its upper bits are the slot that a page lies in, or behind. */
static inline uint64_t mt_grid_hash(uint64_t key)
{
	return (key ^ key >> 32) * 0x9e3779b97f4a7c15ull;
}

static inline uint32_t mt_grid_home(const struct mt_grid *g, uint64_t key)
{
	return (uint32_t)(mt_grid_hash(key) >> (64 - g->bits));
}

static inline struct mt_grid_row *mt_grid_row(const struct mt_grid *g, uint64_t address)
{
	uint64_t key = mt_grid_key(address);
	uint32_t at = mt_grid_home(g, key), mask = (1u << g->bits) - 1;

	for (; g->slots[at].page; at = (at + 1) & mask)
		if (__builtin_expect(g->slots[at].key == key, 1))
			return &g->slots[at].page->rows[address / (MT_GRID_WORD * MT_GRID_WORDS)
				% MT_GRID_ROWS];
	return &mt_grid_nothing;
}

static inline uint32_t mt_grid_word(uint64_t address)
{
	return (uint32_t)(address / MT_GRID_WORD) % MT_GRID_WORDS;
}

/* Where the cell of a block that begins at the word is, if there are cells. */
static inline struct mt_grid_cell *mt_grid_cell(const struct mt_grid_row *row, uint32_t word)
{
	return (struct mt_grid_cell *)(uintptr_t)row->cells + (word >> row->shift);
}

/* The cell of the block at an address, or NULL. row: the address's. */
static inline struct mt_grid_cell *mt_grid_find(const struct mt_grid_row *row, uint64_t address)
{
	uint32_t word = mt_grid_word(address);

	return row->begins >> word & 1 ? mt_grid_cell(row, word) : NULL;
}

/* Whether a block has the word's cell, or there is none. */
static inline bool mt_grid_is_taken(const struct mt_grid_row *row, uint32_t word)
{
	uint32_t first = word >> row->shift << row->shift;

	return row->begins >> first << (MT_GRID_WORDS - (1u << row->shift)) || !row->cells;
}

/* row: the address's, at which no block begins. False: it is not for the grid. */
static inline bool mt_grid_insert(struct mt_grid *g, struct mt_grid_row *row, uint64_t address,
	struct mt_grid_cell cell)
{
	uint32_t word = mt_grid_word(address);

	if (__builtin_expect(mt_grid_is_taken(row, word), 0)) {
		row = mt_grid_make_room(g, row, address, cell.number);
		if (!row)
			return false;
	}
	mt_assert(row != &mt_grid_nothing && !mt_grid_is_taken(row, word));
	*mt_grid_cell(row, word) = cell;
	row->begins |= 1ull << word;
	g->blocks++;
	return true;
}

/* The block at the address, which is there. A row keeps its cells for a while: blocks come back. */
static inline void mt_grid_remove(struct mt_grid *g, struct mt_grid_row *row, uint64_t address)
{
	mt_assert(row->begins >> mt_grid_word(address) & 1 && g->blocks);
	row->begins &= ~(1ull << mt_grid_word(address));
	g->blocks--;
}

#endif
