/* The way of a process to its segment. */
#ifndef MT_ATTACH_H
#define MT_ATTACH_H

#include "preload/base/tracer.h"

/* Asks the recorder for a segment, once. Afterwards the phase is ATTACHED or OFF, or still NEW when
 * the environment is not there yet. */
void mt_attach(void);
/* Whether memory says that a segment is in use, or being asked for, but by a process that this one
 * was forked from. */
bool mt_attach_is_foreign(void);
/* In a forked child, as early as can be: a child of vfork of its own, which shares its memory, is
 * not to ask for the segment in its place. */
void mt_attach_note_child(void);
/* True for one thread of this process alone: from then on the phase speaks of it. */
bool mt_attach_adopt(void);
/* Events that came while a segment was being asked for: what came too late for the one thread the
 * other counts. */
void mt_attach_count_missed(void);
/* In a forked child, from one thread: leaves the parent's segment, to which nothing is written any
 * more, and asks for one of its own. False: it goes on untraced. */
bool mt_attach_forked(void);

#endif
