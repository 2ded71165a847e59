/* Mappings are no blocks: the log of the recording has each call, and what is mapped follows from
 * their order. */
#include "core/leakcheck/mapped.h"
#include "core/base/buffer.h"

#include <stdlib.h>

static bool is_same(const struct mt_log_entry *a, const struct mt_log_entry *b)
{
	return a->thread == b->thread && a->values[0] == b->values[0]
		&& a->values[1] == b->values[1];
}

/* An entry may say that the thread's last call to take such a mapping away has failed. */
static bool *find_failed(const struct mt_profile *p)
{
	bool *failed = mt_alloc(p->log_count + 1ull);

	for (uint32_t i = 0; i < p->log_count; i++) {
		if (p->log[i].type != MT_LOG_UNMAP_FAILED)
			continue;
		for (uint32_t k = i; k-- > 0;)
			if (p->log[k].type == MT_LOG_UNMAP && !failed[k]
				&& is_same(&p->log[k], &p->log[i])) {
				failed[k] = true;
				break;
			}
	}
	return failed;
}

/* The kernel rounds up. */
static uint64_t length_of(const struct mt_log_entry *e)
{
	return e->values[1] > UINT64_MAX - MT_WIRE_PAGE
		? e->values[1]
		: (e->values[1] + MT_WIRE_PAGE - 1) & ~(uint64_t)(MT_WIRE_PAGE - 1);
}

void mt_mapped_by_program(struct mt_maps *maps, const struct mt_profile *p)
{
	bool *failed = find_failed(p);

	for (uint32_t i = 0; i < p->log_count; i++) {
		const struct mt_log_entry *e = &p->log[i];
		struct mt_map map = {.address = e->values[0],
			.length = length_of(e),
			.time_ns = e->time_ns,
			.protection = (uint32_t)e->values[2],
			.flags = (uint32_t)(e->values[2] >> 32),
			.node = e->node};

		if (!map.length || map.length > UINT64_MAX - map.address)
			continue;
		if (e->type == MT_LOG_MAP)
			mt_maps_add(maps, &map);
		else if (e->type == MT_LOG_UNMAP && !failed[i])
			mt_maps_remove(maps, map.address, map.length, NULL);
	}
	free(failed);
}
