/* Reads /proc/self/maps with plain system calls and a small buffer: it may be called on the
 * program's stack, at any moment. */
#include "preload/base/procmaps.h"

#include <fcntl.h>

#include "preload/base/sys.h"

static bool parse_hex(const char **at, uint64_t *value)
{
	const char *start = *at;

	for (*value = 0;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*value = *value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return *at != start;
	}
}

/* "start-end rwxp ...": so much of a line is kept. */
static bool parse_line(const char *at, struct mt_procmap *map)
{
	if (!parse_hex(&at, &map->start) || *at++ != '-' || !parse_hex(&at, &map->end)
		|| *at++ != ' ')
		return false;
	map->readable = *at == 'r';
	return true;
}

static void read_lines(int fd, mt_procmaps_visit *visit, void *context)
{
	char buf[512], line[48];
	unsigned len = 0;
	struct mt_procmap map;
	long n;

	while ((n = mt_sys3(SYS_read, fd, buf, sizeof buf)) > 0)
		for (long i = 0; i < n; i++) {
			if (buf[i] != '\n') {
				if (len < sizeof line - 1)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			len = 0;
			if (parse_line(line, &map) && !visit(&map, context))
				return;
		}
}

void mt_procmaps_each(mt_procmaps_visit *visit, void *context)
{
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	read_lines(fd, visit, context);
	mt_sys1(SYS_close, fd);
}
