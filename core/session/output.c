/* The name of the trace file, and the file. */
#include "core/base/links.h"
#include "core/base/rename.h"
#include "core/session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_PATTERN "memtui_%e_%t_%p.dat"
#define NUMBERS_MAX 100000

static void fill_in(struct mt_buffer *out, const char *pattern, const char *program, pid_t pid,
	unsigned number)
{
	const char *slash = strrchr(program, '/');
	struct utsname host = {.nodename = ""};

	for (const char *at = pattern; *at; at++) {
		if (*at != '%' || !at[1]) {
			mt_buffer_add(out, at, 1);
			continue;
		}
		switch (*++at) {
		case 'e': mt_buffer_printf(out, "%s", slash ? slash + 1 : program); break;
		case 't': mt_buffer_printf(out, "%lld", (long long)time(NULL)); break;
		case 'p': mt_buffer_printf(out, "%d", (int)pid); break;
		case 'h':
			uname(&host);
			mt_buffer_printf(out, "%s", host.nodename);
			break;
		case 'n': mt_buffer_printf(out, "%u", number); break;
		case '%': mt_buffer_add(out, "%", 1); break;
		default: mt_buffer_add(out, at - 1, 2);
		}
	}
	mt_buffer_add(out, "", 1);
}

static bool has_number(const char *pattern)
{
	for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
		if (at[1] == 'n')
			return true;
	return false;
}

char *mt_output_path(const char *pattern, const char *program, pid_t pid)
{
	struct mt_buffer out = {0};
	struct stat status;
	char *directory, *path;

	if (!pattern)
		pattern = DEFAULT_PATTERN;
	if (!strcmp(pattern, "-"))
		return mt_strdup(pattern);
	for (unsigned number = 1; number < NUMBERS_MAX; number++) {
		out.len = 0;
		fill_in(&out, pattern, program, pid, number);
		if (!has_number(pattern) || lstat((char *)out.data, &status) < 0)
			break;
	}
	directory = *out.data == '/' ? NULL : getcwd(NULL, 0);
	path = directory ? mt_format("%s/%s", directory, (char *)out.data)
			 : mt_strdup((char *)out.data);
	free(directory);
	mt_buffer_free(&out);
	return path;
}

/* A FIFO or a device, by whatever links, is written as it is. */
static bool is_stream(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
}

int mt_output_resolve(char **path, struct mt_err *err)
{
	char *file;

	if (!strcmp(*path, "-") || is_stream(*path))
		return 0;
	file = mt_links_resolve(*path, err);
	if (!file)
		return err->code;
	free(*path);
	*path = file;
	return 0;
}

int mt_output_open(const char *path, struct mt_err *err)
{
	struct stat status = {0};
	int fd;

	if (!strcmp(path, "-")) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		if (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
			close(fd);
			fd = -1;
			errno = EBADF;
		}
		return fd >= 0 ? fd : mt_fail(err, -errno, "standard output: %s", strerror(errno));
	}
	if (is_stream(path)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		lstat(path, &status);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd >= 0)
		return fd;
	if (errno == EEXIST && S_ISDIR(status.st_mode))
		return mt_fail(err, -EISDIR, "%s: is a directory; give the name of a file in it",
			path);
	if (errno == EEXIST && S_ISLNK(status.st_mode))
		return mt_fail(err, -EEXIST,
			"%s: is a symbolic link, which memtui does not follow; name the file "
			"itself, "
			"or another",
			path);
	if (errno == EEXIST)
		return mt_fail(err, -EEXIST,
			"%s: already exists; choose another name or use --force", path);
	return mt_fail(err, -errno, "cannot create %s: %s", path, strerror(errno));
}

/* Whether the name has a field that tells processes apart. */
static bool has_own_field(const char *pattern)
{
	for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
		if (at[1] == 'n' || at[1] == 'p')
			return true;
	return false;
}

bool mt_output_is_regular(const char *path)
{
	struct stat status;

	return strcmp(path, "-") && lstat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool mt_output_is_at(const char *path, int fd)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_ino == there.st_ino
		&& ours.st_dev == there.st_dev;
}

bool mt_output_is_single(const char *pattern, const char *root_path)
{
	return !strcmp(root_path, "-")
		|| (!has_own_field(pattern ? pattern : DEFAULT_PATTERN) && is_stream(root_path));
}

void mt_output_remove_empty(const char *path)
{
	struct stat status;

	if (strcmp(path, "-") && lstat(path, &status) == 0 && S_ISREG(status.st_mode)
		&& !status.st_size)
		unlink(path);
}

int mt_output_set_aside(char **aside, const char *path, uint32_t *number, struct mt_err *err)
{
	int error;

	do {
		*aside = mt_format("%s.exec%u", path, (*number)++);
		error = mt_rename_new(path, *aside);
		if (!error)
			return 0;
		free(*aside);
	} while (error == -EEXIST && *number < NUMBERS_MAX);
	*aside = NULL;
	return mt_fail(err, error,
		"cannot rename %s, the trace of a program before exec: %s; the next trace "
		"gets another name",
		path, strerror(-error));
}

static int open_free(char **path, const char *name, struct mt_err *err)
{
	int fd;

	*path = mt_strdup(name);
	for (unsigned number = 1;
		(fd = mt_output_open(*path, err)) == -EEXIST && number < NUMBERS_MAX; number++) {
		free(*path);
		*path = mt_format("%s.%u", name, number);
	}
	return fd;
}

int mt_output_beside(char **path, struct mt_err *err)
{
	char *name = *path;
	int fd = open_free(path, name, err);

	free(name);
	return fd;
}

/* A relative pattern is taken from the directory of the root's trace: nobody has changed ours
 * since. */
int mt_output_other(char **path, const char *pattern, const char *program, pid_t pid,
	const char *root_path, struct mt_err *err)
{
	char *name = has_own_field(pattern ? pattern : DEFAULT_PATTERN)
		? mt_output_path(pattern, program, pid)
		: mt_format("%s.%d", root_path, (int)pid);
	int fd = open_free(path, name, err);

	free(name);
	return fd;
}
