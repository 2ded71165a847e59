/* From the state at a call to the node of its stack. */
#ifndef MT_UNWIND_H
#define MT_UNWIND_H

#include "preload/base/tracer.h"

/* Node of the stack that begins with entry, with the function that was called as its leaf. For the
 * outermost event of a thread: reads and renews the thread's memo. */
uint32_t mt_unwind(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function);
/* The same where no branch answers. */
uint32_t mt_unwind_anew(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function);

/* A stack walked frame by frame, innermost first, without the tracer's own frames. */
struct mt_walk {
	uint32_t *pcs; /* NULL: they are not wanted */
	uint32_t count;
	uint32_t cut; /* enum mt_cut: could not be followed to its end */
	bool saw_own; /* it has frames of the tracer's own */
	bool foreign; /* some frame lies on a stack whose bounds are not known */
};
/* Counts a stack that is cut. */
void mt_unwind_count(enum mt_cut);
void mt_walk(struct mt_thread_state *, const struct mt_entry *entry, struct mt_walk *walk);
uint32_t mt_walk_node(const struct mt_walk *walk, enum mt_function_id function);

#endif
