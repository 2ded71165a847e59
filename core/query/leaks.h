/* Blocks that live at the end, for filters that let only these match: without a pass over the
 * events. doc/analysis.md, "Leaks need no pass". */
#ifndef MT_QUERY_LEAKS_H
#define MT_QUERY_LEAKS_H

#include "core/model/live_list.h"
#include "core/query/prepared_query.h"

struct mt_leaks {
	struct mt_live_list blocks;      /* those that may match, by number */
	struct mt_trace_origin *origins; /* of each */
	bool chains;                     /* these say what each continues */
};

/* Beside enum mt_scan_wants: which of the blocks continue another one. */
#define MT_LEAKS_CONTINUED (1u << 16)

/* 1: it takes a pass over the events to know. wants: of mt_scan_allocations, and the above. */
int mt_leaks_find(struct mt_leaks *, const struct mt_prepared_query *, unsigned wants,
	struct mt_err *);
/* The allocation of a block; false: it does not match. */
bool mt_leaks_get(const struct mt_leaks *, const struct mt_prepared_query *, uint64_t index,
	struct mt_allocation *);
/* Visits them as mt_join does. *answered false: it takes a pass. */
int mt_leaks_visit(const struct mt_prepared_query *, unsigned wants,
	int (*visit)(void *context, const struct mt_allocation *), void *context, bool *answered,
	struct mt_err *);
void mt_leaks_free(struct mt_leaks *);

#endif
