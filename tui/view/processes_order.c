#include "tui/view/processes_order.h"
#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>

struct order {
	enum mt_processes_order by;
	bool reversed;
};

const char *mt_processes_order_words(enum mt_processes_order by)
{
	static const char *const words[] = {
#define X(id, words, value) words,
		MT_PROCESSES_ORDERS(X)
#undef X
	};

	return words[by];
}

uint64_t mt_processes_identity(const struct mt_session_process *p)
{
	uint64_t hash = (uint64_t)p->pid << 32 ^ p->start_unix_ns;

	/* images of one process may begin at one time */
	for (const char *c = p->followed || !p->pid ? p->trace_path : ""; *c; c++)
		hash = hash * 31 + (unsigned char)*c;
	return hash;
}

uint64_t mt_processes_value(const struct mt_session_process *a, enum mt_processes_order by)
{
	switch (by) {
#define X(id, words, value) \
	case MT_PROCESSES_BY_##id: return value;
		MT_PROCESSES_ORDERS(X)
#undef X
	default: return 0;
	}
}

const char *mt_processes_name(const struct mt_session_process *p)
{
	const char *name = p->command;

	for (const char *c = p->command; *c && *c != ' '; c++)
		if (*c == '/')
			name = c + 1;
	return *name && *name != ' ' ? name : p->command;
}

bool mt_processes_descend(enum mt_processes_order by)
{
	return by >= MT_PROCESSES_BY_LIVE && by <= MT_PROCESSES_BY_RSS;
}

static int compare(const void *x, const void *y, void *context)
{
	const struct order *order = context;
	const struct mt_session_process *a = x, *b = y;
	uint64_t of_a = mt_processes_value(a, order->by), of_b = mt_processes_value(b, order->by);
	int result = order->by == MT_PROCESSES_BY_COMMAND
		? strcmp(mt_processes_name(a), mt_processes_name(b))
		: of_a < of_b ? -1
			      : of_a > of_b;

	if (mt_processes_descend(order->by) != order->reversed)
		result = -result;
	return result ? result : a->pid - b->pid;
}

void mt_processes_sort(struct mt_family *f, enum mt_processes_order by, bool reversed)
{
	struct order order = {by, reversed};
	bool truncated = f->truncated;
	struct mt_session_process *items;

	if (by != MT_PROCESSES_BY_TREE) {
		qsort_r(f->items, f->count, sizeof *f->items, compare, &order);
		memset(f->depths, 0, f->count * sizeof *f->depths);
		return;
	}
	items = mt_resize(NULL, ((size_t)f->count + 1) * sizeof *items);
	if (f->count)
		memcpy(items, f->items, f->count * sizeof *items);
	mt_family_make(f, items, f->count);
	f->truncated = truncated;
}
