/* What makes the screen comfortable: the editor, the palette, key bindings, settings. Arguments as
 * screens_test. */
#include "comfort.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the editor ---- */

/* name: of the program that is the editor, which writes its arguments into a file; wanted:
 * these. */
static void check_editor(struct tests *t, const char *name, const char *options,
	const char *wanted_arguments)
{
	char program[1024], command[1200], result[1024], script[2200];
	struct settings s = {.editor = command};
	struct terminal terminal;

	snprintf(program, sizeof program, "%s/%s", t->scratch, name);
	snprintf(result, sizeof result, "%s/arguments", t->scratch);
	snprintf(script, sizeof script,
		"#!/bin/sh\nfor a; do echo \"$a\"; "
		"done >'%s'\n[ -t 0 ] && [ -t 1 ] && echo terminal >>'%s'\n",
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

/* One that stops, itself alone or the whole job as ^Z does: so does memtui, once, and goes on with
 * it. all: as fg wakes the job; else memtui alone is woken. */
static void check_stopping_editor(struct tests *t, const char *stop, bool all)
{
	char program[1024], script[256];
	struct settings s = {.editor = program};
	struct terminal terminal;
	char *screen;

	snprintf(program, sizeof program, "%s/stopping", t->scratch);
	snprintf(script, sizeof script, "#!/bin/sh\n%s\n", stop);
	write_file(program, script, 0755);
	start(t, &terminal, &s);
	terminal_type(&terminal, "2/session_new\re");
	tell(t, terminal_wait_stop(&terminal) && terminal_restored(&terminal),
		"an editor's '%s' stops memtui", stop);
	terminal.stopped = false;
	kill(all ? -terminal.pid : terminal.pid, SIGCONT);
	bool back = terminal_wait_text(&terminal, "back from") && terminal_settle(&terminal);

	tell(t, back && !terminal.stopped && !terminal_restored(&terminal), "%s wakes both",
		all ? "fg" : "SIGCONT to memtui alone");
	if (!back && (screen = terminal_text(&terminal))) {
		printf("%s\n", screen);
		free(screen);
	}
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
	check_editor(t, "other", " 'a b' \"c d\" e\\ f",
		"a b\nc d\ne f\n+10\nsrc/session.c\nterminal\n");
	start(t, &terminal, &missing);
	tell(t,
		shows(&terminal, "2/session_new\re",
			"cannot start /nonexistent/editor: No such file"),
		"an editor that is not there is said so");
	tell(t, shows(&terminal, "2gje", "core/arena.c: not found"),
		"a source that is not there is said so");
	tell(t, shows(&terminal, "3E/0x4013\re", "no source line for this frame"),
		"a frame without a source line is said so");
	tell(t, shows(&terminal, "5e", "no group is selected here"),
		"a view without groups says so");
	terminal_close(&terminal);
	start(t, &terminal, &failing);
	tell(t, shows(&terminal, "2/session_new\re", "false exited with status 1"),
		"an editor that fails is said so");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && terminal_restored(&terminal),
		"the terminal is as before after an editor");
	terminal_close(&terminal);
	check_stopping_editor(t, "kill -STOP $$", true);
	check_stopping_editor(t, "kill -STOP $$", false);
	check_stopping_editor(t, "kill -TSTP $$", true);
	check_stopping_editor(t, "kill -TSTP 0", true);
}

/* ---- the palette ---- */

static void check_palette(struct tests *t)
{
	struct settings s = {.editor = NULL};
	struct terminal terminal;

	start(t, &terminal, &s);
	tell(t, shows(&terminal, ":", "All actions"), ": opens the palette");
	tell(t, shows(&terminal, "zofit", "show the whole run"),
		"letters of a name find the action");
	tell(t, shows(&terminal, "\r", "[5Time"), "Enter runs it, in the view that it belongs to");
	tell(t, shows(&terminal, ":zzz", "no action matches"), "what nothing is called is said");
	tell(t,
		shows(&terminal, "\025whole branch", "no action matches")
			&& shows(&terminal, "\025callee", "Unfold"),
		"words of the help find it too");
	tell(t, shows(&terminal, "\033", "groups") && shows(&terminal, "", "at the cursor"),
		"Esc closes it");
	terminal_type(&terminal, "1:reverse");
	terminal_settle(&terminal);
	tell(t, shows(&terminal, "\033[<0;20;4M", "▲"), "a click runs the line");
	tell(t, shows(&terminal, ":freeze\r", "only while the program is running"),
		"what needs a running program says so");
	terminal_close(&terminal);
}

/* ---- the clipboard ---- */

/* What the first OSC 52 in these bytes puts there; "" where there is none. */
static void decode_copy(const char *bytes, size_t len, char *out, size_t out_len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = memmem(bytes, len, "\033]52;c;", 7), *digit;
	unsigned bits = 0, count = 0;
	size_t n = 0;

	for (at = at ? at + 7 : ""; *at && n + 1 < out_len && *at != '\a'; at++) {
		if (!(digit = strchr(digits, *at)))
			continue;
		bits = bits << 6 | (unsigned)(digit - digits);
		if ((count += 6) >= 8)
			out[n++] = (char)(bits >> (count -= 8));
	}
	out[n] = '\0';
}

static void check_copy(struct tests *t, const char *multiplexer, const char *envelope)
{
	struct settings s = {.tmux = multiplexer};
	struct terminal terminal;
	char *bytes = NULL, copied[4096];
	size_t len = 0;

	start(t, &terminal, &s);
	terminal.record = open_memstream(&bytes, &len);
	bool said = shows(&terminal, "2/session_new\ry", "copied the stack of session_new");

	fclose(terminal.record);
	terminal.record = NULL;
	decode_copy(bytes, len, copied, sizeof copied);
	bool good = said
		&& strstr(copied,
			   "./server --port 8080: leaked 47.3M in 3136 blocks, allocated 59.1M in "
			   "3920 calls of malloc\n#0  session_new at src/session.c:10 (")
			== copied
		&& strstr(copied, "\n#5  _start at ")
		&& memmem(bytes, len, envelope, strlen(envelope));

	tell(t, good, "y copies the stack%s", multiplexer ? ", through tmux too" : "");
	if (!good)
		printf("==== copied\n%s\n", copied);
	free(bytes);
	terminal_close(&terminal);
}

static void check_copied_names(struct tests *t)
{
	struct settings s = {0};
	struct terminal terminal;
	char *bytes = NULL, copied[4096];
	size_t len = 0;

	start(t, &terminal, &s);
	terminal.record = open_memstream(&bytes, &len);
	bool said = shows(&terminal, "2/evil\ry", "copied the stack of evil");

	fclose(terminal.record);
	terminal.record = NULL;
	decode_copy(bytes, len, copied, sizeof copied);
	tell(t,
		said && strstr(copied, "#0  evil\\x1b]0;x\\x07\\x1b[31mname at src/\\x9b31m.c:1 (")
			&& !strpbrk(copied, "\033\a\x9b"),
		"what is copied holds no escape out of a name");
	free(bytes);
	terminal_close(&terminal);
}

/* ---- every action: by key, palette, help ---- */

struct listed {
	char id[40], scope[40], name[80], words[256], keys[80];
	bool helped;
};
static struct listed list[256];
static int listed;

/* The string behind "key": of one line of JSON. */
static void value_of(const char *line, const char *key, char *out, size_t len)
{
	char quoted[40];
	const char *at;
	size_t n = 0;

	snprintf(quoted, sizeof quoted, "\"%s\": ", key);
	at = strstr(line, quoted);
	at = at ? at + strlen(quoted) + 1 : "";
	for (; *at && *at != '"' && *at != ']' && n + 1 < len; at++)
		if (*at != '\\' || *++at)
			out[n++] = *at;
	out[n] = '\0';
}

static void read_list(struct tests *t)
{
	char command[2048], line[2048];

	snprintf(command, sizeof command,
		"XDG_CONFIG_HOME=/nonexistent '%s' help keys --format json", t->memtui);
	FILE *from = popen(command, "r");

	for (listed = 0; from && listed < 256 && fgets(line, sizeof line, from); listed++) {
		struct listed *a = &list[listed];

		value_of(line, "action", a->id, sizeof a->id);
		value_of(line, "scope", a->scope, sizeof a->scope);
		value_of(line, "name", a->name, sizeof a->name);
		value_of(line, "words", a->words, sizeof a->words);
		snprintf(a->keys, sizeof a->keys, "%.60s",
			strstr(line, "\"keys\": [\"") ? strstr(line, "\"keys\": [\"") : "");
		a->helped = false;
	}
	tell(t, from && pclose(from) == 0 && listed > 60, "memtui help keys tells %d actions",
		listed);
}

/* Types what finds each action into an open palette; the first line has to be it. */
static void check_each_in_palette(struct tests *t)
{
	struct settings s = {.editor = NULL};
	struct terminal terminal;
	int missing = 0;

	start(t, &terminal, &s);
	terminal_type(&terminal, ":");
	for (int i = 0; i < listed; i++) {
		char keys[64], line[128];

		snprintf(keys, sizeof keys, "\025%.40s", list[i].id);
		snprintf(line, sizeof line, "▶ %s ", list[i].name);
		missing += !shows(&terminal, keys, line);
	}
	tell(t, !missing, "the palette finds every action by its name");
	terminal_close(&terminal);
}

/* Finds each action in the palette and clicks on its line: it runs, and the palette is gone. */
static void check_each_by_mouse(struct tests *t)
{
	/* the screen, or open another palette */
	static const char *const leaving[] = {"quit", "back", "suspend", "palette"};
	struct settings s = {.editor = NULL};
	struct terminal terminal;
	int missing = 0;

	start(t, &terminal, &s);
	for (int i = 0; i < listed; i++) {
		char keys[64];
		bool leaves = false;

		for (size_t n = 0; n < sizeof leaving / sizeof *leaving; n++)
			leaves = leaves || !strcmp(leaving[n], list[i].id);
		if (leaves)
			continue;
		snprintf(keys, sizeof keys, "\033\033:%.40s", list[i].id);
		bool good = shows(&terminal, keys, "All actions");

		terminal_type(&terminal, "\033[<0;20;4M");
		good = terminal_settle(&terminal) && good;
		char *screen = terminal_text(&terminal);

		if (!good || strstr(screen, "All actions")) {
			printf("==== %s by mouse\n%s", list[i].id, screen);
			missing++;
		}
		free(screen);
	}
	tell(t, !missing, "a click in the palette runs every action");
	terminal_close(&terminal);
}

/* Help in a view: which actions it knows of. */
static void look_into_help(struct terminal *terminal, const char *view)
{
	terminal_type(terminal, view);
	terminal_settle(terminal);
	for (int i = 0; i < listed; i++) {
		char keys[80], words[40];

		if (list[i].helped)
			continue;
		snprintf(keys, sizeof keys, "\033OP%.60s", list[i].words);
		snprintf(words, sizeof words, "%.36s", list[i].words);
		terminal_type(terminal, keys);
		terminal_settle(terminal);
		char *screen = terminal_text(terminal), *line = strstr(screen, "Help: ");

		/* Below the line with what was typed. */
		list[i].helped = line && (line = strchr(line, '\n')) && strstr(line, words);
		free(screen);
		terminal_type(terminal, "\033OP");
		terminal_settle(terminal);
	}
}

static void check_each_in_help(struct tests *t)
{
	static const char *const views[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "V",
		"2g\r"};
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
	};
	char *argv[] = {t->memtui, "run", t->demo, NULL};
	struct terminal terminal;
	int missing = 0;

	start(t, &terminal, &s);
	terminal_resize(&terminal, 40, 120);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		look_into_help(&terminal, views[i]);
	terminal_close(&terminal);
	terminal_start(&terminal, 40, 120, &s, argv);
	terminal_settle(&terminal);
	look_into_help(&terminal, "O");
	terminal_type(&terminal, "Qd");
	terminal_wait_end(&terminal);
	terminal_close(&terminal);
	for (int i = 0; i < listed; i++)
		if (!list[i].helped) {
			printf("==== not in the help: %s\n", list[i].id);
			missing++;
		}
	tell(t, !missing, "the help of some view knows every action");
}

