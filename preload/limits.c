/* Limits on address space and locked memory would count the reserved but unused parts of the segment:
 * these are given back before such a limit takes hold, but for a sixteenth of what it allows. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "preload/segment.h"
#include "preload/sys.h"

static int result(long value)
{
	if (value >= 0)
		return (int)value;
	errno = (int)-value;
	return -1;
}

#define SHARE 16            /* of a limit that the segment may take */
#define KEEP_MAX (64u << 20) /* enough for two million frames that differ */

static void make_room(uint64_t limit)
{
	mt_segment_trim(limit / SHARE < KEEP_MAX ? limit / SHARE : KEEP_MAX);
}

static int change(pid_t pid, int resource, const void *new_limit, void *old_limit)
{
	if (new_limit && (resource == RLIMIT_AS || resource == RLIMIT_DATA)
		&& (pid == 0 || pid == mt_sys0(SYS_getpid)))
		make_room(((const struct rlimit64 *)new_limit)->rlim_cur); /* one layout with struct rlimit, on 64 bits */
	return result(mt_arch_call(SYS_prlimit64, pid, resource, (long)new_limit, (long)old_limit, 0, 0));
}

/* The types differ between C libraries and language modes; the sizes do not. */
#pragma GCC diagnostic ignored "-Wattributes"
MT_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return change(0, (int)resource, limit, NULL);
}

MT_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return change(0, (int)resource, limit, NULL);
}

MT_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *new_limit,
	struct rlimit *old_limit)
{
	return change(pid, (int)resource, new_limit, old_limit);
}

MT_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *new_limit,
	struct rlimit64 *old_limit)
{
	return change(pid, (int)resource, new_limit, old_limit);
}

MT_EXPORT int mlockall(int flags)
{
	struct rlimit64 limit = {0, 0};

	mt_sys4(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit);
	make_room(limit.rlim_cur);
	return result(mt_arch_call(SYS_mlockall, flags, 0, 0, 0, 0, 0));
}
