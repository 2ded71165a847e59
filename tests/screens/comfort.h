/* What comfort_test and settings_test share: files, a start on the made trace, what is then seen or
 * printed. */
#ifndef MT_TESTS_SCREENS_COMFORT_H
#define MT_TESTS_SCREENS_COMFORT_H

#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static __attribute__((unused)) void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	if (!file) {
		perror(path);
		exit(1);
	}
	fputs(text, file);
	fclose(file);
	chmod(path, mode);
}

static __attribute__((unused)) char *read_file(const char *path)
{
	char *text = calloc(1, 1 << 16);
	FILE *file = fopen(path, "r");

	if (file) {
		if (!fread(text, 1, (1 << 16) - 1, file))
			text[0] = '\0';
		fclose(file);
	}
	return text;
}

/* memtui on the made trace, in the directory of its source. */
static __attribute__((unused)) void start(struct tests *t, struct terminal *terminal,
	const struct settings *given)
{
	struct settings s = *given;
	char theme[1024];
	char *argv[] = {t->memtui, "open", "--theme", theme, t->trace, NULL};

	s.term = "xterm-256color";
	s.locale = "C.UTF-8";
	s.directory = t->source;
	snprintf(theme, sizeof theme, "%s/dark.theme", t->themes);
	terminal_start(terminal, 24, 80, &s, argv);
	terminal_settle(terminal);
}

/* Types, and says whether text is on the screen then. */
static __attribute__((unused)) bool shows(struct terminal *terminal, const char *keys,
	const char *text)
{
	terminal_type(terminal, keys);
	bool good = terminal_settle(terminal);
	char *screen = terminal_text(terminal);

	good = good && strstr(screen, text);
	if (!good)
		printf("==== no '%s' after '%s'\n%s", text, keys, screen);
	free(screen);
	return good;
}

/* Whether what the program prints holds text, and it exits so. */
static __attribute__((unused)) bool prints(const char *command, const char *text, int status)
{
	char *out = calloc(1, 1 << 16);
	FILE *from = popen(command, "r");
	size_t n = from ? fread(out, 1, (1 << 16) - 1, from) : 0;
	int seen = from ? pclose(from) : -1;
	bool good = n && strstr(out, text) && seen == status << 8;

	if (!good)
		printf("==== no '%s' of '%s', status %d\n%.4000s", text, command, seen, out);
	free(out);
	return good;
}

/* A file of the user's in SCRATCH/NAME/memtui; directory: what XDG_CONFIG_HOME is then. */
static __attribute__((unused)) void user_file(struct tests *t, char directory[1024],
	const char *name, const char *file, const char *text)
{
	char path[2048];

	snprintf(directory, 1024, "%s/%s", t->scratch, name);
	mkdir(directory, 0700);
	snprintf(path, sizeof path, "%s/memtui", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/memtui/%s", directory, file);
	write_file(path, text, 0600);
}

#endif
