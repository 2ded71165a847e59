/* From the start of memtui to the guilty line in the editor, as one who has not read the manual:
 * for each program of tests/programs/leaks, on a running session, in at most ten keys. leaks_test
 * as screens_test. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEYS_MOST 10
#define LOOKS 900 /* at the screen, each a tenth of a second apart at the most */

struct program {
	const char *name, *rate;
	const char *first; /* keys to the list */
	const char *seen;  /* in the selected line, once the leak is on top */
	const char *words; /* in its detail */
};

static const struct program programs[] = {
	{"server", "8000", "L", "note_timeout", "none was freed"},
	{"cache", "4000", "L", "remember", "none was freed"},
	{"thread", "1000", "L", "make_result", "freed"},
	/* until names are known, its other function is libplugin.so+0x, too */
	{"library", "4000", "L", "in plugin_decode", "none was freed"},
	/* the overview shows it without being asked */
	{"server", "8000", "V", "note_timeout", "none was freed"},
};

struct truth {
	char function[64], file[64];
	int line;
};

/* What a short run of the program says that it loses. */
static bool ask(const char *path, struct truth *truth)
{
	char command[1200];
	FILE *said;
	bool ok;

	snprintf(command, sizeof command, "'%s' 1 4000 0", path);
	said = popen(command, "r");
	ok = said
		&& fscanf(said, "TRUTH function=%63s file=%63s line=%d", truth->function,
			   truth->file, &truth->line)
			== 3;
	if (said)
		pclose(said);
	return ok;
}

/* In a line that begins so, and says nothing by an estimate. */
static bool line_has(const char *screen, const char *first, const char *text)
{
	for (const char *line = screen; line && *line;
		line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *end = strchr(line, '\n');
		const char *found = strstr(line, text), *estimate = strchr(line, '~');

		if (!strncmp(line, first, strlen(first)) && found && (!end || found < end))
			return !estimate || (end && estimate > end);
	}
	return false;
}

/* Until the first line of a list, where the cursor stays by itself, has the text by what was seen
 * of the group. */
static bool wait_selected(struct terminal *terminal, const char *text)
{
	for (int i = 0; i < LOOKS && !terminal->ended; i++) {
		char *screen = terminal_text(terminal);
		bool found = line_has(screen, "\xe2\x96\xb6", text);

		free(screen);
		if (found)
			return true;
		terminal_read_for(terminal, 100);
	}
	return false;
}

/* Opens what is selected; goes back where the order changed at the last moment. Returns keys typed,
 * or a lot. */
static int open_selected(struct terminal *terminal, const struct program *p,
	const struct truth *truth)
{
	char place[160];

	snprintf(place, sizeof place, "%s:%d", truth->file, truth->line);
	for (int keys = 1; keys <= 5; keys += 2) {
		if (!wait_selected(terminal, p->seen))
			return 100;
		terminal_type(terminal, "\r");
		terminal_wait_text(terminal, "backtrace, innermost first");
		terminal_settle(terminal);
		char *screen = terminal_text(terminal);
		bool there = strstr(screen, place) && strstr(screen, "leak score");

		free(screen);
		if (there)
			return keys;
		terminal_type(terminal, "q");
	}
	return 100;
}

static void end(struct terminal *terminal)
{
	terminal_type(terminal, "Q");
	if (terminal_wait_text(terminal, "still runs"))
		terminal_type(terminal, "d");
	terminal_wait_end(terminal);
	terminal_close(terminal);
}

static bool opened(const char *arguments, const struct truth *truth)
{
	char text[2048] = "", wanted_line[32], wanted_file[80];
	FILE *file = fopen(arguments, "r");
	size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;

	text[len] = '\0';
	if (file)
		fclose(file);
	snprintf(wanted_line, sizeof wanted_line, "+%d\n", truth->line);
	snprintf(wanted_file, sizeof wanted_file, "/%s\n", truth->file);
	if (!strncmp(text, wanted_line, strlen(wanted_line)) && strstr(text, wanted_file))
		return true;
	printf("==== the editor got\n%s==== wanted %s%s", text, wanted_line, wanted_file);
	return false;
}

static void check(struct tests *t, const struct program *p, int rows, int columns)
{
	char path[1024], editor[1024], arguments[1024];
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.editor = editor,
		.cache = t->scratch,
	};
	char *argv[] = {t->memtui, "run", "--", path, "1", "0", (char *)p->rate, NULL};
	struct truth truth;
	struct terminal terminal;
	FILE *script;

	snprintf(path, sizeof path, "%s/leaks/%s", t->scratch, p->name);
	snprintf(editor, sizeof editor, "%s/leaks/vim", t->scratch);
	snprintf(arguments, sizeof arguments, "%s/leaks/arguments", t->scratch);
	unlink(arguments);
	script = fopen(editor, "w");
	if (script) {
		fprintf(script, "#!/bin/sh\nfor a; do echo \"$a\"; done >'%s'\n", arguments);
		fclose(script);
		chmod(editor, 0755);
	}
	if (!script || !ask(path, &truth)) {
		tell(t, false, "%s says what it loses", p->name);
		return;
	}
	terminal_start(&terminal, rows, columns, &s, argv);
	terminal_wait_text(&terminal, "LIVE");
	if (columns >= 80) {
		char hint[160];

		snprintf(hint, sizeof hint, "%s%s", p->seen, strchr(p->seen, '+') ? "" : "  ");
		tell(t, terminal_wait_text(&terminal, hint) || terminal_wait_text(&terminal, hint),
			"%s: the first screen points to the leak", p->name);
	}
	terminal_type(&terminal, p->first);
	terminal_wait_text(&terminal, *p->first == 'V' ? "suspected leaks" : "SUSPECT");
	int keys = (int)strlen(p->first) + open_selected(&terminal, p, &truth);
	/* the score takes some seconds of watching */
	terminal_wait_text(&terminal, "grows");
	if (columns >= 60)
		terminal_wait_text(&terminal, p->words);
	char *detail = terminal_text(&terminal);
	bool explained =
		strstr(detail, "grows") && strstr(detail, columns < 60 ? "leak score" : p->words);

	terminal_type(&terminal, "e");
	bool ok = keys + 1 <= KEYS_MOST && terminal_wait_text(&terminal, "back from")
		&& opened(arguments, &truth);

	tell(t, ok, "%s at %dx%d: from the start to %s:%d in the editor, %d keys", p->name, columns,
		rows, truth.file, truth.line, keys + 1);
	tell(t, explained, "%s at %dx%d: its detail says why", p->name, columns, rows);
	if (!ok || !explained)
		printf("==== detail\n%s", detail);
	free(detail);
	end(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("leaks"))
		return 0;
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		check(&t, &programs[i], 24, 80);
	check(&t, &programs[2], 10, 40);
	return t.failed != 0;
}
