/* What an attached tracer does without: other definitions behind its own, since it stands before
 * none, and the checks of stacks, which need another unwinder. */
#include "preload/attached/attached.h"
#include "preload/process/ending.h"
#include "preload/process/thread.h"
#include "preload/symbols/find.h"
#include "preload/unwind/check.h"

void mt_find_own(void)
{
	mt_tracer.own_start = mt_attached.own_start;
	mt_tracer.own_end = mt_attached.own_end;
	mt_tracer.loader_start = mt_attached.loader_start;
	mt_tracer.loader_end = mt_attached.loader_end;
}

bool mt_find_next(const char *name, struct mt_found *found)
{
	(void)name;
	(void)found;
	return false;
}

bool mt_find_for(uint64_t caller, const char *name, struct mt_found *found, mt_find_judge *judge)
{
	(void)caller;
	(void)name;
	(void)judge;
	*found = (struct mt_found){.function = NULL};
	return false;
}

void mt_find_in_child(void) {}

void mt_find_unload_begins(void) {}

void mt_find_unload_ends(void) {}

void mt_thread_starts(uint64_t *low, uint64_t *high)
{
	*low = *high = 0;
}

void mt_check_start(void) {}

void mt_ending_register(void) {}

void mt_check(struct mt_thread_state *t, const struct mt_entry *entry, uint32_t node)
{
	(void)t;
	(void)entry;
	(void)node;
}

void mt_check_nested(struct mt_thread_state *t, const struct mt_entry *entry, uint32_t node,
	uint32_t level)
{
	(void)t;
	(void)entry;
	(void)node;
	(void)level;
}
