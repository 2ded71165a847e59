/* The check mode. Every stack is compared with a full walk of our own, and many with the unwinder
 * of libgcc, which shares no code with ours: the first MT_CHECK_OTHER_FIRST of a program, then one
 * in MT_CHECK_OTHER_EACH.
 *
 * libgcc's is asked for as many frames as ours has found by call frame information, so it reads
 * nothing that a right walk does not read; and only as far as what it reads could not make it fail,
 * since it trusts call frame information, follows registers that ours does not, and aborts where it
 * understands nothing. All these frames must have the same pcs, and it must end where ours ends.
 * Not comparable, and counted as that, is what lies beyond code without call frame information
 * (ours goes by frame pointer, libgcc's stops), beyond call frame information that is out of order,
 * and beyond the place where ours is cut; and a stack that leads through libgcc itself, which may
 * hold the lock that it would want, or that has no room left for it.
 *
 * MT_MUTATION makes a tracer that is wrong on purpose, to see that the checks see it:
 *   1  a remembered stack counts without its words being compared
 *   2  a frame pointer that is needed is not compared
 *   3  the slot where a needed frame pointer is saved is not compared
 *   4 saved frame pointers are not restored: wrong in the full walk too, which libgcc's alone can
 *   tell
 *   5  what is known of an unloaded module is kept for whatever comes to lie in its place */
#ifndef MT_CHECK_H
#define MT_CHECK_H

#include "preload/base/tracer.h"

#ifndef MT_MUTATION
#define MT_MUTATION 0
#endif

#define MT_CHECK_OTHER_FIRST 10000
#define MT_CHECK_OTHER_EACH 16

/* While the program starts. Does nothing unless the recording is to be checked. */
void mt_check_start(void);
/* node: of the innermost frame. */
void mt_check(struct mt_thread_state *, const struct mt_entry *entry, uint32_t node);
/* Of an event in a signal handler inside another event: its stack is a full walk as it is. node:
 * the leaf. */
void mt_check_nested(struct mt_thread_state *, const struct mt_entry *entry, uint32_t node,
	uint32_t level);

#endif
