/* Golden screens of triage: the queue, the keys after t, marks, notes; with a sidecar of fixed
 * times. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time: before the made trace was recorded, so what was fixed then came back; and after it. */
#define BEFORE "1600000000"
#define AFTER "1700600000"

static const struct golden goldens[] = {
	{"triage-popup-80x24", 80, 24, "2jt", 0, 0, 0, 0, 0, 0, 0},
	{"triage-popup-ascii-80x24", 80, 24, "7  t", 0, "C", 0, 0, 0, 0, 0},
	{"triage-note-80x24", 80, 24, "7aowner: ann", 0, 0, 0, 0, 0, 0, 0},
};

/* With the sidecar: its fingerprints are those of the made trace's stacks. */
static const struct golden judged[] = {
	{"triage-100x30", 100, 30, "7j", 0, 0, 0, 0, 0, 0, 0},
	{"triage-80x24", 80, 24, "7", 0, 0, 0, 0, 0, 0, 0},
	{"triage-40x10", 40, 10, "7", 0, 0, 0, 0, 0, 0, 0},
	{"triage-no-color-80x24", 80, 24, "7G ", 0, 0, 0, true, 0, 0, 0},
	{"triage-groups-80x24", 80, 24, "2j  ", 0, 0, 0, 0, 0, 0, 0},
	{"triage-groups-hidden-100x30", 100, 30, "2X", 0, 0, 0, 0, 0, 0, 0},
	{"triage-detail-100x30", 100, 30, "2\r", 0, 0, 0, 0, 0, 0, 0},
	{"triage-detail-40x10", 40, 10, "2\r", 0, 0, 0, 0, 0, 0, 0},
	{"triage-tree-80x24", 80, 24, "3E ", 0, 0, 0, 0, 0, 0, 0},
};

static void set_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (file) {
		fputs(text, file);
		fclose(file);
	}
	setenv("MEMTUI_TRIAGE", path, 1);
}

/* Every key that judges does what its name says; t u takes each back. */
static void check_keys(struct tests *t)
{
	static const struct {
		const char *keys, *there;
	} steps[] = {
		{"2", "[2 Groups]"},
		{"tl", "session_new: leak; t u undoes"},
		{"ti", "session_new: investigating"},
		{"tf", "session_new: fixed"},
		{"tn", "session_new: new"},
		{"tu", "undone: 1 group"},
		{"tu", "undone"},
		{"tu", "undone"},
		{"tu", "undone"},
		{"tu", "nothing to undo"},
		{"tq", "nothing judged"},
		{"  ", "2 marked"},
		{"U", "all marks are cleared"},
		{"U", "nothing is marked"},
		{"gtx", "suppressed, hidden until X"},
		{"X", "suppressed groups are shown"},
		{"X", "suppressed groups are hidden"},
		{"ta", "note> "},
		{"\033", "filter: -"},
		{"Y", "the report of 1 group"},
		{"7gj", "\u25b6 N"},
		{"tl", "\u25b6 N"},
		{"ti", "\u25b6 N"},
		{"G", "\u25b6 I"},
		{"tf", "\u25b6 F"},
	};
	struct terminal terminal;

	setenv("MEMTUI_TRIAGE", "", 1);
	open_trace(t, &terminal, 30, 100, NULL);
	bool ok = terminal_settle(&terminal);

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		terminal_type(&terminal, steps[i].keys);
		ok = terminal_settle(&terminal) && ok;
		char *screen = terminal_text(&terminal);

		tell(t, ok && strstr(screen, steps[i].there), "triage: keys %zu bring '%s'", i,
			steps[i].there);
		if (!strstr(screen, steps[i].there))
			printf("%s\n", screen);
		free(screen);
	}
	/* The mouse: a click on 'f fixed' of the popup. */
	terminal_type(&terminal, "2gt");
	terminal_settle(&terminal);
	terminal_type(&terminal, "\033[<0;30;27M\033[<0;30;27m");
	ok = terminal_settle(&terminal);
	char *screen = terminal_text(&terminal);

	tell(t, ok && strstr(screen, ": fixed; t u undoes"),
		"triage: a click in the box after t judges");
	if (!strstr(screen, ": fixed; t u undoes"))
		printf("%s\n", screen);
	free(screen);
	terminal_close(&terminal);
}

