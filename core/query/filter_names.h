/* Private to core/query: the names of the prompt's language. */
#ifndef MT_QUERY_FILTER_NAMES_H
#define MT_QUERY_FILTER_NAMES_H

#include "core/query/filter_internal.h"

/* As the field is written there: "function", "!source", "size_min". Static. */
const char *mt_filter_prompt_name(enum mt_filter_field);
/* What size_min and size_max have in common; false: the field is no end of a range. */
bool mt_filter_range_name(char out[64], enum mt_filter_field);
/* The lower field of a range by that name, or -1. */
int mt_filter_find_range(const char *name);
bool mt_filter_names(const char *name); /* whether it is one at all */
/* Length of what could be a name. */
size_t mt_filter_name_len(const char *text);

/* Length of the operator behind a name; 0 when the word is a bare regex. */
size_t mt_filter_operator_len(const char *text, size_t name_len);
/* Adds the functions whose names begin as typed, those in most groups first
 * (filter_functions.c). */
void mt_filter_add_functions(struct mt_filter_candidates *, const char *typed,
	const struct mt_filter_functions *);
/* In quotes where it needs them. */
void mt_filter_add_value(struct mt_buffer *, const char *value);

#endif
