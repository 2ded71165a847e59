/* libdw and the demangler may crash on a damaged file. What they read runs within a guard, so that
 * such a file costs its names and not the process. */
#ifndef MT_SYMBOL_GUARD_H
#define MT_SYMBOL_GUARD_H

/* Runs work(context), in a thread with mt_thread_start's signal mask. Returns 0, or the signal by
 * which it would have died: then nothing that it used may be touched, and since it may hold locks
 * of malloc, the thread may do no more than to call mt_guard_park. */
int mt_guard(void (*work)(void *context), void *context);
/* Keeps the thread for ever. */
_Noreturn void mt_guard_park(void);

#endif
