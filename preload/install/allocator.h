#ifndef MT_INSTALL_ALLOCATOR_H
#define MT_INSTALL_ALLOCATOR_H

#include "preload/base/tracer.h"

/* Fills mt_tracer.allocator, when the real functions have just been looked up, while they cannot
 * yet be called. */
void mt_install_find_allocator(const struct mt_real *);

#endif
