#include "core/capture/match.h"

void mt_match_init(struct mt_match *m)
{
	*m = (struct mt_match){0};
	mt_pool_init(&m->pool);
}

void mt_match_free(struct mt_match *m)
{
	mt_pool_free(&m->pool);
	*m = (struct mt_match){0};
}

struct mt_pool_cell *mt_match_enter(struct mt_match *m, uint64_t address,
	struct mt_match_place *place)
{
	for (unsigned i = 0; i < MT_MATCH_OPEN; i++) {
		struct mt_match_open *o = &m->open[i];
		struct mt_pool_cell block = o->cell;

		if (!(m->open_taken & 1u << i) || block.address != address)
			continue;
		o->cell.address = 0;
		mt_match_insert_at(m, place, &block);
		return mt_match_look_up(m, address, place);
	}
	return NULL;
}

void mt_match_insert(struct mt_match *m, const struct mt_pool_cell *block)
{
	struct mt_match_place place;

	mt_match_look_up(m, block->address, &place);
	mt_match_insert_at(m, &place, block);
}
