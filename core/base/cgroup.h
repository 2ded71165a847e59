/* The memory limit of a process's control group, and how often the kernel has ended one of its
 * processes for want of memory: of cgroup v2, or of v1's memory controller. */
#ifndef MT_BASE_CGROUP_H
#define MT_BASE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_cgroup {
	char path[4096];  /* of its directory; "": none can be seen */
	char mount[4096]; /* where the hierarchy is mounted */
	bool v1;
};

/* The group that the process is in now, as the calling process sees it. */
void mt_cgroup_of(struct mt_cgroup *, pid_t);
/* Bytes: the lowest limit of the group and of those around it that can be seen; 0: none. */
uint64_t mt_cgroup_limit(const struct mt_cgroup *);
/* How many processes of the group (v2: and of those within it) the kernel has killed for want of
 * memory. False: the kernel does not say. */
bool mt_cgroup_oom_kills(const struct mt_cgroup *, uint64_t *count);
/* The same of the whole system. */
bool mt_system_oom_kills(uint64_t *count);

#endif
