/* The check mode: every stack compared with a full walk. */
#ifndef MT_CHECK_H
#define MT_CHECK_H

#include "preload/tracer.h"

void mt_check(struct mt_thread *, const struct mt_entry *entry, uint32_t node);

#endif
