/* The cache's files of names, one for each build-id. Who writes at the same time loses, at worst,
 * what it would have added. */
#include "core/symbol/cache.h"

#include "core/base/cache_directory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SUFFIX ".names"

struct mt_cache {
	struct mt_cache_directory *directory;
};

struct mt_cache *mt_cache_new(const char *directory)
{
	struct mt_cache *c;

	if (!directory || !*directory)
		return NULL;
	c = mt_alloc(sizeof *c);
	c->directory = mt_cache_directory_new(directory, SUFFIX, MT_CACHE_MAX);
	return c;
}

void mt_cache_free(struct mt_cache *c)
{
	if (!c)
		return;
	mt_cache_directory_free(c->directory);
	free(c);
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

void mt_cache_read(struct mt_cache *c, struct mt_cached *m)
{
	char *name = name_of(m);
	uint64_t size;
	int fd = c ? mt_cache_directory_open(c->directory, name, &size) : -1;

	free(name);
	if (fd < 0)
		return;
	if (size <= MT_CACHE_FILE_MAX) {
		uint8_t *bytes = mt_alloc(size);
		ssize_t len = pread(fd, bytes, size, 0);

		if (len == (ssize_t)size && mt_cached_decode(m, bytes, size))
			mt_cache_directory_note_use(fd);
		free(bytes);
	}
	close(fd);
}

/* ---- writing ---- */

/* A write beyond the limit would be a signal. */
static bool within_limit(size_t len)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit)
		&& (limit.rlim_cur == RLIM_INFINITY || len <= limit.rlim_cur);
}

static void replace(struct mt_cache *c, const char *name, const struct mt_buffer *bytes)
{
	char *aside = NULL;
	int fd = within_limit(bytes->len) ? mt_cache_directory_begin(c->directory, name, &aside)
					  : -1;

	if (fd >= 0) {
		bool whole = !mt_write_all(fd, bytes->data, bytes->len);

		whole = !close(fd) && whole;
		mt_cache_directory_end(c->directory, aside, name, whole);
	}
	free(aside);
}

void mt_cache_write(struct mt_cache *c, const struct mt_cached *m)
{
	struct mt_buffer bytes = {0};
	struct mt_cached *base;
	char *name;

	if (!c || !m->fresh_count || m->unfit)
		return;
	base = mt_cached_new(&m->key);
	mt_cache_read(c, base);
	mt_cached_encode(m, base, &bytes);
	if (!bytes.len) /* others have added so much that it is too much together */
		mt_cached_encode(m, NULL, &bytes);
	if (bytes.len) {
		name = name_of(m);
		replace(c, name, &bytes);
		free(name);
	}
	mt_buffer_free(&bytes);
	mt_cached_free(base);
}
