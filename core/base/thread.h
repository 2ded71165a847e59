/* Threads of memtui: each has a name, which ps and top show, and takes no signals. */
#ifndef MT_BASE_THREAD_H
#define MT_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread. The name has at most 15 characters and is not copied. All signals stay with the
 * caller's thread. Returns 0 or a negative errno. */
int mt_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument);

#endif
