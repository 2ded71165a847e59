/* The sidecar file: read with a limit, written aside and renamed while it is locked. */
#include "core/triage/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define SIZE_MAX_OF_FILE (8u << 20)
#define NAME_LEN_MAX 200
/* for the lock, 5 ms apart: another memtui holds it while it writes one file */
#define TRIES 10
#define HINT "--triage FILE names another"

char *mt_triage_path(const char *program)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const char *slash = strrchr(program, '/');
	char *name = mt_format("%.*s", NAME_LEN_MAX, slash ? slash + 1 : program), *path;

	for (char *c = name; *c; c++)
		if (iscntrl((uint8_t)*c) || (*c == '.' && c == name))
			*c = '_';
	/* A relative one is to be ignored: XDG Base Directory Specification. */
	if (state && *state == '/')
		path = mt_format("%s/memtui/triage/%s", state, *name ? name : "_");
	else
		path = mt_format("%s/.local/state/memtui/triage/%s",
			home && *home == '/' ? home : "/nonexistent", *name ? name : "_");
	free(name);
	return path;
}

/* ---- reading ---- */

static int read_all(int fd, const char *path, const struct stat *status,
	struct mt_triage_lines *lines, struct mt_err *err)
{
	if (!S_ISREG(status->st_mode))
		return mt_fail(err, -EINVAL,
			"%s: not a regular file, so judgements are not kept; " HINT, path);
	if (status->st_size > SIZE_MAX_OF_FILE)
		return mt_fail(err, -EFBIG,
			"%s: larger than %u MiB, so not a triage file of memtui; " HINT, path,
			SIZE_MAX_OF_FILE >> 20);
	char *text = mt_alloc((size_t)status->st_size + 1);
	size_t len = 0;
	ssize_t n = 1;

	while (len < (size_t)status->st_size && n > 0) {
		n = pread(fd, text + len, (size_t)status->st_size - len, (off_t)len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n >= 0)
		mt_triage_lines_parse(lines, text, len);
	free(text);
	return n >= 0 ? 0
		      : mt_fail(err, -errno, "%s cannot be read: %s; " HINT, path, strerror(errno));
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size
		&& a->st_mtim.tv_sec == b->st_mtim.tv_sec
		&& a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void take(struct mt_triage *t, struct mt_triage_lines *lines, const struct stat *status)
{
	mt_triage_lines_free(&t->lines);
	t->lines = *lines;
	t->seen = *status;
	mt_triage_index(t);
}

int mt_triage_read(struct mt_triage *t, struct mt_err *err)
{
	struct mt_triage_lines lines = {0};
	struct stat status;
	int fd, result;

	if (!t->path || (stat(t->path, &status) < 0 && errno == ENOENT && !t->seen.st_ino))
		return 0;
	if (stat(t->path, &status) == 0 && same_file(&status, &t->seen))
		return 0;
	fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		take(t, &lines, &(struct stat){0});
		return 1;
	}
	if (fd < 0 || fstat(fd, &status) < 0) {
		result = mt_fail(err, -errno, "%s cannot be read: %s; " HINT, t->path,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return result;
	}
	result = read_all(fd, t->path, &status, &lines, err);
	close(fd);
	if (result < 0) {
		mt_triage_lines_free(&lines);
		return result;
	}
	take(t, &lines, &status);
	return 1;
}

/* ---- writing ---- */

/* The directories that lead to a file of ours: all but the last two are as others use them, those
 * are the user's alone. */
static int make_directories(const char *path, struct mt_err *err)
{
	const char *home = getenv("HOME");
	char *dir = mt_strdup(path);
	size_t begin =
		home && *home == '/' && !strncmp(path, home, strlen(home)) ? strlen(home) : 0;
	struct stat status;
	int result = 0;

	*strrchr(dir, '/') = '\0';
	for (char *slash = dir + begin + 1; !result && slash;) {
		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			result = mt_fail(err, -errno, "cannot create the directory %s: %s; " HINT,
				dir, strerror(errno));
		if (slash)
			*slash++ = '/';
	}
	if (!result
		&& (lstat(dir, &status) < 0 || !S_ISDIR(status.st_mode)
			|| status.st_uid != geteuid()))
		result = mt_fail(err, -EPERM, "%s: not your directory; " HINT, dir);
	else if (!result && status.st_mode & 077 && chmod(dir, 0700) < 0)
		result = mt_fail(err, -errno, "%s cannot be made private: %s; " HINT, dir,
			strerror(errno));
	free(dir);
	return result;
}

/* Opens and locks the file that has the name at that time; makes one where there is none. */
static int open_locked(const char *path, struct stat *status, struct mt_err *err)
{
	const struct timespec pause = {0, 5000000};
	struct stat named;

	for (int i = 0; i < TRIES; i++) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);

		if (fd < 0)
			return mt_fail(err, -errno, "%s cannot be written: %s; " HINT, path,
				strerror(errno));
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			close(fd);
			nanosleep(&pause, NULL);
			continue;
		}
		/* Who held the lock before may have renamed another file to it. */
		if (fstat(fd, status) == 0 && stat(path, &named) == 0
			&& named.st_ino == status->st_ino && named.st_dev == status->st_dev)
			return fd;
		close(fd);
	}
	return mt_fail(err, -EBUSY,
		"%s is being written by another memtui; the next change tries again", path);
}

