/* What makes the screen comfortable: the editor, the palette, key bindings, settings. Arguments as screens_test. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *text, mode_t mode)
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

static char *read_file(const char *path)
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
static void start(struct tests *t, struct terminal *terminal, const struct settings *given)
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
static bool shows(struct terminal *terminal, const char *keys, const char *text)
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

/* ---- the editor ---- */

/* name: of the program that is the editor, which writes its arguments into a file; wanted: these. */
static void check_editor(struct tests *t, const char *name, const char *options, const char *wanted_arguments)
{
	char program[1024], command[1200], result[1024], script[2200];
	struct settings s = {.editor = command};
	struct terminal terminal;

	snprintf(program, sizeof program, "%s/%s", t->scratch, name);
	snprintf(result, sizeof result, "%s/arguments", t->scratch);
	snprintf(script, sizeof script, "#!/bin/sh\nfor a; do echo \"$a\"; done >'%s'\n[ -t 0 ] && [ -t 1 ] && echo terminal >>'%s'\n",
		result, result);
	write_file(program, script, 0755);
	snprintf(command, sizeof command, "%s%s", program, options);
	unlink(result);
	start(t, &terminal, &s);
	bool said = shows(&terminal, "2/session_new\re", "back from");
	char *seen = read_file(result);

	tell(t, said && !strcmp(seen, wanted_arguments), "e calls %s with the place", name);
	if (strcmp(seen, wanted_arguments))
		printf("==== wanted\n%s==== seen\n%s", wanted_arguments, seen);
	free(seen);
	tell(t, shows(&terminal, "j", "groups"), "the screen goes on after %s", name);
	terminal_close(&terminal);
}

static void check_editors(struct tests *t)
{
	struct settings missing = {.editor = "/nonexistent/editor"}, failing = {.editor = "false"};
	struct terminal terminal;

	check_editor(t, "vim", "", "+10\nsrc/session.c\nterminal\n");
	check_editor(t, "code", " -w", "-w\n--goto\nsrc/session.c:10\nterminal\n");
	check_editor(t, "hx", "", "src/session.c:10\nterminal\n");
	check_editor(t, "kate", "", "--line\n10\nsrc/session.c\nterminal\n");
	check_editor(t, "other", " 'a b' \"c d\" e\\ f", "a b\nc d\ne f\n+10\nsrc/session.c\nterminal\n");
	start(t, &terminal, &missing);
	tell(t, shows(&terminal, "2/session_new\re", "cannot start /nonexistent/editor: No such file"), "an editor that is not there is said so");
	tell(t, shows(&terminal, "2gje", "core/arena.c is not here"), "a source that is not there is said so");
	tell(t, shows(&terminal, "3E/0x4013\re", "no source line is known here"), "a frame without a source line is said so");
	tell(t, shows(&terminal, "5e", "no group is selected here"), "a view without groups says so");
	terminal_close(&terminal);
	start(t, &terminal, &failing);
	tell(t, shows(&terminal, "2/session_new\re", "false ended with status 1"), "an editor that fails is said so");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && terminal_restored(&terminal), "the terminal is as before after an editor");
	terminal_close(&terminal);
}

/* ---- the palette ---- */

static void check_palette(struct tests *t)
{
	struct settings s = {.editor = NULL};
	struct terminal terminal;

	start(t, &terminal, &s);
	tell(t, shows(&terminal, ":", "Every action"), ": opens the palette");
	tell(t, shows(&terminal, "zofit", "show the whole run"), "letters of a name find the action");
	tell(t, shows(&terminal, "\r", "[5 Time"), "Enter runs it, in the view that it belongs to");
	tell(t, shows(&terminal, ":zzz", "no action is called so"), "what nothing is called is said");
	tell(t, shows(&terminal, "\025whole branch", "no action is called so") && shows(&terminal, "\025callee", "Unfold"),
		"words of the help find it too");
	tell(t, shows(&terminal, "\033", "groups") && shows(&terminal, "", "at the cursor"), "Esc closes it");
	terminal_type(&terminal, "1:reverse");
	terminal_settle(&terminal);
	tell(t, shows(&terminal, "\033[<0;20;4M", "▲"), "a click runs the line");
	tell(t, shows(&terminal, ":freeze\r", "for a program that runs"), "what needs a running program says so");
	terminal_close(&terminal);
}

static const struct golden goldens[] = {
	{"palette-100x30", 100, 30, "2:fold", 0, 0, 0, 0, 0, 0, 0},
	{"palette-80x24", 80, 24, "2:zoom", 0, 0, 0, 0, 0, 0, 0},
	{"palette-40x10", 40, 10, "2:fold", 0, 0, 0, 0, 0, 0, 0},
	{"ascii-palette-80x24", 80, 24, "2:fold", 0, "C", 0, 0, 0, 0, 0},
	{"no-color-palette-80x24", 80, 24, "2:fold", 0, 0, 0, true, 0, 0, 0},
};

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("editor"))
		check_editors(&t);
	if (wanted("palette"))
		check_palette(&t);
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	return t.failed != 0;
}
