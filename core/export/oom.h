/* A program that the kernel has killed for want of memory: at which limit, and who held most. */
#ifndef MT_EXPORT_OOM_H
#define MT_EXPORT_OOM_H

#include "core/query/query.h"

#include <stdbool.h>

#define MT_OOM_LEN 512

/* "OOM-killed at 2.0G". False, and nothing, if the kernel did not. */
bool mt_oom_words(char out[MT_OOM_LEN], const struct mt_info *);
/* The same, with the group that held most at that moment. */
bool mt_oom_sentence(char out[MT_OOM_LEN], const struct mt_profile *, const struct mt_symbols *);
/* That group; MT_NO_GROUP: nothing was held. */
uint32_t mt_oom_group(const struct mt_profile *);

#endif
