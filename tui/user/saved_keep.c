/* Moving a session out of the cache: first every file gets its new name, then those in the cache
 * go. */
#include "core/base/links.h"
#include "tui/command/new_file.h"
#include "tui/user/saved_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAT ".dat"
#define BYTES (1u << 20)

struct move {
	const struct mt_saved *session;
	char **to;       /* beside the session's files */
	uint32_t placed; /* how many of them are there */
	bool force;
};

/* ---- names ---- */

/* What tells images and snapshots apart, behind the last ".dat". */
static const char *tail_of(const char *name)
{
	const char *at = strstr(name, DAT), *next;

	while (at && (next = strstr(at + 1, DAT)))
		at = next;
	return at ? at + strlen(DAT) : "";
}

/* As memtui record -o FILE would call it: FILE for the first process, FILE.PID for others. */
static char *name_like(const struct mt_saved *s, const struct mt_saved_file *f, const char *file)
{
	const char *first = s->first->name;
	size_t len = (size_t)(tail_of(first) - first);

	if (!strncmp(f->name, first, len) || f->pid == s->first->pid)
		return mt_format("%s%s", file, tail_of(f->name));
	return f->pid ? mt_format("%s.%u%s", file, f->pid, tail_of(f->name))
		      : mt_format("%s.%s", file, f->name);
}

static bool is_taken(const struct move *m, uint32_t count, const char *name)
{
	bool taken = false;

	for (uint32_t i = 0; i < count; i++)
		taken |= !strcmp(m->to[i], name);
	return taken;
}

/* Another process of the same number, or another program of the first one. */
static void make_unique(const struct move *m, uint32_t count, char **name)
{
	char *plain = mt_strdup(*name);

	for (unsigned number = 1; is_taken(m, count, *name); number++) {
		free(*name);
		*name = mt_format("%s.%u", plain, number);
	}
	free(plain);
}

/* The directory of a name, as it is opened; caller frees. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? mt_format("%.*s", (int)(slash - path) + 1, path) : mt_strdup(".");
}

/* A name in the session's own directory would go with it. */
static bool lies_within(const struct mt_saved *s, const char *to)
{
	char *directory = directory_of(to);
	struct stat there, ours;
	bool same = stat(directory, &there) == 0 && stat(s->directory, &ours) == 0
		&& there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;

	free(directory);
	return same;
}

static int check_target(const struct move *m, const char *to, struct mt_err *err)
{
	struct stat is;

	if (lies_within(m->session, to))
		return mt_fail(err, -EINVAL, "%s: lies in the session itself; choose another place",
			to);
	if (lstat(to, &is) < 0)
		return 0;
	if (!m->force)
		return mt_fail(err, -EEXIST,
			"%s: already exists; choose another name or use --force", to);
	return S_ISREG(is.st_mode)
		? 0
		: mt_fail(err, -EINVAL, "%s: is no regular file; choose another name", to);
}

static int choose_names(struct move *m, const char *into, struct mt_err *err)
{
	const struct mt_saved *s = m->session;
	struct stat is;
	bool is_directory = stat(into, &is) == 0 && S_ISDIR(is.st_mode);

	if (!is_directory && *into && into[strlen(into) - 1] == '/')
		return mt_fail(err, -ENOENT, "%s: there is no such directory", into);
	if (!is_directory && !s->first)
		return mt_fail(err, -EINVAL,
			"%s: is no directory, and no trace of %s can be read, which could have "
			"that name; give a directory",
			into, s->directory);
	for (uint32_t i = 0; i < s->count; i++) {
		char *name = is_directory ? mt_format("%s/%s", into, s->files[i].name)
					  : name_like(s, &s->files[i], into);

		make_unique(m, i, &name);
		m->to[i] = mt_links_resolve(name, err);
		free(name);
		if (!m->to[i] || check_target(m, m->to[i], err) < 0)
			return err->code;
	}
	return 0;
}

/* ---- placing ---- */

/* A second name for the file that is open, whatever has its first one now. -EEXIST, or another
 * errno: there cannot be one. */
