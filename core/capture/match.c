#include "core/capture/match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BITS 4
#define PART_BITS (64 - MT_MATCH_BITS) /* the part is named by the bits above */
#define HUGE_PAGE (2u << 20)

/* Random accesses to a large table cost most in page walks: huge pages halve them. */
static void *allocate(size_t size)
{
	void *p;

	if (size < HUGE_PAGE / 2)
		return mt_resize(NULL, size);
	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	p = aligned_alloc(HUGE_PAGE, size);
	if (!p)
		return mt_resize(NULL, size);
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

static void part_init(struct mt_match_part *part, unsigned bits)
{
	size_t blocks = sizeof *part->blocks << bits, addresses = sizeof *part->addresses << bits;

	part->blocks = allocate(blocks + addresses);
	part->addresses = (uint64_t *)(void *)((uint8_t *)part->blocks + blocks);
	memset(part->addresses, 0, addresses);
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
		free(m->parts[i].blocks);
	*m = (struct mt_match){0};
}

static uint32_t home(const struct mt_match_part *part, uint64_t address)
{
	return (uint32_t)(mt_match_hash(address) >> part->shift) & part->mask;
}

static void put(struct mt_match_part *part, const struct mt_block *block)
{
	uint32_t at = home(part, block->address);

	while (part->addresses[at])
		at = (at + 1) & part->mask;
	part->addresses[at] = block->address;
	part->blocks[at] = *block;
	part->used++;
}

static void grow(struct mt_match_part *part)
{
	struct mt_match_part old = *part;

	part_init(part, PART_BITS - old.shift + 1);
	for (uint32_t i = 0; i <= old.mask; i++)
		if (old.addresses[i])
			put(part, &old.blocks[i]);
	free(old.blocks);
}

void mt_match_insert(struct mt_match *m, const struct mt_block *block)
{
	struct mt_match_part *part = &m->parts[mt_match_hash(block->address) >> PART_BITS];

	if (part->used >= part->mask / 2) /* misses, which every allocation begins with, stay short */
		grow(part);
	put(part, block);
}

/* Moves later entries of the chain into the hole where their home allows it: no tombstones. */
void mt_match_remove(struct mt_match *m, struct mt_block *block)
{
	struct mt_match_part *part = &m->parts[mt_match_hash(block->address) >> PART_BITS];
	uint32_t hole = (uint32_t)(block - part->blocks), at = hole;

	for (;;) {
		at = (at + 1) & part->mask;
		if (!part->addresses[at])
			break;
		uint32_t wanted = home(part, part->addresses[at]);

		if (((at - wanted) & part->mask) >= ((at - hole) & part->mask)) {
			part->addresses[hole] = part->addresses[at];
			part->blocks[hole] = part->blocks[at];
			hole = at;
		}
	}
	part->addresses[hole] = 0;
	part->used--;
}
