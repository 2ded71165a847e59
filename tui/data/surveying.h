/* What only events tell of groups, looked up in a thread: how each grew, and what one is made
 * of. */
#ifndef MT_TUI_SURVEYING_H
#define MT_TUI_SURVEYING_H

#include "core/query/survey.h"
#include "core/recording/generation.h"

#define MT_SURVEY_GROUPS_MAX 200000u /* with more of them, series would take too much memory */

struct mt_surveying;
/* Takes a hold on the totals and events. */
struct mt_surveying *mt_surveying_new(const struct mt_generation *);
void mt_surveying_free(struct mt_surveying *); /* cancels */
void mt_surveying_ask_series(struct mt_surveying *);
/* What was asked of another group is cancelled. */
void mt_surveying_ask_group(struct mt_surveying *, uint32_t group);
/* Whether the series of all groups are known, or will not be. */
bool mt_surveying_had_series(const struct mt_surveying *);
bool mt_surveying_busy(const struct mt_surveying *);
int mt_surveying_fd(const struct mt_surveying *); /* readable: there is something to collect */
/* What mt_survey_series gives, once; then the caller's. points NULL: there is none yet. */
struct mt_series {
	struct mt_rank_point *points;
	uint32_t *old;
	uint64_t time_ns[MT_RANK_POINTS];
};
/* true: the series, or a group, is new. */
bool mt_surveying_collect(struct mt_surveying *, struct mt_series *);
/* NULL: not known (yet). Valid until the next collect. */
const struct mt_survey *mt_surveying_group(const struct mt_surveying *, uint32_t group);

#endif
