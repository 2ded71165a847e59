/* Says in one sentence when most of a process's memory is not in its heap. */
#ifndef MT_EXPORT_RESIDENT_H
#define MT_EXPORT_RESIDENT_H

#include "core/model/profile.h"

#include <stdbool.h>

#define MT_RESIDENT_LEN 128

/* The highest resident size, and when that was; 0: not known. */
uint64_t mt_resident_peak(const struct mt_profile *, uint64_t *time_ns);
/* Compares the heap with the resident size: now, or of a recording that has ended the highest of
 * both. Of a process that runs, it names the command that tells more. Returns false, and no words,
 * if the heap is where the memory is, or if nobody knows. */
bool mt_resident_words(char out[MT_RESIDENT_LEN], const struct mt_profile *, bool live);

#endif