/* The lock is held, so the name beside is nobody else's. A crash of the machine may lose the last
 * change, not the file: waiting for the disk would hold up the screen. */
static int replace(const char *path, const struct mt_triage_lines *lines, struct stat *status,
	struct mt_err *err)
{
	char *aside = mt_format("%s.new", path);
	struct mt_buffer text = {0};
	int result = 0, fd;

	unlink(aside);
	fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	mt_triage_lines_write(lines, &text);
	if (fd < 0 || fchmod(fd, status->st_mode & 0777) < 0)
		result = -errno;
	if (!result)
		result = mt_write_all(fd, text.data, text.len);
	if (!result && (fstat(fd, status) < 0 || rename(aside, path) < 0))
		result = -errno;
	if (fd >= 0)
		close(fd);
	if (result && fd >= 0)
		unlink(aside);
	if (result)
		mt_fail(err, result, "%s cannot be written: %s; " HINT, path, strerror(-result));
	mt_buffer_free(&text);
	free(aside);
	return result;
}

static void forget_pending(struct mt_triage *t)
{
	for (uint32_t i = 0; i < t->pending_count; i++)
		mt_judgement_free(&t->pending[i]);
	t->pending_count = 0;
}

int mt_triage_save(struct mt_triage *t, struct mt_err *err)
{
	struct mt_triage_lines lines = {0};
	struct stat status;
	int fd, result;
	char *path;

	if (!t->path) {
		/* Kept nowhere: as long as this process lives. */
		mt_triage_lines_merge(&t->lines, t->pending, t->pending_count);
		forget_pending(t);
		mt_triage_index(t);
		return 0;
	}
	if (!t->pending_count)
		return 0;
	if (t->own && (result = make_directories(t->path, err)))
		return result;
	path = realpath(t->path, NULL); /* a link to the file stays one */
	path = path ? path : mt_strdup(t->path);
	fd = result = open_locked(path, &status, err);
	if (fd >= 0)
		result = read_all(fd, path, &status, &lines, err);
	if (result >= 0) {
		mt_triage_lines_merge(&lines, t->pending, t->pending_count);
		result = replace(path, &lines, &status, err);
	}
	if (fd >= 0)
		close(fd);
	free(path);
	if (result < 0) {
		mt_triage_lines_free(&lines);
		return result;
	}
	forget_pending(t);
	take(t, &lines, &status);
	return 0;
}
