/* Settings, columns, signals, what a session leaves for the next. Arguments as screens_test. */
#include "comfort.h"

#include <dirent.h>

/* ---- the file ---- */

static void check_config(struct tests *t)
{
	static const char lines[] =
		"# mine\ntheme = light # bright room\nsrot "
		"= size\nsort=allocated_count\norder = asc\n"
		"refresh = fast\nmouse off\ncolumns = "
		"allocated_count at_peak_size size\n\nascii = always\n";
	char directory[1024], command[4096], path[1100];
	struct settings s = {.config = directory};
	struct terminal terminal;

	user_file(t, directory, "settings", "config", lines);
	snprintf(path, sizeof path, "%s/memtui/config", directory);
	snprintf(command, sizeof command, "XDG_CONFIG_HOME='%s' '%s' help config 2>&1", directory,
		t->memtui);
	tell(t, prints(command, "\ntheme = light\n", 1), "help config tells what is set");
	tell(t, prints(command, "config:3: unknown setting 'srot'; did you mean 'sort'?\n", 1),
		"an unknown setting is told by line");
	tell(t,
		prints(command,
			"config:6: refresh: invalid value 'fast'; expected 50..60000 or auto\n", 1),
		"so is a wrong value");
	tell(t, prints(command, "config:7: invalid line 'mouse off'; expected NAME = VALUE\n", 1),
		"so is a line without =");
	start(t, &terminal, &s);
	tell(t,
		shows(&terminal, "",
			"config:3: unknown setting 'srot'; did you mean 'sort'? (and 2 more)"),
		"the screen says so too");
	tell(t, shows(&terminal, "2", "ALLOCS^    %   AT PEAK ALLOCATED"),
		"columns, order and ASCII are those of the file");
	tell(t, shows(&terminal, "\033OQ", "allocated_count"), "F2 shows the settings");
	tell(t, shows(&terminal, "jjj\r", "desc"), "Enter changes one");
	tell(t, shows(&terminal, "jjj\033[D", "off  "), "so does Left");
	tell(t, shows(&terminal, "j\rjoe -x\r", "joe -x"), "what is typed is taken");
	tell(t, shows(&terminal, "w", "settings saved in"), "w says where they are kept");
	tell(t, shows(&terminal, "\033", "ALLOCSv"), "the change holds in the view");
	char *kept = read_file(path);

	tell(t,
		!strcmp(kept,
			"# mine\ntheme = light # bright room\nsrot = size\nsort=allocated_count\n"
			"order = desc\n"
			"refresh = auto\nmouse off\ncolumns = allocated_count at_peak_size size\n\n"
			"ascii = always\nmouse = off\neditor = joe -x\n"),
		"the file keeps its comments and other lines");
	if (!strstr(kept, "joe"))
		printf("==== kept\n%s", kept);
	free(kept);
	terminal_close(&terminal);
	unlink(path);
	start(t, &terminal, &s);
	tell(t,
		shows(&terminal, "Tj\r", "F2, then w, saves it")
			&& shows(&terminal, "\033OQw", "settings saved"),
		"T picks a theme, F2 keeps it");
	kept = read_file(path);
	tell(t, !strncmp(kept, "theme = ", 8) && strchr(kept, '\n') == kept + strlen(kept) - 1,
		"in a file that has nothing else");
	free(kept);
	terminal_close(&terminal);
}

/* Two at once, each with changes of its own. */
static void check_shared_config(struct tests *t)
{
	char directory[1024], path[1100];
	struct settings s = {.config = directory};
	struct terminal first, second;

	user_file(t, directory, "shared", "config", "theme = light\norder = asc\n");
	snprintf(path, sizeof path, "%s/memtui/config", directory);
	start(t, &first, &s);
	start(t, &second, &s);
	tell(t,
		shows(&first, "\033OQjjj\rw", "settings saved")
			&& shows(&second, "\033OQjjjjjj\rw", "settings saved"),
		"two memtuis save their settings");
	char *kept = read_file(path);

	tell(t, !strcmp(kept, "theme = light\norder = desc\nmouse = off\n"),
		"what one did not change it leaves to the other");
	if (!strstr(kept, "mouse"))
		printf("==== kept\n%s", kept);
	free(kept);
	terminal_close(&first);
	terminal_close(&second);
}

/* ---- columns ---- */

