/* The installer of a tracer that was written into a process that already runs (doc/attach.md). */
#ifndef MT_ATTACHED_H
#define MT_ATTACHED_H

#include "core/rendezvous.h"
#include "preload/base/tracer.h"

/* Written by the recorder before it calls what follows. */
extern struct mt_wire_attached mt_attached;

/* Called by the recorder, on a stack of its own, in a thread that was in the middle of something:
 * nothing here takes a lock, allocates, or waits. */

/* Maps the segment, and fills the list of hooks. 0, or a negative errno. */
MT_EXPORT long mt_attached_begin(void);
/* The functions of one module whose originals are in the list have hooks from now on. Returns how
 * many. */
MT_EXPORT long mt_attached_lead(void);
/* Gives back all memory but that of the tracer itself. No entry leads to a hook any more, and no
 * thread is in one. */
MT_EXPORT long mt_attached_end(void);

#endif
