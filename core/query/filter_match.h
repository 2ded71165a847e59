/* What a selection asks of a filter: one verdict per group. */
#ifndef MT_QUERY_FILTER_MATCH_H
#define MT_QUERY_FILTER_MATCH_H

#include "core/query/query.h"

/* Sets matches[group] to 1 or 0 for every group of the profile. */
int mt_filter_match(struct mt_filter *, const struct mt_profile *, const struct mt_symbols *,
	uint8_t *matches, struct mt_err *err);

/* mt_filter_set, where errors call the field other than by its option; called: static. */
int mt_filter_set_as(struct mt_filter *, enum mt_filter_field, const char *called, const char *text, struct mt_err *err);

#endif
