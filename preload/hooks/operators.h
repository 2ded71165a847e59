/* operator new and delete. */
#ifndef MT_OPERATORS_H
#define MT_OPERATORS_H

#include "preload/base/tracer.h"

/* Looks the next definitions up, while the program starts. */
void mt_operators_find(void);

#endif
