/* Filters by single allocations, in a thread of their own: the screen answers keys meanwhile. */
#ifndef MT_TUI_MATCHING_H
#define MT_TUI_MATCHING_H

#include "core/query/scan.h"
#include "core/recording/generation.h"

struct mt_matching;
struct mt_matching *mt_matching_new(void);
void mt_matching_free(struct mt_matching *); /* cancels */
/* A filter in the prompt's language, which was parsed before. What was asked before is cancelled;
 * nobody waits for its end. */
void mt_matching_start(struct mt_matching *, const struct mt_generation *, const char *text);
void mt_matching_cancel(struct mt_matching *);
/* what is asked, and not collected yet; NULL: nothing */
const char *mt_matching_text(const struct mt_matching *);
/* Done so far, from 0 to 1. held: a test stopped it there (MEMTUI_TEST_FILTERING is such a
 * share). */
double mt_matching_progress(struct mt_matching *, bool *held);
/* readable: there may be something to collect */
int mt_matching_fd(const struct mt_matching *);
/* 0: nothing yet; 1: out is the result, the caller's; negative: it failed, and err says why. What
 * was asked is no more then. */
int mt_matching_collect(struct mt_matching *, struct mt_matched *out, struct mt_err *err);

#endif
