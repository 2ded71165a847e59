/* A column: one value for every group, in an array of its own beside the groups. Whoever learns
 * something new about groups adds a column to the profile; lists, orders, filters, folds and
 * reports take it from there (doc/columns.md). */
#ifndef MT_MODEL_GROUP_COLUMN_H
#define MT_MODEL_GROUP_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

enum mt_unit { MT_UNIT_COUNT, MT_UNIT_BYTES, MT_UNIT_TIME };

/* How the value of several groups follows from the value of each. */
enum mt_fold {
	MT_FOLD_SUM,
	MT_FOLD_MAX,
	MT_FOLD_MIN,
	MT_FOLD_HISTOGRAM, /* bucket by bucket */
	MT_FOLD_NONE,      /* several groups together have no value */
	MT_FOLD_COMPUTED,  /* it is computed from other columns, which are folded */
};

struct mt_group_column {
	/* JSON key and name in options and filters: a small letter, then small letters, digits and
	 * '_' */
	const char *name;
	const char *heading, *words; /* at most 8 characters; a phrase for menus and help */
	enum mt_unit unit;
	enum mt_fold fold;
	uint64_t as_of_ns; /* the moment for which it holds; 0: the end of the recording */
	/* `width` values a group: 1, or the buckets of a histogram. Bucket 0 counts what was 0,
	 * bucket n what was at least 2^(n-1) and less than 2^n. NULL: a built-in column. */
	uint64_t *values;
	/* Of estimates: one variance a group. NULL: the values are exact. */
	double *variances;
	uint32_t count; /* groups that have values; those behind are not known */
	uint32_t width;
	/* tables for people show it only where they are sorted by it: another column says much
	 * the same */
	bool aside;
};

#define MT_COLUMNS_MAX 32u        /* that a profile can have beside the built-in ones */
#define MT_COLUMN_BUCKETS_MAX 65u /* of a histogram */

#endif
