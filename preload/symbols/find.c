/* What was found, remembered by call and by object. */
#include "preload/symbols/parts.h"

#define FOUND_COUNT 1024 /* a power of two */

uint32_t mt_find_epoch;

struct entry {
	uint32_t turn; /* odd while it is written */
	uint32_t epoch;
	uint64_t caller; /* the call's return address, or the start of its object */
	const char *name;
	struct mt_found found;
};

static struct entry entries[FOUND_COUNT];
static struct entry *entry_of(uint64_t caller, const char *name)
{
	return &entries[((caller ^ (uint64_t)name << 20) * 0x9e3779b97f4a7c15ull >> 32)
		% FOUND_COUNT];
}

static bool recall(uint64_t caller, const char *name, struct mt_found *found)
{
	const struct entry *e = entry_of(caller, name);
	uint32_t turn = mt_load_acquire(&e->turn);
	bool same = !(turn & 1) && mt_load(&e->caller) == caller && mt_load(&e->name) == name
		&& mt_load(&e->epoch) == mt_load(&mt_find_epoch);

	found->function = mt_load(&e->found.function);
	found->start = mt_load(&e->found.start);
	found->end = mt_load(&e->found.end);
	found->plain = mt_load(&e->found.plain);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return same && mt_load(&e->turn) == turn;
}

static void remember(uint64_t caller, const char *name, const struct mt_found *found, uint32_t now)
{
	struct entry *e = entry_of(caller, name);
	uint32_t turn = mt_load(&e->turn);

	if (turn & 1 || !mt_swap_if(&e->turn, &turn, turn + 1))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	mt_store(&e->caller, caller);
	mt_store(&e->name, name);
	mt_store(&e->epoch, now);
	mt_store(&e->found.function, found->function);
	mt_store(&e->found.start, found->start);
	mt_store(&e->found.end, found->end);
	mt_store(&e->found.plain, found->plain);
	mt_store_release(&e->turn, turn + 2);
}

bool mt_find_in_scope(uint64_t caller, const char *name, struct mt_found *found)
{
	struct dl_find_object object;

	mt_find_search(mt_object_of((void *)caller, &object) == 0 ? object.dlfo_link_map : NULL,
		name, found);
	return found->function != NULL;
}

bool mt_find_for(uint64_t caller, const char *name, struct mt_found *found, mt_find_judge *judge)
{
	uint32_t now = mt_load_acquire(&mt_find_epoch);
	struct dl_find_object object;
	uint64_t start = 1; /* code that was made at run time: all of it is the same */

	if (mt_is_own(caller))
		caller = (uint64_t)mt_tls.called;
	if (recall(caller, name, found))
		return found->function != NULL;
	if (mt_object_of((void *)caller, &object) == 0)
		start = (uint64_t)object.dlfo_map_start;
	if (!recall(start, name, found)) {
		bool certain =
			mt_find_search(start == 1 ? NULL : object.dlfo_link_map, name, found);

		found->plain = judge && found->function && judge(name, found);
		if (!certain)
			return found->function != NULL;
		remember(start, name, found, now);
	}
	if (start != 1)
		remember(caller, name, found, now);
	return found->function != NULL;
}