static void check_columns(struct tests *t)
{
	struct settings s = {.config = NULL};
	struct terminal terminal;

	start(t, &terminal, &s);
	tell(t, shows(&terminal, "2c", "Columns of the groups"), "c opens the columns");
	tell(t, shows(&terminal, "j >\033", "LEAKED▼    %    ALLOCS ALLOCATED"),
		"Space hides one, > moves one");
	tell(t, shows(&terminal, "cG\rgg\r\033", "ALLOCS ALLOCATED"),
		"the first can be hidden, the last be shown");
	tell(t, shows(&terminal, "s\r", "LEAKED▼"), "the sorted metric is always there");
	tell(t, shows(&terminal, "cr\033", "LEAKED▼    %    BLOCKS ALLOCATED"),
		"r goes back to those that fit");
	tell(t,
		shows(&terminal, "c", "[2]  BLOCKS")
			&& shows(&terminal, "\033[<0;30;4M", "[ ]  BLOCKS"),
		"a click hides one");
	tell(t, shows(&terminal, "qc\033[<0;30;5M", "Columns of"),
		"clicks on what is behind a menu do nothing");
	terminal_close(&terminal);
}

/* ---- a running program ---- */

static void check_live(struct tests *t)
{
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
	};
	char program[1024];
	char *argv[] = {t->memtui, "run", program, NULL};
	struct terminal terminal;

	snprintf(program, sizeof program, "%s/traps", t->scratch);
	write_file(program,
		"#!/bin/sh\ntrap 'echo got USR1' USR1\ntrap "
		"'echo got TERM; exit 7' TERM\necho ready\n"
		"while :; do read line || sleep 0.05; done\n",
		0755);
	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_settle(&terminal);
	terminal_type(&terminal, "O");
	tell(t, terminal_wait_text(&terminal, "ready"), "the program runs");
	terminal_type(&terminal, "5");
	terminal_wait_text(&terminal, "at the cursor");
	terminal_type(&terminal, "gv\r");
	tell(t, terminal_wait_text(&terminal, "R clears it"),
		"a range of a running program is a filter");
	terminal_type(&terminal, "OK");
	tell(t, terminal_wait_text(&terminal, "Send a signal to traps"),
		"K opens the menu of signals");
	terminal_type(&terminal, "jjj\r");
	tell(t,
		terminal_wait_text(&terminal, "got USR1")
			&& terminal_wait_text(&terminal, "sent SIGUSR1"),
		"Enter sends one");
	terminal_type(&terminal, "KG\r");
	tell(t, terminal_wait_text(&terminal, "Press Enter again to kill"),
		"KILL is asked for twice");
	terminal_type(&terminal, "j");
	tell(t, terminal_wait_text(&terminal, "Send a signal to"), "and forgotten by another key");
	terminal_type(&terminal, "g\r");
	tell(t, terminal_wait_text(&terminal, "program exited (7)"), "TERM ends it");
	terminal_type(&terminal, ":signal\r");
	tell(t, terminal_wait_text(&terminal, "only while the program is running"),
		"an ended program gets none");
	terminal_type(&terminal, "V+");
	tell(t, terminal_wait_text(&terminal, "every 200 ms"), "+ draws more often");
	terminal_type(&terminal, "--");
	tell(t, terminal_wait_text(&terminal, "every 500 ms"), "- less often");
	terminal_type(&terminal, "Qd");
	tell(t, terminal_wait_end(&terminal), "and memtui ends");
	terminal_close(&terminal);
}

/* ---- what a visit leaves ---- */

/* Starts on a real recording, types, and says whether text is there; then types the end. */
static bool visit(struct tests *t, const struct settings *given, const char *option,
	const char *keys, const char *text, const char *end)
{
	struct settings s = *given;
	struct terminal terminal;
	char trace[1024];
	char *argv[] = {t->memtui, "open", trace, (char *)option, NULL};

	s.term = "xterm-256color";
	s.locale = "C.UTF-8";
	s.directory = t->scratch;
	snprintf(trace, sizeof trace, "%s/fields.dat", t->scratch);
	terminal_start(&terminal, 24, 100, &s, argv);
	terminal_settle(&terminal);
	bool good = shows(&terminal, keys, text);

	terminal_type(&terminal, end);
	good = terminal_wait_end(&terminal) && good;
	terminal_close(&terminal);
	return good;
}

