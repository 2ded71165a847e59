/* What was said about leaks, in Markdown, to be pasted into an issue. */
#ifndef MT_EXPORT_REPORT_TRIAGE_H
#define MT_EXPORT_REPORT_TRIAGE_H

#include "core/query/query.h"
#include "core/triage/triage.h"

struct mt_triage_item {
	uint32_t group;
	const struct mt_judgement *judgement; /* NULL: nothing was said */
	bool came_back;
};
/* Items in the order in which they are to be told. new_groups, new_bytes: leaks that nobody has
 * judged yet. */
struct mt_triage_report {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	const char *command;
	bool live;
	const struct mt_triage_item *items;
	uint32_t count;
	uint32_t new_groups;
	uint64_t new_bytes;
};
/* without a NUL at its end */
void mt_report_triage(struct mt_buffer *out, const struct mt_triage_report *);

#endif
