#include "core/base/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* A kernel, or a file system, does not know the call, or what is asked of it. */
static bool is_unknown(int error)
{
	return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM
		|| error == EMLINK;
}

static int link_and_unlink(const char *from, const char *to)
{
	int error;

	if (link(from, to) < 0)
		return -errno;
	if (unlink(from) == 0)
		return 0;
	error = -errno;
	unlink(to);
	return error;
}

/* An empty file takes the name, which only one can, and is then replaced. */
static int reserve_and_rename(const char *from, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), error;

	if (fd < 0)
		return -errno;
	close(fd);
	if (rename(from, to) == 0)
		return 0;
	error = -errno;
	unlink(to);
	return error;
}

int mt_rename_new(const char *from, const char *to)
{
	int error = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0 ? -errno : 0;

	if (is_unknown(-error))
		error = link_and_unlink(from, to);
	return is_unknown(-error) ? reserve_and_rename(from, to) : error;
}
