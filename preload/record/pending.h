/* Calls under way that may end in our malloc or free: those of operator new and delete, and of
 * allocators that may call malloc. One allocation is one event, of the outermost of them. */
#ifndef MT_PENDING_H
#define MT_PENDING_H

#include "preload/base/tracer.h"

/* Where the code of operators lies, as operators.c has found it. */
struct mt_pending_code {
	/* The program's own operators: calls of these are not seen. The library's others, as new[]
	 * and delete with a size, go by way of them. */
	uint64_t own[MT_OPERATOR_COUNT]; /* new */
	uint32_t own_count;
	/* what allocates an exception, maybe the bad_alloc of the operator that is pending */
	uint64_t throwing_start, throwing_end;
};
extern struct mt_pending_code mt_pending_code;

/* Is it in one of the program's own operators new? */
bool mt_pending_is_of_own(uint64_t pc);
/* Is this call made by the real operator that the pending one has called, or in its place: a tail
 * call? An exception may have left that one: then it is forgotten. */
bool mt_pending_belongs(struct mt_thread_state *, const struct mt_entry *entry);

struct mt_pending {
	struct mt_entry entry;
	uint64_t size, start, end;
	uint32_t function;
};

/* In t->pending_function: the operator rounds the size up before it allocates; what it was asked
 * for is t->pending_size. */
#define MT_PENDING_ROUNDS 0x100u

/* An allocation inside the real operator new is that of the operator: its function is
 * t->pending_function, its caller's state t->pending. False: this allocation is not the
 * operator's. */
bool mt_pending_take(struct mt_thread_state *, const struct mt_entry *entry, size_t size);
/* Before a call of code in [start, end), and after it: true when an allocation in it has been
 * taken. */
void mt_pending_begin(struct mt_thread_state *, struct mt_pending *before,
	const struct mt_entry *entry, uint32_t function, uint64_t size, uint64_t start,
	uint64_t end);
bool mt_pending_end(struct mt_thread_state *, const struct mt_pending *before);

/* Whether a call that this thread has made of code in [start, end) is still under way, and entry
 * lies within it: at most limit bytes of stack further on. Its return address must still lie where
 * it was. On other stacks than the thread's own, one of which may lie below another, the call must
 * also come from that code (end 0: whatever code that is), or be in the place of such a call.
 * *gone: it has been left by an exception or longjmp. */
bool mt_call_holds(const struct mt_thread_state *, const struct mt_entry *call,
	const struct mt_entry *entry, uint64_t limit, uint64_t start, uint64_t end, bool *gone);

/* Of t->freeing, by a call of free or delete for the same block. False: that is forgotten. */
bool mt_freeing_holds(struct mt_thread_state *, const struct mt_entry *entry);

#endif
