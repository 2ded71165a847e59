/* Where themes are found: the user's own, those beside the executable, those that were
 * installed. */
#include "core/base/buffer.h"
#include "tui/terminal/theme.h"
#include "tui/user/user_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX 256

/* The directories in the order in which a name is looked for; NULL behind the last. Caller
 * frees. */
static char *directory_at(int index)
{
	char executable[512] = "";
	ssize_t len = readlink("/proc/self/exe", executable, sizeof executable - 1);
	char *slash;
	const char *home = getenv("XDG_CONFIG_HOME");

	executable[len > 0 ? len : 0] = '\0';
	slash = strrchr(executable, '/');
	if (slash)
		*slash = '\0';
	switch (index) {
	case 0:
		if (home && *home == '/')
			return mt_format("%s/memtui/themes", home);
		home = getenv("HOME");
		return mt_format("%s/.config/memtui/themes", home ? home : "");
	case 1: return mt_format("%s/themes", executable);
	case 2: return mt_format("%s/../themes", executable);
	case 3: return mt_format("%s/../share/memtui/themes", executable);
#ifdef MT_PREFIX
	case 4: return mt_format("%s/share/memtui/themes", MT_PREFIX);
#endif
	default: return NULL;
	}
}

char *mt_theme_path(const char *name)
{
	char *directory;

	if (strchr(name, '/'))
		return access(name, R_OK) == 0 ? mt_strdup(name) : NULL;
	for (int i = 0; (directory = directory_at(i)); i++) {
		char *path = mt_format("%s/%s.theme", directory, name);

		free(directory);
		if (access(path, R_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes over the names of one directory that are not known yet. */
static size_t add_names(char **names, size_t count, const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && count < NAMES_MAX && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name), known = 0;

		if (len <= 6 || strcmp(entry->d_name + len - 6, ".theme") || *entry->d_name == '.')
			continue;
		names[count] = mt_strdup(entry->d_name);
		names[count][len - 6] = '\0';
		while (strcmp(names[known], names[count]))
			known++;
		if (known < count)
			free(names[count]);
		else
			count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

char *mt_theme_names(const char *separator)
{
	char *names[NAMES_MAX], *directory, *all = mt_strdup("");
	size_t count = 0;

	for (int i = 0; (directory = directory_at(i)); i++) {
		count = add_names(names, count, directory);
		free(directory);
	}
	if (count)
		qsort(names, count, sizeof *names, by_name);
	for (size_t i = 0; i < count; i++) {
		char *longer = mt_format("%s%s%s", all, i ? separator : "", names[i]);

		free(all);
		free(names[i]);
		all = longer;
	}
	return all;
}

static int no_theme(const char *name, struct mt_err *err)
{
	char *names;

	if (strchr(name, '/'))
		return mt_fail(err, -errno, "%s: cannot read the theme: %s", name, strerror(errno));
	names = mt_theme_names(", ");
	mt_fail(err, -ENOENT, "unknown theme '%s'; %s%s; to name a file, write a path with a slash",
		name, *names ? "expected one of " : "no theme is installed", names);
	free(names);
	return -ENOENT;
}

int mt_theme_check(const char *name, struct mt_err *err)
{
	char *path =
		strchr(name, '/') || !strcmp(name, "mono") ? mt_strdup("") : mt_theme_path(name);

	free(path);
	return path ? 0 : no_theme(name, err);
}

int mt_theme_load(struct mt_theme *theme, const char *name, struct mt_err *err)
{
	char *path = mt_theme_path(name ? name : "dark"), *text;
	int result;

	if (!path && name && strcmp(name, "mono"))
		return no_theme(name, err);
	if (!path) {
		mt_theme_mono(theme);
		return 0;
	}
	result = mt_user_read(path, &text, err);
	if (!result)
		result = mt_theme_parse(theme, path, text, err);
	free(text);
	free(path);
	return result;
}
