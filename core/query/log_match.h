/* Which entries of the log a filter leaves. */
#ifndef MT_QUERY_LOG_MATCH_H
#define MT_QUERY_LOG_MATCH_H

#include "core/query/query.h"

/* Sets matches[i] to 1 or 0 for every entry of the profile's log: by its stack, time, thread and
 * marker, and by what stands for size and address (of a map its own; of others their second and
 * first value). filter may be NULL. -EINVAL: a field asks of blocks of the heap alone; err names
 * it. */
int mt_log_match(uint8_t *matches, const struct mt_profile *, const struct mt_symbols *,
	struct mt_filter *, struct mt_err *);

#endif
