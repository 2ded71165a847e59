/* The target's mappings, and the files behind them. */
#include "core/inject/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse(char *line, struct mt_inject_map *m)
{
	char flags[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &m->low,
		    &m->high, flags, &m->offset, &m->inode,
		    &at) < 5
		|| m->low >= m->high)
		return false;
	m->readable = flags[0] == 'r';
	m->writable = flags[1] == 'w';
	m->executable = flags[2] == 'x';
	m->shared = flags[3] == 's';
	line[strcspn(line, "\n")] = '\0';
	m->path = mt_strdup(at ? line + at : "");
	return true;
}

int mt_inject_read_maps(pid_t pid, struct mt_inject_maps *maps, struct mt_err *err)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return mt_fail_open(err, path);
	while (getline(&line, &size, file) > 0) {
		struct mt_inject_map map = {0};

		if (!parse(line, &map))
			continue;
		MT_GROW(maps->items, maps->count, maps->capacity);
		maps->items[maps->count++] = map;
	}
	free(line);
	fclose(file);
	return maps->count ? 0 : mt_fail(err, -ESRCH, "process %d has no memory", (int)pid);
}

void mt_inject_free_maps(struct mt_inject_maps *maps)
{
	for (uint32_t i = 0; i < maps->count; i++)
		free(maps->items[i].path);
	free(maps->items);
	*maps = (struct mt_inject_maps){0};
}

const struct mt_inject_map *mt_inject_map_at(const struct mt_inject_maps *maps, uint64_t address)
{
	uint32_t low = 0, high = maps->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (maps->items[middle].high <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < maps->count && maps->items[low].low <= address ? &maps->items[low] : NULL;
}

/* map_files leads to the mapped file itself, also when its name is gone, but needs rights that a
 * user does not have. By name, another file may be there now: its number tells. */
int mt_inject_open_map(pid_t pid, const struct mt_inject_map *map)
{
	char path[4096 + 64];
	bool by_name = false;
	struct stat s;
	int fd;

	if (!map->inode || *map->path != '/')
		return -1;
	pid = mt_proc_thread(pid);
	snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, map->low,
		map->high);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		by_name = true;
		snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, map->path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (fd < 0)
		return -1;
	if (fstat(fd, &s) || !S_ISREG(s.st_mode) || (by_name && s.st_ino != map->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- for callers ---- */

bool mt_tracee_mapping(const struct mt_tracee *t, uint32_t index, struct mt_tracee_mapping *m)
{
	const struct mt_inject_map *map = &t->maps.items[index];
	char program[4096];

	if (index >= t->maps.count)
		return false;
	mt_proc_link(t->pid, "exe", program, sizeof program);
	*m = (struct mt_tracee_mapping){
		.low = map->low,
		.high = map->high,
		.path = map->path,
		.is_program = !strcmp(map->path, program),
		.is_code = map->executable,
		.is_readable = map->readable,
		.is_writable = map->writable,
		.is_shared = map->shared,
		.is_file = map->inode,
		.offset = map->offset,
	};
	return true;
}

void mt_tracee_program_path(const struct mt_tracee *t, char *to, size_t size)
{
	mt_proc_link(t->pid, "exe", to, size);
}

int mt_tracee_refresh(struct mt_tracee *t, struct mt_err *err)
{
	return mt_tracee_refresh_from(t, mt_proc_thread(t->pid), err);
}

int mt_tracee_refresh_from(struct mt_tracee *t, pid_t copy, struct mt_err *err)
{
	struct mt_inject_maps fresh = {0};
	int error = mt_inject_read_maps(copy, &fresh, err);

	if (error)
		return error;
	mt_inject_free_maps(&t->maps);
	t->maps = fresh;
	return 0;
}

int mt_tracee_open_file(struct mt_tracee *t, const char *path)
{
	for (uint32_t i = 0; i < t->maps.count; i++)
		if (!strcmp(t->maps.items[i].path, path))
			return mt_inject_open_map(t->pid, &t->maps.items[i]);
	return -1;
}

pid_t mt_tracee_pid(const struct mt_tracee *t)
{
	return t->pid;
}

int mt_tracee_read_file(struct mt_tracee *t, uint64_t address, void *to, size_t size)
{
	const struct mt_inject_map *map = mt_inject_map_at(&t->maps, address);
	ssize_t n = -1;
	int fd;

	if (!map || size > map->high - address || (fd = mt_inject_open_map(t->pid, map)) < 0)
		return -ENOENT;
	n = pread(fd, to, size, (off_t)(map->offset + (address - map->low)));
	close(fd);
	return n == (ssize_t)size ? 0 : -ENOENT;
}
