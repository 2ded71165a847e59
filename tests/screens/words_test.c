/* What the screen says: whole, in numbers that agree, with the keys that hold.
 * words_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH [DEMO] */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void check_whole(struct tests *t, const char *name, const char *keys)
{
	struct terminal terminal;
	bool whole = true;

	open_trace(t, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, keys);
	for (int page = 0; page < 10 && whole; page++) {
		bool answered = terminal_settle(&terminal);
		char *screen = terminal_text(&terminal), *box = strstr(screen, "\n──");
		char *end = box ? strstr(box, "Esc closes") : NULL;

		if (end)
			*end = '\0';
		whole = answered && end && !strstr(box, "…");
		if (!whole)
			printf("%s\n", screen);
		free(screen);
		terminal_type(&terminal, "\006");
	}
	tell(t, whole, "%s says all of it at 80 columns", name);
	terminal_close(&terminal);
}

/* The figures above the timeline: each whole, or not there. */
static void check_heading(struct tests *t)
{
	struct terminal terminal;
	bool whole = true;

	open_trace(t, &terminal, 24, 80, NULL);
	for (int columns = 40; columns <= 120 && whole; columns += columns < 80 ? 8 : 1) {
		terminal_resize(&terminal, 24, columns);
		bool answered = terminal_settle(&terminal);
		char *screen = terminal_text(&terminal), *heading = strstr(screen, "── heap");
		char *end = heading ? strchr(heading, '\n') : NULL;

		if (end)
			*end = '\0';
		whole = answered && end && !strstr(heading, "…");
		if (!whole)
			printf("%d columns: %s\n", columns, heading ? heading : screen);
		free(screen);
	}
	tell(t, whole, "no figure of the heading is cut");
	terminal_close(&terminal);
}

static void see(struct tests *t, struct terminal *terminal, const char *keys, const char *words,
	const char *what)
{
	terminal_type(terminal, keys);
	bool ok = terminal_settle(terminal);
	char *screen = terminal_text(terminal);

	ok = ok && strstr(screen, words);
	tell(t, ok, "%s: '%s'", what, words);
	if (!ok)
		printf("%s\n", screen);
	free(screen);
}

static void check_keys(struct tests *t)
{
	char directory[1024], path[2048];
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->source,
		.config = directory,
	};
	char *argv[] = {t->memtui, "open", t->trace, NULL};
	struct terminal terminal;
	FILE *file;

	snprintf(directory, sizeof directory, "%s/words", t->scratch);
	snprintf(path, sizeof path, "%s/memtui", directory);
	mkdir(directory, 0700);
	mkdir(path, 0700);
	strcat(path, "/keys");
	file = fopen(path, "w");
	fputs("unbind views 6\nbind views W diff\nunbind judge u\nbind judge z judge-undo\nunbind "
	      "find n\nbind find % next-match\n"
	      "unbind find R\nbind find J all-times\nunbind columns L\n",
		file);
	fclose(file);
	terminal_start(&terminal, 30, 100, &s, argv);
	terminal_settle(&terminal);
	see(t, &terminal, "2S", "W shows what changes", "messages name the user's keys");
	see(t, &terminal, "tl", "leak; t z undoes", "and those after a prefix");
	see(t, &terminal, "/json\r", "1 line matches; % next, N previous",
		"a % is a key like others");
	see(t, &terminal, "/s\r", " lines match; ", "and numbers agree");
	see(t, &terminal, "\\size>=1G\r", "clears it, F4 changes it",
		"guidance takes the first of two keys");
	see(t, &terminal, "\\\025\r5A", "J clears it", "rules name them, too");
	terminal_close(&terminal);
	remove(path);
}

/* However many keys a view has, the bar of a usual terminal says how to leave it. */
static void check_leaving(struct tests *t)
{
	static const char *const views[] = {"1", "2", "3", "4", "5", "5v", "6", "7", "8", "9", "0",
		"V", "2\r"};
	struct terminal terminal;

	open_trace(t, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		see(t, &terminal, views[i], "qBack F10Quit", views[i]);
	terminal_close(&terminal);
}

/* The line that names a function says what was judged of its group. */
static void check_state(struct tests *t, struct terminal *terminal, const char *keys,
	const char *name)
{
	terminal_type(terminal, keys);
	bool ok = terminal_settle(terminal);
	char *screen = terminal_text(terminal), *behind, *found = NULL;

	for (char *line = strtok_r(screen, "\n", &behind); line && !found;
		line = strtok_r(NULL, "\n", &behind))
		found = strstr(line, "session_new") ? line : NULL;
	ok = ok && found && (strstr(found, "L ") || strstr(found, "│L session_new"));
	tell(t, ok, "%s shows the state of a group", name);
	if (!ok)
		printf("%s\n", found ? found : "no line");
	free(screen);
}

static void check_states(struct tests *t)
{
	char store[1024];
	struct terminal terminal;

	snprintf(store, sizeof store, "%s/states", t->scratch);
	setenv("MEMTUI_TRIAGE", store, 1);
	snprintf(store, sizeof store, "%s/later.dat", t->scratch);
	t->second = store;
	open_trace(t, &terminal, 30, 100, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "2");
	see(t, &terminal, "/session_new\rtl", "leak; t u undoes", "a group is judged");
	check_state(t, &terminal, "V", "the overview");
	check_state(t, &terminal, "4", "the icicle");
	check_state(t, &terminal, "6=", "the difference");
	terminal_close(&terminal);
	t->second = NULL;
	open_trace(t, &terminal, 12, 60, NULL);
	terminal_settle(&terminal);
	see(t, &terminal, "2gtx", "suppressed, hidden until X", "the first group is hidden");
	see(t, &terminal, "X", "session_new", "and is seen when it comes back");
	see(t, &terminal, "q2/json_node\r\rG", " above: k", "frames that are not seen are counted");
	terminal_close(&terminal);
	setenv("MEMTUI_TRIAGE", "", 1);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("words"))
		return 0;
	check_whole(&t, "help", "2?");
	check_whole(&t, "the palette", ":");
	check_whole(&t, "setup", "\033OQ");
	check_heading(&t);
	check_keys(&t);
	check_leaving(&t);
	check_states(&t);
	return t.failed != 0;
}