static int count_files(const char *path)
{
	DIR *listing = opendir(path);
	int count = 0;

	for (struct dirent *entry; listing && (entry = readdir(listing));)
		count += entry->d_name[0] != '.';
	if (listing)
		closedir(listing);
	return count;
}

/* Views of other programs, as many as are kept. */
static void fill(const char *path)
{
	char file[1200];

	for (int i = 0; i < 200; i++) {
		snprintf(file, sizeof file, "%s/%040x", path, i);
		write_file(file, "view = tree\n", 0600);
	}
}

static void check_restore(struct tests *t)
{
	char directory[1024], path[1100];
	struct settings s = {.config = directory};

	user_file(t, directory, "left", "config", "");
	snprintf(path, sizeof path, "%s/memtui/view", directory);
	tell(t, visit(t, &s, NULL, "2", "[2 Groups]", "1Q") && access(path, F_OK) < 0,
		"a visit that changed nothing leaves nothing");
	tell(t, visit(t, &s, NULL, "3i\\site_\r", "filter: site_", "Q"),
		"a view, a filter, an order");
	tell(t, access(path, F_OK) == 0, "are left in a file");
	tell(t, visit(t, &s, NULL, "", "last view restored; F5 resets it", "Q"),
		"the next visit says that it begins with them");
	tell(t, visit(t, &s, NULL, "j", "filter: site_", "Q"), "the filter is there");
	tell(t, visit(t, &s, NULL, "j", "[3Tree]", "Q"), "so is the view");
	tell(t, visit(t, &s, "--fresh", "j", "[1 Main]", "2\\main\rQ"),
		"--fresh begins with the main view");
	tell(t,
		visit(t, &s, NULL, "j", "filter: site_", "Q")
			&& visit(t, &s, NULL, "j", "[3Tree]", "Q"),
		"and leaves the saved view as it was");
	tell(t, visit(t, &s, "--filter=main", "j", "filter: main", "\\\025site_\rQ"),
		"a filter on the command line wins");
	tell(t, visit(t, &s, NULL, "\033[15~", "folds were reset", "Q"), "F5 goes back");
	tell(t, visit(t, &s, NULL, "j", "[1 Main]", "Q"), "and stays so");
	tell(t,
		visit(t, &s, NULL, "2", "[2 Groups]", "Q")
			&& visit(t, &s, NULL, "", "last view restored", "Q"),
		"a view alone is left too");
	tell(t, visit(t, &s, NULL, "3h", "▸", "Q") && visit(t, &s, NULL, "", "▸", "Q"),
		"so are folds");
	fill(path);
	tell(t, visit(t, &s, NULL, "2", "[2 Groups]", "Q") && count_files(path) == 200,
		"of 200 programs at the most views are kept");
	snprintf(path, sizeof path, "%s/fields.dat", t->scratch);
	tell(t, visit(t, &s, NULL, "0", "Log]", "Q") && visit(t, &s, path, "", "[6 Diff]", "Q"),
		"two traces begin with what changed between them");
	user_file(t, directory, "left", "config", "restore = off\n");
	tell(t, visit(t, &s, NULL, "", "[1 Main]", "Q"), "the setting restore = off begins anew");
}

static const struct golden goldens[] = {
	{"setup-100x30", 100, 30, "2\033OQ", 0, 0, 0, 0, 0, 0, 0},
	{"setup-80x24", 80, 24, "2\033OQj", 0, 0, 0, 0, 0, 0, 0},
	{"setup-40x10", 40, 10, "2\033OQj", 0, 0, 0, 0, 0, 0, 0},
	{"setup-wrapper-80x24", 80, 24, "2\033OQjjjjjjjjjj\r^session_new$\rq", 0, 0, 0, 0, 0, 0, 0},
	{"columns-80x24", 80, 24, "2cj j>", 0, 0, 0, 0, 0, 0, 0},
	{"columns-chosen-100x30", 100, 30, "2c jjj q", 0, 0, 0, 0, 0, 0, 0},
};

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("config")) {
		check_config(&t);
		check_shared_config(&t);
	}
	if (wanted("columns"))
		check_columns(&t);
	if (wanted("signals"))
		check_live(&t);
	if (wanted("restore"))
		check_restore(&t);
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	return t.failed != 0;
}
