/* What the kernel says of a process in /proc. */
#ifndef MT_BASE_PROC_H
#define MT_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MT_STATUS_UNKNOWN (-1) /* a wait status that nobody could tell */
struct mt_proc_stat {
	pid_t parent;
	unsigned flags;
	uint32_t threads;
	uint64_t start_time, stack_start; /* in clock ticks since the system's start; an address */
	int wait_status;                  /* once it has ended, to those who may look into it */
	char state;
};
#define MT_PROC_NEVER_EXECUTED 0x40u /* PF_FORKNOEXEC */

/* A file of /proc/PID, NUL-terminated, as far as it fits. Returns its length, 0 when there is none
 * or it cannot be read. */
size_t mt_proc_read(pid_t, const char *name, char *to, size_t size);
/* Where a link of /proc/PID leads, such as "cwd". Returns its length. When the link cannot be read,
 * this is 0 and the text is empty. */
size_t mt_proc_link(pid_t, const char *name, char *to, size_t size);
/* pid may be a thread's. False: there is no such process; then all is 0 and unknown. */
bool mt_proc_stat(pid_t, struct mt_proc_stat *);
/* A first thread that has ended is a zombie as long as others run. */
bool mt_proc_has_ended(const struct mt_proc_stat *);
/* A thread of the process by whose number the kernel shows its memory: another one when the first
 * has ended. The process itself where there is none. */
pid_t mt_proc_thread(pid_t);
/* The path by which the process was executed, such as redis-server, where that leads to the file it
 * runs (by the names of the calling process); else the file's own, redis-check-rdb. "" if neither
 * is known. */
void mt_proc_executed(pid_t, char *to, size_t size);

#endif
