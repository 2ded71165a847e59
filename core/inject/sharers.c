/* Processes that share the target's memory without being its threads: children of vfork until they
 * execute a program, and whatever was made with CLONE_VM alone. */
#include "core/inject/internal.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t mt_inject_sharer(const struct mt_tracee *t)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (processes && !found && (entry = readdir(processes))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && pid != t->pid
			&& syscall(SYS_kcmp, mt_proc_thread(t->pid), pid, KCMP_VM, 0, 0) == 0)
			found = pid;
	}
	if (processes)
		closedir(processes);
	return found;
}
