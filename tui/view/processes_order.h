/* The order of the processes of a session: as a tree, or by a column. */
#ifndef MT_TUI_PROCESSES_ORDER_H
#define MT_TUI_PROCESSES_ORDER_H

#include "core/session/family.h"

/* What the list is sorted by: the columns' numbers, and the tree that it has at first. X(id, words,
 * value of the process a) */
#define MT_PROCESSES_ORDERS(X) \
	X(TREE, "parents before their children", 0) \
	X(PROCESS, "process", (uint64_t)a->pid) \
	X(STATE, "state, running first", !a->alive) \
	X(LIVE, "bytes not freed", a->leaked_bytes) \
	X(PEAK, "peak of the heap", a->peak_bytes) \
	X(ALLOCS, "allocations", a->allocations) \
	X(RSS, "peak of the resident memory", a->peak_rss_bytes) \
	X(COMMAND, "command", 0)
enum mt_processes_order {
#define X(id, words, value) MT_PROCESSES_BY_##id,
	MT_PROCESSES_ORDERS(X) MT_PROCESSES_ORDER_COUNT,
#undef X
};

/* What the list is sorted by; 0 for words. */
uint64_t mt_processes_value(const struct mt_session_process *, enum mt_processes_order);
const char *mt_processes_order_words(enum mt_processes_order);
/* Whether it begins with the largest: numbers do; words and process numbers do not. */
bool mt_processes_descend(enum mt_processes_order);
/* The same for the same program of the same process, however the list is sorted. */
uint64_t mt_processes_identity(const struct mt_session_process *);
/* The program without its directory. */
const char *mt_processes_name(const struct mt_session_process *);
void mt_processes_sort(struct mt_family *, enum mt_processes_order, bool reversed);

#endif
