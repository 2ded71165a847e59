#include "core/base/links.h"

#include "core/base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel follows */

/* Follows one link. Opened before it is read, so that nobody can exchange it in between. 1: *path
 * is what it names; 0: it is no link. */
static int follow(char **path, struct mt_err *err)
{
	const char *slash = strrchr(*path, '/');
	int directory = slash ? (int)(slash - *path) + 1 : 0;
	int fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX], *next;
	struct stat is;
	ssize_t len = 0;

	if (fd < 0 || fstat(fd, &is) < 0 || !S_ISLNK(is.st_mode)) {
		if (fd >= 0)
			close(fd);
		return 0; /* a name that cannot be reached is refused when it is opened */
	}
	if (is.st_uid == geteuid())
		len = readlinkat(fd, "", target, sizeof target);
	close(fd);
	if (len <= 0 || (size_t)len >= sizeof target)
		return mt_fail(err, -ELOOP,
			"%s: is another user's symbolic link, which memtui does not follow; name "
			"the file itself, or another",
			*path);
	next = mt_format("%.*s%.*s", *target == '/' ? 0 : directory, *path, (int)len, target);
	free(*path);
	*path = next;
	return 1;
}

char *mt_links_resolve(const char *name, struct mt_err *err)
{
	char *path = mt_strdup(name);
	int followed = 1;

	for (int i = 0; i < LINKS_MAX && followed > 0; i++)
		followed = follow(&path, err);
	if (followed > 0)
		followed = mt_fail(err, -ELOOP, "cannot write %s: %s", name, strerror(ELOOP));
	if (!followed)
		return path;
	free(path);
	return NULL;
}
