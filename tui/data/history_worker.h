/* What only events tell of groups, looked up in a thread: how each grew, and what one is made
 * of. */
#ifndef MT_TUI_SURVEYING_H
#define MT_TUI_SURVEYING_H

#include "core/query/site_history.h"
#include "core/recording/recording.h"

#define MT_SITE_HISTORY_GROUPS_MAX \
	200000u /* with more of them, series would take too much memory */

struct mt_history_worker;
/* Takes a hold on the totals and events. */
struct mt_history_worker *mt_history_worker_new(const struct mt_generation *);
/* Of a program that runs: what is known of a group when it is asked for, and again later; no
 * series. */
struct mt_history_worker *mt_history_worker_follow(const struct mt_recording *);
void mt_history_worker_free(struct mt_history_worker *); /* cancels */
void mt_history_worker_ask_series(struct mt_history_worker *);
/* What was asked of another group is cancelled. */
void mt_history_worker_ask_group(struct mt_history_worker *, uint32_t group);
/* Whether it gives series; NULL does not. */
bool mt_history_worker_has_series(const struct mt_history_worker *);
/* Whether the series of all groups are known, or will not be. */
bool mt_history_worker_had_series(const struct mt_history_worker *);
bool mt_history_worker_busy(const struct mt_history_worker *);
int mt_history_worker_fd(
	const struct mt_history_worker *); /* readable: there is something to collect */
/* What mt_site_history_series gives, once; then the caller's. points NULL: there is none yet. */
struct mt_series {
	struct mt_rank_point *points;
	uint32_t *old;
	uint64_t time_ns[MT_RANK_POINTS];
};
/* true: the series, or a group, is new. */
bool mt_history_worker_collect(struct mt_history_worker *, struct mt_series *);
/* Why what was asked last is not known; NULL: it is, or will be. */
const char *mt_history_worker_fault(const struct mt_history_worker *);
/* NULL: not known (yet). Valid until the next collect. */
const struct mt_site_history *mt_history_worker_group(const struct mt_history_worker *,
	uint32_t group);

#endif
