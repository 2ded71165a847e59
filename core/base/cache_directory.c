#include "core/base/cache_directory.h"

#include "core/base/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ASIDE ".aside"
#define USED_EVERY_S 3600 /* how exactly the time of the last use is kept */
#define ASIDE_S 3600      /* a file aside that is older was left behind */

struct mt_cache_directory {
	char *path;
	const char *suffix;
	uint64_t most;
	int fd; /* of the directory; -1 */
	bool refused;
};

struct mt_cache_directory *mt_cache_directory_new(const char *path, const char *suffix,
	uint64_t bytes_most)
{
	struct mt_cache_directory *d;

	if (!path || !*path)
		return NULL;
	d = mt_alloc(sizeof *d);
	*d = (struct mt_cache_directory){mt_strdup(path), suffix, bytes_most, -1, false};
	return d;
}

void mt_cache_directory_free(struct mt_cache_directory *d)
{
	if (!d)
		return;
	if (d->fd >= 0)
		close(d->fd);
	free(d->path);
	free(d);
}

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* The directory above is made too where it is missing, for ~/.cache; only ever below a directory of
 * ours. */
static bool make_directory(const char *path, unsigned levels)
{
	char *parent = mt_strdup(path), *slash = strrchr(parent, '/');
	struct stat st;
	bool made = false;

	if (slash && slash != parent) {
		*slash = 0;
		if (levels && stat(parent, &st) && errno == ENOENT)
			made = make_directory(parent, levels - 1);
		made = !stat(parent, &st) && (st.st_uid == geteuid() || st.st_mode & S_ISVTX)
			&& !mkdir(path, 0700);
	}
	free(parent);
	return made;
}

/* Descriptor of the directory, or -1. */
static int directory_of(struct mt_cache_directory *c, bool make)
{
	struct stat st;

	if (c->fd >= 0 || c->refused)
		return c->fd;
	c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->fd < 0 && errno == ENOENT) {
		if (!make)
			return -1;
		make_directory(c->path, 1);
		c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (c->fd >= 0 && !fstat(c->fd, &st) && is_ours(&st))
		return c->fd;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->refused = true;
	return -1;
}

/* ---- reading ---- */

void mt_cache_directory_note_use(int fd)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!fstat(fd, &st)
		&& (now.tv_sec - st.st_mtim.tv_sec >= USED_EVERY_S
			|| now.tv_sec < st.st_mtim.tv_sec))
		futimens(fd, NULL);
}

int mt_cache_directory_open(struct mt_cache_directory *d, const char *name, uint64_t *bytes)
{
	int directory = d ? directory_of(d, false) : -1;
	int fd = directory < 0 ? -1
			       : openat(directory, name,
				       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && is_ours(&st) && st.st_size > 0) {
		*bytes = (uint64_t)st.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- writing ---- */

struct old {
	char *name;
	uint64_t bytes;
	struct timespec used;
};

static int compare_old(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Hexadecimal digits before the suffix: files of other names are not ours to remove. */
static bool has_suffix(const char *name, const char *suffix)
{
	size_t digits = strspn(name, "0123456789abcdef");

	return digits >= 2 && name[digits] == '.' && strlen(name) > strlen(suffix)
		&& !strcmp(name + strlen(name) - strlen(suffix), suffix);
}

static void remove_oldest(int directory, struct old *files, uint32_t count, uint64_t bytes,
	uint64_t most)
{
	if (bytes <= most)
		return;
	qsort(files, count, sizeof *files, compare_old);
	for (uint32_t i = 0; i < count && bytes > most; i++) {
		if (unlinkat(directory, files[i].name, 0) == 0)
			bytes -= files[i].bytes;
	}
}

static void bound(const struct mt_cache_directory *d)
{
	int directory = d->fd;
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
	struct old *files = NULL;
	uint32_t count = 0, capacity = 0;
	uint64_t bytes = 0;

	if (!list) {
		if (copy >= 0)
			close(copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(list));) {
		struct stat st;

		if (*entry->d_name == '.'
			|| fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW)
			|| !S_ISREG(st.st_mode))
			continue;
		if (has_suffix(entry->d_name, d->suffix)) {
			MT_GROW(files, count, capacity);
			files[count++] = (struct old){mt_strdup(entry->d_name),
				(uint64_t)st.st_blocks * 512, st.st_mtim};
			bytes += files[count - 1].bytes;
		} else if (has_suffix(entry->d_name, ASIDE)
			&& time(NULL) - st.st_mtim.tv_sec > ASIDE_S) {
			unlinkat(directory, entry->d_name, 0);
		}
	}
	closedir(list);
	remove_oldest(directory, files, count, bytes, d->most);
	for (uint32_t i = 0; i < count; i++)
		free(files[i].name);
	free(files);
}

int mt_cache_directory_begin(struct mt_cache_directory *d, const char *name, char **aside)
{
	int directory = d ? directory_of(d, true) : -1;

	*aside = NULL;
	if (directory < 0)
		return -1;
	/* several threads write */
	*aside = mt_format("%s.%d" ASIDE, name, (int)syscall(SYS_gettid));
	int fd =
		openat(directory, *aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0) {
		free(*aside);
		*aside = NULL;
	}
	return fd;
}

void mt_cache_directory_end(struct mt_cache_directory *d, const char *aside, const char *name,
	int whole)
{
	if (whole && renameat(d->fd, aside, d->fd, name) == 0)
		bound(d);
	else
		unlinkat(d->fd, aside, 0);
}
