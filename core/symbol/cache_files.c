/* The directory of the cache. It is used only when it is ours and nobody else can write to it. A
 * file is written aside and renamed: who reads sees the old or the new one; who writes at the same
 * time loses, at worst, what it would have added. What was not used for the longest time goes when
 * all becomes too much. */
#include "core/symbol/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".names"
#define ASIDE ".aside"
#define USED_EVERY_S 3600 /* how exactly the time of the last use is kept */
#define ASIDE_S 3600      /* a file aside that is older was left behind */

struct mt_cache {
	char *path;
	int fd; /* of the directory; -1 */
	bool refused;
};

struct mt_cache *mt_cache_new(const char *directory)
{
	struct mt_cache *c;

	if (!directory || !*directory)
		return NULL;
	c = mt_alloc(sizeof *c);
	c->path = mt_strdup(directory);
	c->fd = -1;
	return c;
}

void mt_cache_free(struct mt_cache *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	free(c->path);
	free(c);
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
static int directory_of(struct mt_cache *c, bool make)
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

static char *name_of(const struct mt_cached *m)
{
	struct mt_buffer name = {0};

	for (uint32_t i = 0; i < m->key.build_id_len; i++)
		mt_buffer_printf(&name, "%02x", m->key.build_id[i]);
	mt_buffer_printf(&name, SUFFIX);
	return (char *)name.data;
}

/* ---- reading ---- */

static void note_use(int fd, const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec - st->st_mtim.tv_sec >= USED_EVERY_S || now.tv_sec < st->st_mtim.tv_sec)
		futimens(fd, NULL);
}

void mt_cache_read(struct mt_cache *c, struct mt_cached *m)
{
	int directory = c ? directory_of(c, false) : -1, fd;
	uint8_t *bytes;
	struct stat st;
	char *name;

	if (directory < 0)
		return;
	name = name_of(m);
	fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	free(name);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && is_ours(&st) && st.st_size > 0
		&& st.st_size <= MT_CACHE_FILE_MAX) {
		bytes = mt_alloc((size_t)st.st_size);
		ssize_t len = pread(fd, bytes, (size_t)st.st_size, 0);

		if (len == st.st_size && mt_cached_decode(m, bytes, (size_t)len))
			note_use(fd, &st);
		free(bytes);
	}
	close(fd);
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

	return digits >= 2 && name[digits] == '.'
		&& !strcmp(name + strlen(name) - strlen(suffix), suffix);
}

static void remove_oldest(int directory, struct old *files, uint32_t count, uint64_t bytes)
{
	if (bytes <= MT_CACHE_MAX)
		return;
	qsort(files, count, sizeof *files, compare_old);
	for (uint32_t i = 0; i < count && bytes > MT_CACHE_MAX; i++) {
		if (unlinkat(directory, files[i].name, 0) == 0)
			bytes -= files[i].bytes;
	}
}

static void bound(int directory)
{
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
		if (has_suffix(entry->d_name, SUFFIX)) {
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
	remove_oldest(directory, files, count, bytes);
	for (uint32_t i = 0; i < count; i++)
		free(files[i].name);
	free(files);
}

static bool write_all(int fd, const struct mt_buffer *bytes)
{
	for (size_t at = 0; at < bytes->len;) {
		ssize_t len = write(fd, bytes->data + at, bytes->len - at);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return false;
		at += (size_t)len;
	}
	return true;
}

/* A write beyond the limit would be a signal. */
static bool within_limit(size_t len)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit)
		&& (limit.rlim_cur == RLIM_INFINITY || len <= limit.rlim_cur);
}

static void replace(int directory, const char *name, const struct mt_buffer *bytes)
{
	/* several threads of a recorder write */
	char *aside = mt_format("%s.%d" ASIDE, name, (int)syscall(SYS_gettid));
	int fd = within_limit(bytes->len) ? openat(directory, aside,
			 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
					  : -1;
	bool whole;

	if (fd >= 0) {
		whole = write_all(fd, bytes);
		whole = !close(fd) && whole;
		if (!whole || renameat(directory, aside, directory, name) < 0)
			unlinkat(directory, aside, 0);
	}
	free(aside);
}

void mt_cache_write(struct mt_cache *c, const struct mt_cached *m)
{
	int directory = c && m->fresh_count && !m->unfit ? directory_of(c, true) : -1;
	struct mt_buffer bytes = {0};
	struct mt_cached *base;
	char *name;

	if (directory < 0)
		return;
	base = mt_cached_new(&m->key);
	mt_cache_read(c, base);
	mt_cached_encode(m, base, &bytes);
	if (!bytes.len) /* others have added so much that it is too much together */
		mt_cached_encode(m, NULL, &bytes);
	if (bytes.len) {
		name = name_of(m);
		replace(directory, name, &bytes);
		free(name);
		bound(directory);
	}
	mt_buffer_free(&bytes);
	mt_cached_free(base);
}
