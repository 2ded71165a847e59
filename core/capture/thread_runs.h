/* Pairs (pairs.h) of several rings that divide each other, as where several threads allocate at
 * once. Whole pairs of different threads do not depend on each other, but for how high live bytes
 * rise: so the order in which their events happened is found first, and then each ring's pairs, a
 * run, are taken as if they were alone. All of it comes to what single events come to. */
#ifndef MT_CAPTURE_THREAD_RUNS_H
#define MT_CAPTURE_THREAD_RUNS_H

#include "core/capture/merge.h"

/* Consumes the pairs that come next in the rings of m->order, of which the first has an event with
 * this stamp. False: there are too few that end before something else happens, and nothing was
 * consumed. There is a trace. */
bool mt_thread_runs_take(struct mt_merge *, uint64_t from);
void mt_thread_runs_free(struct mt_thread_runs *);

#endif
