/* The menu of themes, a theme that is edited, one that is not there. Every screen in every theme:
 * matrix_test. themes_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void write_theme(const char *path, const char *text, bool by_rename)
{
	char aside[1100];
	FILE *file;

	snprintf(aside, sizeof aside, "%s%s", path, by_rename ? ".new" : "");
	file = fopen(aside, "w");
	if (!file)
		return;
	fputs(text, file);
	fclose(file);
	if (by_rename)
		rename(aside, path);
}

static bool styled(struct terminal *terminal, const char *style)
{
	char *dump = terminal_dump(terminal);
	bool is = strstr(strstr(dump, "---- styles\n"), style) != NULL;

	free(dump);
	return is;
}

static void check_reload(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char path[1024], *argv[] = {t->memtui, "open", "--theme", path, t->trace, NULL};
	struct terminal terminal;

	snprintf(path, sizeof path, "%s/edited.theme", t->scratch);
	write_theme(path, "text = #d0d0d0 #000087\n", false);
	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_settle(&terminal) && styled(&terminal, "252 18\n");

	tell(t, ok, "a theme from a file has its background everywhere");
	write_theme(path, "text = #d0d0d0 #005f00\n", false);
	ok = terminal_wait_text(&terminal, "read edited.theme again") && terminal_settle(&terminal)
		&& styled(&terminal, "252 22\n");
	tell(t, ok, "a theme that is saved is read again");
	write_theme(path, "text = #d0d0d0 #5f0000\n\ntitle = pink\n", true);
	ok = terminal_wait_text(&terminal, "edited.theme:3: 'pink' is neither")
		&& terminal_settle(&terminal) && styled(&terminal, "252 22\n");
	tell(t, ok, "a mistake in it is told with its line, and the looks stay");
	write_theme(path, "text = #d0d0d0 #5f0000\n", true);
	ok = terminal_wait_text(&terminal, "read edited.theme again") && terminal_settle(&terminal)
		&& styled(&terminal, "252 52\n");
	tell(t, ok, "one that an editor puts in its place is read too");
	terminal_close(&terminal);
}

static void check_menu(struct tests *t)
{
	static const struct {
		const char *keys, *words, *style;
	} steps[] = {
		{"T", "Theme", " default\n"}, /* dark: the terminal's own background */
		{"G", "solarized", NULL},
		{"g", "colour-blind", " 233"},
		{"\033", "Main", " default\n"},
		{"Tg\r", "theme: colour-blind", " 233"},
		{"T", "Theme", NULL},
		{"\033[<65;40;10M", "▶ high-contrast", NULL},
		{"\033[<0;40;10M\033[<0;40;10m", "theme: dark", " default\n"},
		{"Tq", "Main", NULL},
	};
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char *argv[] = {t->memtui, "open", "--theme", "dark", t->trace, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_settle(&terminal);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		terminal_type(&terminal, steps[i].keys);
		bool ok = terminal_settle(&terminal);
		char *screen = terminal_text(&terminal);

		ok = ok && strstr(screen, steps[i].words)
			&& (!steps[i].style || styled(&terminal, steps[i].style));
		tell(t, ok, "the menu of themes: step %zu brings '%s'", i + 1, steps[i].words);
		if (!ok)
			printf("%s\n", screen);
		free(screen);
	}
	terminal_close(&terminal);
}

/* A terminal's name that nobody knows: the theme is answered for in words. */
static void check_unknown(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char *argv[] = {t->memtui, "open", "--theme", "blue", t->trace, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 160, &s, argv);
	terminal_wait_end(&terminal);
	terminal_read_for(&terminal, 50);
	char *screen = terminal_text(&terminal);

	tell(t,
		WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 2
			&& strstr(screen, "unknown theme 'blue'")
			&& strstr(screen, "gruvbox, high-contrast"),
		"an unknown theme is answered with all names");
	free(screen);
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("themes")) {
		check_reload(&t);
		check_menu(&t);
		check_unknown(&t);
	}
	return t.failed != 0;
}
