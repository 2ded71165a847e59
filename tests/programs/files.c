/* A library to preload: files behave as they rarely do. NO_LINKS: there are no hard links.
 * NO_RENAMEAT2: nothing is renamed without replacing. When a file is created whose name has STRUCK
 * in it, the file APPEARS is there, and the signal OPENED arrives; when it is written to, the
 * signal WRITTEN. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(int error)
{
	errno = error;
	return -1;
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	return getenv("NO_LINKS") ? refuse(EPERM)
				  : (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	return getenv("NO_RENAMEAT2")
		? refuse(EINVAL)
		: (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

static bool is_struck(const char *name)
{
	const char *struck = getenv("STRUCK");

	return struck && strstr(name, struck);
}

static void strike(const char *when)
{
	const char *number = getenv(when);

	if (number)
		raise(atoi(number));
}

int open(const char *name, int flags, ...)
{
	const char *appears = getenv("APPEARS");
	va_list args;

	va_start(args, flags);
	int mode = flags & O_CREAT ? va_arg(args, int) : 0;

	va_end(args);
	int fd = openat(AT_FDCWD, name, flags, mode);

	if (fd < 0 || !(flags & O_CREAT) || !is_struck(name))
		return fd;
	if (appears)
		close(openat(AT_FDCWD, appears, O_WRONLY | O_CREAT | O_EXCL, 0600));
	strike("OPENED");
	return fd;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	ssize_t n = syscall(SYS_write, fd, bytes, len);
	char link[40], name[4096];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t name_len = readlink(link, name, sizeof name - 1);

	name[name_len > 0 ? name_len : 0] = '\0';
	if (is_struck(name))
		strike("WRITTEN");
	return n;
}
