#include "core/trace/unravel.h"
#include "core/trace/predictor.h"

/* The strand of the event that happened as the i-th. */
static inline uint32_t choice(const struct mt_unravel *u, uint32_t i)
{
	uint32_t bit = i * u->bits;

	return u->choices[bit / 8] >> bit % 8 & ((1u << u->bits) - 1);
}

/* Where each strand begins, since they lie one behind the other. */
static bool find_strands(struct mt_unravel *u, uint32_t strands)
{
	uint32_t lengths[MT_STRANDS_MAX] = {0}, begin = 0;

	for (uint32_t i = 0; i < u->count; i++)
		lengths[choice(u, i)]++;
	for (uint32_t i = 0; i < MT_STRANDS_MAX; i++) {
		u->at[i] = begin;
		begin += lengths[i];
		if (i >= strands && lengths[i])
			return false;
	}
	return true;
}

/* Allocations are numbered as they happened. Returns how many there are; UINT32_MAX: an event is
 * neither that nor a free. */
static uint32_t number_allocations(struct mt_unravel *u, uint64_t first)
{
	uint32_t at[MT_STRANDS_MAX], allocations = 0;

	memcpy(at, u->at, sizeof at);
	for (uint32_t i = 0; i < u->count; i++) {
		const struct mt_event *e = &u->stored[at[choice(u, i)]++];

		if (e->type == MT_EVENT_ALLOCATE)
			u->happened[e->number - first] = first + allocations++;
		else if (e->type != MT_EVENT_FREE)
			return UINT32_MAX;
	}
	return allocations;
}

bool mt_unravel_start(struct mt_unravel *u, const uint8_t *choices, uint32_t strands,
	uint32_t count, uint64_t first)
{
	uint32_t allocations;

	u->choices = choices;
	u->bits = mt_strand_bits(strands);
	u->count = u->given = count;
	if (!find_strands(u, strands))
		return false;
	allocations = number_allocations(u, first);
	if (allocations == UINT32_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (u->stored[i].number - first < allocations)
			u->stored[i].number = u->happened[u->stored[i].number - first];
	u->given = 0;
	return true;
}

uint32_t mt_unravel_next(struct mt_unravel *u, struct mt_event *out, uint32_t room)
{
	uint32_t left = u->count - u->given, count = left < room ? left : room;

	for (uint32_t i = 0; i < count; i++)
		out[i] = u->stored[u->at[choice(u, u->given++)]++];
	return count;
}
