/* Private to core/model: events of a sampled recording. */
#ifndef MT_MODEL_SAMPLED_H
#define MT_MODEL_SAMPLED_H

#include "core/model/model.h"

/* Comes before mt_model_before_change, for what lies beside the group's counters. */
void mt_model_sampled_before(struct mt_model *, uint32_t group);

#endif
