/* What can be learnt of a process's memory from outside, beside the list of its mappings. */
#ifndef MT_ACCOUNT_PROCESS_H
#define MT_ACCOUNT_PROCESS_H

#include "core/account/smaps.h"
#include "core/wire.h"

/* The memory of a tracer that records the process. */
struct mt_account_own {
	struct mt_wire_own *items;
	uint32_t count;
	uint32_t segment; /* path of the shared memory with its header; 0: none was found */
	uint64_t code;    /* an address in its library; 0: not known */
};
/* own is zeroed. Nothing is found where there is no tracer, or its memory may not be read. */
void mt_account_own_read(struct mt_account_own *, pid_t, const struct mt_smaps *);
void mt_account_own_free(struct mt_account_own *);

/* The stack pointers of threads that wait in the kernel, in order. Caller frees. */
uint64_t *mt_account_stack_pointers(pid_t, uint32_t *count);
/* Whether one of them is in low to high. */
bool mt_account_has_pointer(const uint64_t *pointers, uint32_t count, uint64_t low, uint64_t high);
/* Whether the mapping ends with glibc's record of a thread, which stands at the top of its stack,
 * also while the stack waits for another thread. true where the memory may not be read. */
bool mt_account_has_thread_record(pid_t, uint64_t low, uint64_t high);

#endif
