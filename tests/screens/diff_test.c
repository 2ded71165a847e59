/* The difference: of two traces, of two moments of one, and of a program that runs. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Of two traces. */
static const struct golden goldens[] = {
	GOLDEN("diff-100x30", 100, 30, ""),
	GOLDEN("diff-80x24", 80, 24, "jj"),
	GOLDEN("diff-40x10", 40, 10, "j"),
	GOLDEN("diff-same-80x24", 80, 24, "=G"),
	GOLDEN("diff-swapped-80x24", 80, 24, "jD"),
	GOLDEN("diff-gone-80x24", 80, 24, "/GONE\r\r"),
	GOLDEN("diff-filtered-80x24", 80, 24, "\\source:json|journal\r"),
	GOLDEN("diff-nothing-80x24", 80, 24, "\\session_new\r"),
	GOLDEN("diff-metric-80x24", 80, 24, ">r"),
	GOLDEN("diff-group-80x24", 80, 24, "j\r"),
	{"diff-no-color-80x24", 80, 24, "=", 0, 0, 0, true, 0, 0, 0},
};

/* The program allocates when it is told to: what it does between two snapshots is known. */
static void check_live(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-f", "-o", "live-diff.dat", "--", "./keeps", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	tell(t, terminal_wait_text(&terminal, "LIVE"), "a program runs");
	check_answer(t, &terminal, "6", "Nothing to compare yet",
		"before the first snapshot the screen says what to do");
	check_answer(t, &terminal, "=", "nothing to compare yet", "and so do its keys");
	terminal_type(&terminal, "O\r\r");
	terminal_wait_text(&terminal, "kept 1");
	terminal_type(&terminal, "\035");
	check_answer(t, &terminal, "2", "2.9M", "a program allocates");
	check_answer(t, &terminal, "S", "S1 holds the totals", "S takes a snapshot");
	check_answer(t, &terminal, "6", "nothing changed", "at first nothing changed");
	terminal_type(&terminal, "O\r\r");
	check_answer(t, &terminal, "", "kept 2", "the program allocates");
	check_answer(t, &terminal, "\0356", "+2.9M", "what it allocated since is on top");
	check_answer(t, &terminal, "", "1>2  +    ", "with its blocks and where it was");
	check_answer(t, &terminal, "", "1 worse  0 better", "and the total below");
	terminal_type(&terminal, "S");
	check_answer(t, &terminal, "d", "the baseline is S2, the totals at",
		"d takes the next snapshot as the baseline");
	check_answer(t, &terminal, "", "A S2 at", "which is said");
	check_answer(t, &terminal, "", "nothing changed", "and nothing changed since");
	check_answer(t, &terminal, "dD", "-2.9M", "D compares the other way round");
	check_answer(t, &terminal, "D\r", "size", "Enter opens the group");
	check_answer(t, &terminal, "2d", "6 shows what changes from then on",
		"elsewhere d says where to look");
	terminal_type(&terminal, "Q");
	terminal_wait_text(&terminal, "still runs");
	terminal_type(&terminal, "e");
	tell(t, terminal_wait_end(&terminal), "and the session ends");
	terminal_close(&terminal);
}

/* Of one saved trace: what was live at one moment against another, found by filters. */
static void check_moments(struct tests *t)
{
	struct terminal terminal;

	open_trace(t, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "5llllllllllllllllllllllllllllla");
	terminal_settle(&terminal);
	check_answer(t, &terminal, "S", "S1 holds the totals at", "a snapshot of a moment");
	terminal_type(&terminal, "llllllllllllllllllllllllla");
	terminal_settle(&terminal);
	check_answer(t, &terminal, "S", "S2 holds the totals at", "and of another");
	check_answer(t, &terminal, "", "S1\xe2\x94\x80", "both are marked below the graph");
	check_answer(t, &terminal, "6", "bytes live", "compared by what was live");
	terminal_settle(&terminal);
	char *screen = terminal_text(&terminal);

	tell(t,
		strstr(screen, "session_new") && strstr(screen, " 0 better")
			&& strstr(screen, "A S1 at 41"),
		"the later one has more");
	if (!strstr(screen, " 0 better"))
		printf("%s\n", screen);
	free(screen);
	terminal_close(&terminal);
}

/* What memtui says where a trace cannot be compared. */
static void check_refused(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char damaged[1024], none[1024];
	char *argv[] = {t->memtui, "open", damaged, t->trace, NULL};
	char *missing[] = {t->memtui, "open", none, t->trace, NULL};
	struct terminal terminal;
	FILE *file;

	snprintf(damaged, sizeof damaged, "%s/damaged.dat", t->scratch);
	snprintf(none, sizeof none, "%s/none.dat", t->scratch);
	file = fopen(damaged, "w");
	if (file) {
		fputs("this is no trace at all\n", file);
		fclose(file);
	}
	terminal_start(&terminal, 24, 80, &s, argv);
	check_answer(t, &terminal, "", "damaged.dat", "a file that is no trace is named");
	check_answer(t, &terminal, "2", "json_node_alloc", "and the other trace can be looked at");
	terminal_type(&terminal, "Q");
	terminal_wait_end(&terminal);
	terminal_close(&terminal);
	terminal_start(&terminal, 24, 80, &s, missing);
	tell(t, terminal_wait_end(&terminal) && WEXITSTATUS(terminal.status) == 1,
		"a missing trace is refused before the screen opens");
	terminal_close(&terminal);
}

/* A trace beside itself: what the built-in rules hide is in neither, so nothing has changed. */
static void check_suppressed(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "open", "fields.dat", "fields.dat", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	check_answer(t, &terminal, "", "suppressed (X)", "built-in rules hide groups");
	check_answer(t, &terminal, "", "nothing changed", "and hide them in both traces");
	check_answer(t, &terminal, "D", "A is now", "the traces are swapped");
	check_answer(t, &terminal, "D", "A is now", "and swapped back");
	check_answer(t, &terminal, "X", "suppressed groups are shown", "X shows what is hidden");
	check_answer(t, &terminal, "", "nothing changed", "and shows it in both traces");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal), "the screen ends");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv), of = t;
	char later[1024];

	snprintf(later, sizeof later, "%s/later.dat", t.scratch);
	of.second = later;
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&of, &goldens[i]);
	t.failed = of.failed;
	if (wanted("mouse")) {
		check_moments(&t);
		check_refused(&t);
		check_suppressed(&t);
	}
	if (wanted("live"))
		check_live(&t);
	return t.failed != 0;
}
