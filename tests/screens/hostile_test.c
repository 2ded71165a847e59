/* Files and names that mean no good: what is no file, what is too long, names that would act.
 * Arguments as screens_test. */
#include "comfort.h"

static const char *const kinds[] = {"a FIFO", "a directory", "too long", "binary",
	"a link to itself"};
#define KINDS (int)(sizeof kinds / sizeof *kinds)

static void make_bad(const char *path, int kind)
{
	char command[2048];

	snprintf(command, sizeof command, "rm -rf '%s'; mkdir -p \"$(dirname '%s')\"", path, path);
	if (system(command))
		exit(1);
	if (kind == 0)
		mkfifo(path, 0600);
	else if (kind == 1)
		mkdir(path, 0700);
	else if (kind == 2)
		snprintf(command, sizeof command, "yes '# long' | head -c 100000 >'%s'", path);
	else if (kind == 3)
		snprintf(command, sizeof command, "printf 'text = #ffffff\\n\\000\\n' >'%s'", path);
	else if (symlink(path, path))
		exit(1);
	if ((kind == 2 || kind == 3) && system(command))
		exit(1);
}

/* Nothing hangs, the terminal is as before, and what is wrong is said. */
static void check_theme(struct tests *t, int kind)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char path[1024], *argv[] = {t->memtui, "open", "--theme", path, t->trace, NULL};
	struct terminal terminal;

	snprintf(path, sizeof path, "%s/hostile/bad.theme", t->scratch);
	make_bad(path, kind);
	terminal_start(&terminal, 24, 160, &s, argv);
	bool ended = terminal_wait_end(&terminal);

	terminal_read_for(&terminal, 50);
	char *screen = terminal_text(&terminal);

	tell(t,
		ended && WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 1
			&& (strstr(screen, "cannot be read") || strstr(screen, "cannot read")),
		"a theme that is %s is told", kinds[kind]);
	free(screen);
	terminal_close(&terminal);
}

static void check_user_file(struct tests *t, const char *name, int kind)
{
	char directory[1024], path[1100];
	struct settings s = {.config = directory};
	struct terminal terminal;

	snprintf(directory, sizeof directory, "%s/hostile-%s-%d", t->scratch, name, kind);
	snprintf(path, sizeof path, "%s/memtui/%s", directory, name);
	make_bad(path, kind);
	start(t, &terminal, &s);
	tell(t, shows(&terminal, "", "Main"), "%s that is %s lets the screen open", name,
		kinds[kind]);
	tell(t, shows(&terminal, "2tl", "leak; t u undoes"), "and be used");
	tell(t, shows(&terminal, "TG", "Theme") && shows(&terminal, "\033", "[2Group]"),
		"and its themes");
	tell(t,
		shows(&terminal, "\033OQ\033[D", "colour-blind")
			&& shows(&terminal, "\033[D", "solarized"),
		"and its setup");
	terminal_type(&terminal, "\033");
	terminal_settle(&terminal);
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && terminal_restored(&terminal), "and be left");
	terminal_close(&terminal);
}

/* The user's own of the usual name. */
static void check_usual_theme(struct tests *t, int kind)
{
	char directory[1024], path[1100];
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->source,
		.config = directory,
	};
	char *argv[] = {t->memtui, "open", t->trace, NULL};
	struct terminal terminal;

	snprintf(directory, sizeof directory, "%s/hostile-dark-%d", t->scratch, kind);
	snprintf(path, sizeof path, "%s/memtui/themes/dark.theme", directory);
	make_bad(path, kind);
	terminal_start(&terminal, 24, 160, &s, argv);
	tell(t,
		terminal_settle(&terminal) && shows(&terminal, "", "dark.theme")
			&& shows(&terminal, "2", "Groups"),
		"the usual theme that is %s is told, and keeps nobody from working", kinds[kind]);
	terminal_close(&terminal);
}

static void check_triage(struct tests *t, int kind)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char path[1024], *argv[] = {t->memtui, "open", "--triage", path, t->trace, NULL};
	static const char *const told[] = {"not a regular file", "not a regular file", NULL, NULL,
		"cannot be read"};
	struct terminal terminal;

	snprintf(path, sizeof path, "%s/hostile/triage", t->scratch);
	make_bad(path, kind);
	terminal_start(&terminal, 24, 160, &s, argv);
	tell(t, terminal_settle(&terminal) && (!told[kind] || shows(&terminal, "", told[kind])),
		"a triage that is %s is told", kinds[kind]);
	tell(t, shows(&terminal, "2tl", told[kind] ? "session_new" : "leak; t u undoes"),
		"and judged all the same");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && terminal_restored(&terminal), "and left");
	terminal_close(&terminal);
}

/* An argument that vi would run. */
static void check_editor_order(struct tests *t)
{
	static const char *const sources[] = {"+!order.c", "-c.c"};
	char program[1024], result[1024], trace[1024], script[4096], wanted_words[64];
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.editor = program,
	};
	char *argv[] = {t->memtui, "open", trace, NULL};
	struct terminal terminal;

	snprintf(program, sizeof program, "%s/vim", t->scratch);
	snprintf(result, sizeof result, "%s/arguments", t->scratch);
	snprintf(script, sizeof script, "#!/bin/sh\nfor a; do echo \"$a\"; done >'%s'\n", result);
	write_file(program, script, 0755);
	for (int i = 0; i < 2; i++) {
		snprintf(trace, sizeof trace, "%s/%s.dat", t->scratch, i ? "dash" : "plus");
		snprintf(script, sizeof script, "%s/%s", t->scratch, sources[i]);
		write_file(script, "int order;\n", 0600);
		snprintf(wanted_words, sizeof wanted_words, "+10\n./%s\n", sources[i]);
		unlink(result);
		terminal_start(&terminal, 24, 80, &s, argv);
		terminal_settle(&terminal);
		bool said = shows(&terminal, "2/session_new\re", "back from");
		char *seen = read_file(result);

		tell(t, said && !strcmp(seen, wanted_words),
			"a source called %s is no option of the editor's", sources[i]);
		if (strcmp(seen, wanted_words))
			printf("==== seen\n%s", seen);
		free(seen);
		terminal_close(&terminal);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"config", "keys", "themes/zz.theme"};
	struct tests t = tests_begin(argc, argv);

	if (!wanted("hostile"))
		return 0;
	for (int kind = 0; kind < KINDS; kind++)
		check_theme(&t, kind);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int kind = 0; kind < KINDS; kind++)
			check_user_file(&t, names[i], kind);
	for (int kind = 0; kind < KINDS; kind++)
		check_triage(&t, kind);
	for (int kind = 0; kind < KINDS; kind++)
		if (kind != 4) /* which is as none */
			check_usual_theme(&t, kind);
	check_editor_order(&t);
	return t.failed != 0;
}
