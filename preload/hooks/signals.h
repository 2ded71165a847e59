/* Signals that somebody has asked the tracer to heed: doc/control.md. */
#ifndef MT_SIGNALS_H
#define MT_SIGNALS_H

#include "preload/base/tracer.h"

/* A new image's segment has begun: takes those signals of its header that the program leaves at
 * their default action, and notes the others. */
void mt_signals_take(struct mt_wire_header *);

#endif
