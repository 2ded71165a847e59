/* One function, whoever calls it and whatever it calls: from all stacks that lead through it. */
#ifndef MT_QUERY_CALLERS_H
#define MT_QUERY_CALLERS_H

#include "core/query/query.h"

/* A neighbour of the function. A stack counts once in it, however often it recurs there. */
struct mt_relation {
	uint32_t name; /* string id in names */
	/* one place of it (mt_frame_describe); MT_NO_NODE: none, see name */
	uint32_t pc, frame;
	struct mt_group sum;
};
struct mt_relations {
	struct mt_relation *items; /* in order of the metric, descending */
	uint32_t count, capacity;
	struct mt_strings keys;
};
struct mt_callers {
	struct mt_strings names;
	struct mt_strings functions; /* what the text stands for; id 0 is none of them */
	uint32_t group_count;        /* whose stacks lead through one of them */
	struct mt_group total;       /* of these groups */
	struct mt_group self;        /* of those that it allocates directly */
	struct mt_relations callers, callees;
	struct mt_folds folds;
};

/* text: a function's whole name, or its name without arguments, as it is shown or as it is in the
 * symbol table; where no frame is called so, a regular expression as those of the filter. -ENOENT:
 * nothing matches. out: zeroed. */
int mt_callers_get(struct mt_callers *out, const struct mt_profile *, const struct mt_symbols *,
	const struct mt_selection *, const char *text, enum mt_metric sort, struct mt_err *);
void mt_callers_free(struct mt_callers *);

#endif
