/* Pairs (pairs.h) of several rings, each divided by the others' events, as where several threads
 * allocate at once: event by event in the order of their stamps, and straight into the columns. All
 * of it comes to what single events come to. */
#ifndef MT_CAPTURE_WEAVE_H
#define MT_CAPTURE_WEAVE_H

#include "core/capture/merge.h"

/* Consumes what comes first in m->order, and on, as long as it is a pair's beginning or the end of
 * an open block; leaves when one ring goes on alone. A ring's block stays open beyond that. There
 * is a trace; where births are kept no block is open, and this is not called. */
void mt_weave_run(struct mt_merge *);

#endif
