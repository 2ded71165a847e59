/* Files for the tests of the trace: a directory of their own, bytes in and out, recording and
 * loading. */
#ifndef TRACE_FILES_H
#define TRACE_FILES_H

#include "tests/unit/trace_simulation.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static char directory[64];

static inline char *path_of(const char *name)
{
	static char path[384];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

static inline int create(const char *name)
{
	int fd = open(path_of(name), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static inline void put_file(const char *name, const void *bytes, size_t len)
{
	int fd = create(name);

	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static inline uint8_t *get_file(const char *name, size_t *len)
{
	int fd = open(path_of(name), O_RDONLY);
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st));
	*len = (size_t)st.st_size;
	uint8_t *bytes = malloc(*len);

	assert_int_equal(read(fd, bytes, *len), *len);
	close(fd);
	return bytes;
}

static inline int load(const char *name, struct mt_profile *p, struct mt_err *err)
{
	struct mt_trace_reader *reader;
	int result;

	*err = (struct mt_err){0};
	memset(p, 0, sizeof *p);
	reader = mt_trace_reader_open(path_of(name), err);
	if (!reader) {
		assert_true(err->code < 0 && err->text[0]);
		return err->code;
	}
	result = mt_profile_load(p, reader, NULL, NULL, err);
	assert_int_equal(err->code, result);
	mt_trace_reader_free(reader);
	return result;
}

/* A trace of `steps` steps, flushed now and then; the simulation stays for comparison. */
static inline void record(struct simulation *s, const char *name, uint64_t seed, unsigned steps,
	unsigned flush, bool totals)
{
	simulation_start(s, seed, create(name));
	for (unsigned i = 0; i < steps; i++) {
		simulation_step(s);
		if (i % flush == flush - 1)
			simulation_flush(s);
		if (i % (3 * flush) == flush / 2)
			simulation_define(s);
	}
	simulation_finish(s, totals);
}

static inline int make_directory(void **state)
{
	(void)state;
	strcpy(directory, "/dev/shm/memtui-trace-XXXXXX"); /* many thousands of small files */
	if (mkdtemp(directory))
		return 0;
	strcpy(directory, "/tmp/memtui-trace-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static inline int remove_directory(void **state)
{
	DIR *d = opendir(directory);

	(void)state;
	for (struct dirent *entry; d && (entry = readdir(d));)
		unlink(path_of(entry->d_name)); /* fails for . and .. */
	if (d)
		closedir(d);
	return rmdir(directory);
}

#endif