static void check_actions(struct tests *t)
{
	char command[2048];
	int without = 0;

	read_list(t);
	for (int i = 0; i < listed; i++)
		without += !list[i].keys[0];
	tell(t, !without, "every action has a key");
	snprintf(command, sizeof command, "XDG_CONFIG_HOME=/nonexistent '%s' help keys", t->memtui);
	tell(t, prints(command, "No key has two actions", 0),
		"no key of the list means two things in one view");
	check_each_in_palette(t);
	check_each_by_mouse(t);
	check_each_in_help(t);
}

/* ---- the user's keys ---- */

static void check_keymap(struct tests *t)
{
	static const char lines[] =
		"# mine\nbind app F9 quit\nbind aap x quit\n"
		"bind tree x colapse\nbind app ^PgDn quit\n"
		"bind find E filter  # the tree's own key comes first\nunbind app Q\nunbind app W\n"
		"bind move x\nbnid\n";
	char directory[1024], command[4096];
	struct settings s = {.config = directory};
	struct terminal terminal;

	user_file(t, directory, "config", "keys", lines);
	snprintf(command, sizeof command, "XDG_CONFIG_HOME='%s' '%s' help keys 2>&1", directory,
		t->memtui);
	tell(t, prints(command, "F9 F10 ^C", 1), "a key of the user's is the first of its action");
	tell(t,
		prints(command, "E in Tree: expand (tree) wins over filter (find, yours), line 6\n",
			1),
		"what collides is told");
	tell(t, prints(command, "keys:3: unknown scope 'aap'; did you mean 'app'?\n", 1),
		"an unknown scope is told by line");
	tell(t, prints(command, "keys:4: unknown action 'colapse'; did you mean 'collapse'?\n", 1),
		"so is an unknown action");
	tell(t, prints(command, "keys:5: invalid key '^PgDn'; expected a character", 1),
		"so is an unknown key");
	tell(t, prints(command, "keys:8: W has no action in app", 1),
		"so is a key that has no meaning to take");
	tell(t, prints(command, "keys:9: bind takes 3 words, not 2", 1), "so is a word too few");
	tell(t, prints(command, "keys:10: invalid line 'bnid'", 1), "so is another order");
	start(t, &terminal, &s);
	tell(t,
		shows(&terminal, "",
			"keys:3: unknown scope 'aap'; did you mean 'app'? (and 5 more)"),
		"the screen says what is wrong in the file");
	tell(t, shows(&terminal, "Q2", "[2Group]") && shows(&terminal, "", "F9Quit"),
		"a key without meaning does nothing, the key bar shows the new one");
	tell(t, shows(&terminal, "E", "filter>"), "a key that was bound does what it is bound to");
	terminal_type(&terminal, "\033\033[20~");
	tell(t, terminal_wait_end(&terminal), "so does a function key");
	terminal_close(&terminal);
	snprintf(command, sizeof command, "'%s' help keys --keymap /nonexistent/keys 2>&1",
		t->memtui);
	tell(t, prints(command, "/nonexistent/keys cannot be read: No such file", 1),
		"a file that was asked for has to be there");
}

