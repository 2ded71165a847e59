#include "core/base/temporary.h"

#include "core/base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int mt_temporary_file(int *writing, struct mt_err *err)
{
	const char *dir = getenv("TMPDIR");
	char *path = mt_format("%s/memtui-XXXXXX", dir && *dir ? dir : "/tmp");
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0) {
		fd = mt_fail(err, -errno,
			"cannot make the temporary file %s: "
			"%s; set TMPDIR to a directory with room",
			path, strerror(errno));
		free(path);
		return fd;
	}
	fchmod(fd, 0600);
	unlink(path);
	free(path);
	if (!writing || (*writing = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0)
		return fd;
	int error = mt_fail(err, -errno, "cannot write a temporary file: %s", strerror(errno));

	close(fd);
	return error;
}
