#include "tui/command/new_file.h"

#include "core/base/buffer.h"
#include "core/base/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void forget(struct mt_new_file *file)
{
	free(file->path);
	free(file->aside);
	*file = (struct mt_new_file){0};
}

int mt_new_file_open(struct mt_new_file *file, const char *path, bool force, mode_t mode,
	struct mt_err *err)
{
	*file = (struct mt_new_file){.path = mt_strdup(path), .force = force};
	file->aside = mt_format("%s.%d.new", path, (int)getpid());
	int fd = open(file->aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode), error = errno;

	if (fd >= 0)
		return fd;
	mt_fail(err, -error, "cannot write %s: %s", error == EEXIST ? file->aside : path,
		strerror(error));
	forget(file);
	return -error;
}

static int give_name(const struct mt_new_file *file, struct mt_err *err)
{
	int error = file->force ? rename(file->aside, file->path) < 0 ? -errno : 0
				: mt_rename_new(file->aside, file->path);

	if (error == -EEXIST)
		return mt_fail(err, error, "%s: exists already; choose another name or use --force",
			file->path);
	return error ? mt_fail(err, error, "cannot name the new file %s: %s", file->path,
		       strerror(-error))
		     : 0;
}

int mt_new_file_close(struct mt_new_file *file, int status, struct mt_err *err)
{
	if (!file->aside)
		return status;
	int error = status < 0 ? status : give_name(file, err);

	if (error)
		unlink(file->aside);
	forget(file);
	return error ? error : status;
}
