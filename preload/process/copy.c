/* A copy of the process that stands still, for whoever looks at the program's memory from outside:
 * the program need not wait meanwhile (doc/leak-check.md). The recorder's side has a thread call
 * this, on a stack of its own and with all signals blocked. */
#include "preload/process/copy.h"

#include "preload/base/sys.h"

/* The copy is seized within milliseconds, and then does not end by itself. When nobody comes for
 * it, it ends after so many seconds. */
#define UNCLAIMED 5

long mt_copy(void)
{
	struct timespec unclaimed = {UNCLAIMED, 0};
	long pid = mt_arch_call(SYS_clone, 0, 0, 0, 0, 0, 0); /* without a signal when it ends */

	if (pid)
		return pid;
	mt_arch_call(SYS_nanosleep, (long)&unclaimed, 0, 0, 0, 0, 0);
	for (;;)
		mt_arch_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}