/* Where a group is under the cursor it can be judged, noted and marked, in any view; where none is,
 * the key says so. */
static void check_views(struct tests *t)
{
	static const struct step steps[] = {
		{"in the overview", "Vtl", "session_new: leak; t u undoes", NULL},
		{"which says so", "", "leak", NULL},
		{"a mark there", " ", "1 marked", NULL},
		{"note removed", "U", "all marks are cleared", NULL},
		{"a note there", "aowner: ann\r", "noted", NULL},
		{"in the icicle, all below main", "4gti", "groups: investigating", NULL},
		{"at the end of a path", "Htf", "session_new: fixed", NULL},
		{"a mark there", " ", "1 marked", NULL},
		{"is shown there", "", "\u2713F session_new", NULL},
		{"and judged", "tl", "session_new: leak", NULL},
		{"in the icicle from below", "igjtn", ": new", NULL},
		{"back", "i", "Icicle", NULL},
		{"in blocks", "8", "blocks, 357M", NULL},
		{"which stay there", "tx", ": suppressed; t u undoes", NULL},
		{"undone there", "tu", "undone: 1 group", NULL},
		{"marked there", "  ", "marked", NULL},
		{"and judged", "tl", ": leak", NULL},
		{"the report there", "Y", "the report of", NULL},
		{"of no group", "5t", "t (Triage) works in Groups; 2 shows it", NULL},
	};
	static const struct step compared[] = {
		{"in the difference", "gti", ": investigating", NULL},
		{"undone there", "tu", "undone: 1 group", NULL},
		{"of A alone", "/gone\rtl", "only A has this group: D swaps the traces", NULL},
	};
	char later[1024];

	setenv("MEMTUI_TRIAGE", "", 1);
	check_steps(t, "triage in views", NULL, steps, sizeof steps / sizeof *steps);
	snprintf(later, sizeof later, "%s/later.dat", t->scratch);
	t->second = later;
	check_steps(t, "triage in the difference", NULL, compared,
		sizeof compared / sizeof *compared);
	t->second = NULL;
}

/* The fingerprints of the made trace, as memtui writes them down itself. */
static void make_sidecar(struct tests *t, char *out, size_t len)
{
	static const struct {
		const char *where, *as;
	} lines[] = {
		{"session_new", "fixed\t" BEFORE "\t40000000"},
		{"arena_grow", "suppressed\t" AFTER "\t16777216"},
		{"json_node_alloc", "investigating\t" AFTER "\t6000000"},
		{"strdup_name", "leak\t" AFTER "\t1100000"},
	};
	char path[1024], line[1024], print[32];
	struct terminal terminal;
	size_t used = 0;

	snprintf(path, sizeof path, "%s/all.triage", t->scratch);
	unlink(path);
	setenv("MEMTUI_TRIAGE", path, 1);
	open_trace(t, &terminal, 30, 100, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "3tl"); /* the whole tree below main */
	terminal_settle(&terminal);
	terminal_close(&terminal);
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof line, file))
		for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
			char name[64];

			snprintf(name, sizeof name, "\t%s\t", lines[i].where);
			if (*line != '#' && strstr(line, name) && sscanf(line, "%16s", print) == 1)
				used += (size_t)snprintf(out + used, len - used, "%s\t%s\t%s\t%s\n",
					print, lines[i].as, lines[i].where,
					i == 2 ? "the error path returns before json_free" : "");
		}
	if (file)
		fclose(file);
	tell(t, used > 0, "triage: a branch of the tree judges what is below it");
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);
	char path[1024], sidecar[2048] = "";

	setenv("MEMTUI_TRIAGE", "", 1);
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	make_sidecar(&t, sidecar, sizeof sidecar);
	for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
		snprintf(path, sizeof path, "%s/judged.triage", t.scratch);
		set_file(path, sidecar);
		check_golden(&t, &judged[i]);
	}
	check_views(&t);
	if (wanted("triage"))
		check_keys(&t);
	return t.failed != 0;
}
