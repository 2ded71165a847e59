/* Private to core/model: the timeline under construction. */
#ifndef MT_MODEL_TIMELINE_H
#define MT_MODEL_TIMELINE_H

#include "core/model/model.h"

void mt_timeline_start(struct mt_model *);
/* Moves to a time beyond the open step. */
void mt_timeline_advance(struct mt_model *, uint64_t time_ns);
/* Goes back to the step of a time, or to the last one in which anything happened. */
void mt_timeline_reopen(struct mt_model *, uint64_t time_ns);
/* Writes the open step into the profile. */
void mt_timeline_store(struct mt_model *);
/* Takes back frees that were counted in the open step or, when that has none, in one before. */
void mt_timeline_unfree(struct mt_model *, uint64_t count);

#endif
