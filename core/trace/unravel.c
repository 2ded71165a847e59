#include "core/trace/unravel.h"
#include "core/trace/predictor.h"

/* The run of the event that happened as the i-th. */
static inline uint32_t choice(const struct mt_unravel *u, uint32_t i)
{
	uint32_t bit = i * u->bits;

	return u->choices[bit / 8] >> bit % 8 & ((1u << u->bits) - 1);
}

/* Where each run begins, since they lie one behind the other. */
static bool find_runs(struct mt_unravel *u, uint32_t runs)
{
	uint32_t lengths[MT_THREAD_RUNS_MAX] = {0}, begin = 0;

	for (uint32_t i = 0; i < u->count; i++)
		lengths[choice(u, i)]++;
	for (uint32_t i = 0; i < MT_THREAD_RUNS_MAX; i++) {
		u->at[i] = begin;
		begin += lengths[i];
		if (i >= runs && lengths[i])
			return false;
	}
	return true;
}

/* Allocations are numbered as they happened. Returns how many there are. */
static uint32_t number_allocations(struct mt_unravel *u, uint64_t first)
{
	uint32_t at[MT_THREAD_RUNS_MAX], allocations = 0;

	memcpy(at, u->at, sizeof at);
	for (uint32_t i = 0; i < u->count; i++) {
		const struct mt_event *e = &u->stored[at[choice(u, i)]++];

		if (allocates(e->type))
			u->happened[e->number - first] = first + allocations++;
	}
	return allocations;
}

static uint64_t renumbered(const struct mt_unravel *u, uint64_t number, uint64_t first,
	uint32_t allocations)
{
	return number - first < allocations ? u->happened[number - first] : number;
}

bool mt_unravel_start(struct mt_unravel *u, const uint8_t *choices, uint32_t runs, uint32_t count,
	uint64_t first)
{
	uint32_t allocations;

	u->choices = choices;
	u->bits = mt_thread_run_bits(runs);
	u->count = u->given = count;
	if (!find_runs(u, runs))
		return false;
	allocations = number_allocations(u, first);
	for (uint32_t i = 0; i < count; i++) {
		struct mt_event *e = &u->stored[i];

		if (e->type != MT_EVENT_NOTE && e->type != MT_EVENT_UNKNOWN_FREE)
			e->number = renumbered(u, e->number, first, allocations);
		if (e->type == MT_EVENT_REALLOCATE)
			e->previous = renumbered(u, e->previous, first, allocations);
	}
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
