/* What a program has mapped itself, by what was recorded of it. */
#ifndef MT_LEAKCHECK_MAPPED_H
#define MT_LEAKCHECK_MAPPED_H

#include "core/capture/maps.h"
#include "core/model/profile.h"

/* Adds what is mapped at the end of the recording. maps: zeroed. */
void mt_mapped_by_program(struct mt_maps *, const struct mt_profile *);

#endif