/* A key that means nothing where one is says where it does. */
static void check_invalid_frees(struct tests *t)
{
	static const struct step steps[] = {
		{"a key of the other pane", "E", "E (All) works in the call tree; Tab shows it",
			NULL},
		{"of another view", "v", "v (Select) works in Time; 5 shows it", "(All)"},
		{"of a group", "}", "} (Next) works in a group; Enter opens one", NULL},
		{"after another key", "f", "f (fixed) comes after t", NULL},
		{"of a running program", "p", "p (Freeze) works only while the program is running",
			NULL},
		{"of nothing", "J", "J does nothing here; F1 lists the keys", NULL},
		{"one that does something", "j", "groups 2/17", "does nothing"},
		{"where there is nothing to clear", "R", "no time range to clear", NULL},
		{"is no event", "0", "Log]", "works in"},
	};

	check_steps(t, "a free_ key", NULL, steps, sizeof steps / sizeof *steps);
}

static const struct golden goldens[] = {
	{"palette-100x30", 100, 30, "2:fold", 0, 0, 0, 0, 0, 0, 0},
	{"palette-80x24", 80, 24, "2:zoom", 0, 0, 0, 0, 0, 0, 0},
};

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("editor"))
		check_editors(&t);
	if (wanted("palette"))
		check_palette(&t);
	if (wanted("copy")) {
		check_copy(&t, NULL, "\033]52;c;");
		check_copied_names(&t);
		check_copy(&t, "/tmp/tmux,1,0", "\033Ptmux;\033\033]52;c;");
	}
	if (wanted("actions"))
		check_actions(&t);
	if (wanted("keymap"))
		check_keymap(&t);
	check_invalid_frees(&t);
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	return t.failed != 0;
}
