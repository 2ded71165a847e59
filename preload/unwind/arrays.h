/* The arrays that a thread walks a stack with and keeps the last one in: short ones on the first
 * page of its state, then longer ones, each time that it meets a deeper stack. */
#ifndef MT_ARRAYS_H
#define MT_ARRAYS_H

#include "preload/base/tracer.h"

/* Puts an array behind what is there. Returns where it begins. */
static inline void *mt_arrays_put(uint8_t **at, size_t count, size_t size)
{
	void *array = *at;

	*at += count * size;
	return array;
}

/* The bytes of arrays for so many frames. */
size_t mt_arrays_bytes(size_t frames);
/* From now on the thread's arrays lie there. */
void mt_arrays_use(struct mt_thread_state *, uint8_t *at, uint32_t frames);
/* Room for a stack that is deeper than any the thread has met. What it remembers is forgotten, and
 * its frames and memo lie elsewhere. False: there is no more, by the depth limit or for want of
 * memory. */
bool mt_arrays_deepen(struct mt_thread_state *);

#endif