static int link_to(const struct move *m, int fd, const char *to)
{
	char *from = mt_format("/proc/self/fd/%d", fd), *aside;
	int result = 0;

	if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) < 0)
		result = -errno;
	if (result == -EEXIST && m->force) {
		aside = mt_format("%s.%d.new", to, (int)getpid());
		result = linkat(AT_FDCWD, from, AT_FDCWD, aside, AT_SYMLINK_FOLLOW) < 0
				|| rename(aside, to) < 0
			? -errno
			: 0;
		unlink(aside); /* there still if it could not be renamed, or was the same file */
		free(aside);
	}
	free(from);
	return result;
}

static int copy_bytes(int from, int to, const char *name, struct mt_err *err)
{
	char *bytes = mt_alloc(BYTES);
	struct stat is;
	ssize_t n;
	int code = 0;

	while (!code && (n = read(from, bytes, BYTES)) > 0)
		code = mt_write_all(to, bytes, (size_t)n);
	if (!code && n < 0)
		code = -errno;
	if (!code && fstat(from, &is) == 0)
		futimens(to, (struct timespec[]){is.st_atim, is.st_mtim});
	if (!code && fsync(to) < 0)
		code = -errno;
	free(bytes);
	return code ? mt_fail(err, code, "cannot write %s: %s", name, strerror(-code)) : 0;
}

static int copy_to(const struct move *m, int fd, const char *to, struct mt_err *err)
{
	struct mt_new_file file;
	int out = mt_new_file_open(&file, to, m->force, 0600, err), result;

	if (out < 0)
		return out;
	result = copy_bytes(fd, out, to, err);
	close(out);
	return mt_new_file_close(&file, result, err);
}

static int place(const struct move *m, int directory, uint32_t i, struct mt_err *err)
{
	const char *name = m->session->files[i].name, *to = m->to[i];
	bool unsure = false;
	struct stat is;
	int fd = mt_saved_open(directory, name, &is), result;

	if (fd < 0)
		return mt_fail(err, fd, "%s/%s cannot be read: %s", m->session->directory, name,
			strerror(-fd));
	if (mt_saved_is_leased(fd, F_RDLCK, &unsure))
		result = mt_fail(err, -EBUSY, "%s/%s: another program has just opened it",
			m->session->directory, name);
	else if ((result = link_to(m, fd, to)) == -EEXIST)
		mt_fail(err, result, "%s: already exists; choose another name or use --force", to);
	else if (result)
		result = copy_to(m, fd, to, err);
	close(fd);
	return result;
}

/* The names are on the disk before those in the cache go. */
static void sync_directory(const char *path)
{
	char *name = directory_of(path);
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(name);
}

static int place_all(struct move *m, struct mt_err *err)
{
	const struct mt_saved *s = m->session;
	int directory = mt_saved_open_directory(AT_FDCWD, s->directory), result = 0;

	if (directory < 0)
		return mt_fail(err, directory, "%s cannot be read: %s", s->directory,
			strerror(-directory));
	for (uint32_t i = 0; i < s->count && !result; i++) {
		result = place(m, directory, i, err);
		m->placed += result == 0;
	}
	close(directory);
	for (uint32_t i = 0; result && i < m->placed; i++)
		unlink(m->to[i]);
	if (!result)
		sync_directory(m->to[0]);
	return result;
}

int mt_saved_keep(const struct mt_saved *s, const char *into, bool force, char **kept,
	struct mt_err *err)
{
	struct move m = {.session = s, .force = force};
	uint64_t bytes = 0;
	int result;

	*kept = NULL;
	if (!s->count)
		return mt_fail(err, -ENOENT, "%s: contains no recording", s->directory);
	m.to = mt_alloc(s->count * sizeof *m.to);
	result = choose_names(&m, into, err);
	if (!result)
		result = place_all(&m, err);
	if (!result)
		*kept = mt_strdup(m.to[s->first ? s->first - s->files : 0]);
	for (uint32_t i = 0; i < s->count; i++)
		free(m.to[i]);
	free(m.to);
	return result ? result : mt_saved_remove(s, &bytes, err);
}
