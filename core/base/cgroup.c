#include "core/base/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNLIMITED (1ull << 62) /* v1 writes a number near it */

/* ---- where it is ----------------------------------------------------------------------------- */

/* The path within the hierarchy: of v1's memory controller, else of v2. */
static bool read_path(pid_t pid, char *path, size_t size, bool *v1)
{
	char name[32], line[4096 + 64];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
	f = fopen(name, "re");
	*v1 = false;
	while (f && !*v1 && fgets(line, sizeof line, f)) {
		char *controllers = strchr(line, ':');
		char *at = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!at)
			continue;
		*at++ = '\0';
		at[strcspn(at, "\n")] = '\0';
		*v1 = !strcmp(controllers, ":memory");
		if (!*v1 && controllers[1])
			continue;
		snprintf(path, size, "%s", at);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

/* The mount of the hierarchy, and which of its directories is mounted there: "ID PARENT DEVICE ROOT
 * MOUNT OPTIONS ... - TYPE SOURCE OPTIONS". */
static bool find_mount(bool v1, char *root, char *mount)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[16384];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f)) {
		char *type = strstr(line, " - "), *options;

		if (!type || sscanf(line, "%*d %*d %*s %4095s %4095s", root, mount) != 2)
			continue;
		options = strrchr(type, ' ');
		found = v1 ? !strncmp(type, " - cgroup ", 10) && strstr(options, "memory")
			   : !strncmp(type, " - cgroup2 ", 11);
	}
	if (f)
		fclose(f);
	return found;
}

void mt_cgroup_of(struct mt_cgroup *g, pid_t pid)
{
	char path[4096], root[4096], *within = path;

	*g = (struct mt_cgroup){0};
	if (!read_path(pid, path, sizeof path, &g->v1) || !find_mount(g->v1, root, g->mount))
		return;
	/* in a container, only its own directory may be mounted */
	if (strcmp(root, "/") && !strncmp(path, root, strlen(root)))
		within += strlen(root);
	if ((size_t)snprintf(g->path, sizeof g->path, "%s%s", g->mount,
		    strcmp(within, "/") ? within : "")
		>= sizeof g->path)
		*g->path = '\0';
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* The number behind a word of a file; "": the first one. False: there is none. */
static bool read_number(const char *path, const char *word, uint64_t *number)
{
	FILE *f = fopen(path, "re");
	size_t len = strlen(word);
	bool found = false;
	char line[256], *end;

	while (f && !found && fgets(line, sizeof line, f)) {
		if (strncmp(line, word, len) || (len && line[len] != ' '))
			continue;
		*number = strtoull(line + len, &end, 10);
		found = end != line + len;
	}
	if (f)
		fclose(f);
	return found;
}

static bool read_file(const struct mt_cgroup *g, const char *directory, const char *v1,
	const char *v2, const char *word, uint64_t *number)
{
	char path[4096 + 64];

	snprintf(path, sizeof path, "%s/%s", directory, g->v1 ? v1 : v2);
	return *g->path && read_number(path, word, number);
}

uint64_t mt_cgroup_limit(const struct mt_cgroup *g)
{
	uint64_t least = UINT64_MAX, limit;
	char at[sizeof g->path];

	if (!*g->path)
		return 0;
	memcpy(at, g->path, sizeof at);
	for (;;) {
		char *slash = strrchr(at, '/');

		if (read_file(g, at, "memory.limit_in_bytes", "memory.max", "", &limit)
			&& limit < least)
			least = limit;
		if (!slash || strlen(at) <= strlen(g->mount))
			break;
		*slash = '\0';
	}
	return least < UNLIMITED ? least : 0;
}

bool mt_cgroup_oom_kills(const struct mt_cgroup *g, uint64_t *count)
{
	return read_file(g, g->path, "memory.oom_control", "memory.events", "oom_kill", count);
}

bool mt_system_oom_kills(uint64_t *count)
{
	return read_number("/proc/vmstat", "oom_kill", count);
}
