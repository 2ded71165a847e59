#include "preload/base/own.h"
#include "preload/base/tracer.h"

struct mt_wire_own mt_own[MT_WIRE_OWN_MOST];
/* Entries before it are taken, as far as that was seen; and how many have ever been in use. */
static uint32_t first_free, used;

static bool take(struct mt_wire_own *own, uint64_t address, uint64_t len)
{
	uint64_t none = 0;

	if (mt_load(&own->address) || !mt_swap_if(&own->address, &none, address))
		return false;
	mt_store_release(&own->len, len);
	return true;
}

void mt_own_add(const void *p, uint64_t len)
{
	for (uint32_t i = mt_load(&first_free); i < MT_WIRE_OWN_MOST; i++)
		if (take(&mt_own[i], (uint64_t)p, len)) {
			mt_store(&first_free, i + 1);
			mt_publish_count(&used, i + 1);
			return;
		}
	if (mt_tracer.header)
		mt_add(&mt_tracer.header->own_unlisted, 1);
}

void mt_own_remove(const void *p)
{
	uint32_t count = mt_load(&used);

	for (uint32_t i = 0; i < count; i++)
		if (mt_load(&mt_own[i].address) == (uint64_t)p) {
			mt_store(&mt_own[i].len, 0);
			mt_store_release(&mt_own[i].address, 0);
			mt_store(&first_free, 0);
			return;
		}
}
