#include "core/capture/match.h"

#include <stdlib.h>

#define FIRST_BITS 4
#define PART_BITS 56 /* the part is named by the bits above */

static void part_init(struct mt_match_part *part, unsigned bits)
{
	part->slots = mt_alloc(sizeof *part->slots << bits);
	part->mask = (1u << bits) - 1;
	part->shift = PART_BITS - bits;
	part->used = 0;
}

void mt_match_init(struct mt_match *m)
{
	for (int i = 0; i < MT_MATCH_PARTS; i++)
		part_init(&m->parts[i], FIRST_BITS);
}

void mt_match_free(struct mt_match *m)
{
	for (int i = 0; i < MT_MATCH_PARTS; i++)
		free(m->parts[i].slots);
	*m = (struct mt_match){0};
}

static uint32_t home(const struct mt_match_part *part, uint64_t address)
{
	return (uint32_t)(mt_match_hash(address) >> part->shift) & part->mask;
}

static void put(struct mt_match_part *part, const struct mt_block *block)
{
	uint32_t at = home(part, block->address);

	while (part->slots[at].address)
		at = (at + 1) & part->mask;
	part->slots[at] = *block;
	part->used++;
}

static void grow(struct mt_match_part *part)
{
	struct mt_match_part old = *part;

	part_init(part, PART_BITS - old.shift + 1);
	for (uint32_t i = 0; i <= old.mask; i++)
		if (old.slots[i].address)
			put(part, &old.slots[i]);
	free(old.slots);
}

void mt_match_insert(struct mt_match *m, const struct mt_block *block)
{
	struct mt_match_part *part = &m->parts[mt_match_hash(block->address) >> PART_BITS];

	if (part->used >= part->mask - part->mask / 4)
		grow(part);
	put(part, block);
}

/* Moves later entries of the chain into the hole where their home allows it: no tombstones. */
void mt_match_remove(struct mt_match *m, struct mt_block *block)
{
	struct mt_match_part *part = &m->parts[mt_match_hash(block->address) >> PART_BITS];
	uint32_t hole = (uint32_t)(block - part->slots), at = hole;

	for (;;) {
		at = (at + 1) & part->mask;
		if (!part->slots[at].address)
			break;
		uint32_t wanted = home(part, part->slots[at].address);

		if (((at - wanted) & part->mask) >= ((at - hole) & part->mask)) {
			part->slots[hole] = part->slots[at];
			hole = at;
		}
	}
	part->slots[hole].address = 0;
	part->used--;
}
