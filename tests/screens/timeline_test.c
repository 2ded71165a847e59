/* The timeline: what is drawn, with what, and what is marked on it. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const struct golden goldens[] = {
	GOLDEN("time-blocks-100x30", 100, 30, "5m"),
	GOLDEN("time-allocations-80x24", 80, 24, "5mm"),
	GOLDEN("time-frees-80x24", 80, 24, "5mmm"),
	GOLDEN("time-growth-80x24", 80, 24, "5mmmm"),
	GOLDEN("time-resident-80x24", 80, 24, "5mmmmm"),
	GOLDEN("time-resident-40x10", 40, 10, "5mmmmm"),
	GOLDEN("time-marker-100x30", 100, 30, "5n"),
	GOLDEN("time-pause-80x24", 80, 24, "5nn"),
	GOLDEN("time-losses-80x24", 80, 24, "5NN"),
	GOLDEN("time-peak-80x24", 80, 24, "5N"),
	GOLDEN("time-peak-40x10", 40, 10, "5N"),
	GOLDEN("time-block-graph-80x24", 80, 24, "5B"),
	GOLDEN("time-ascii-graph-80x24", 80, 24, "5BB"),
	{"time-block-graph-range-80x24", 80, 24, "5Bm\\size>=1k\r", 0, 0, 0, 0, "5", 0, 0},
	{"time-c-80x24", 80, 24, "5nnB", 0, "C", 0, 0, 0, 0, 0},
	{"time-no-color-80x24", 80, 24, "5nm", 0, 0, 0, true, 0, 0, 0},
};

static void check(struct tests *t, struct terminal *terminal, const char *keys, const char *there, const char *name)
{
	terminal_type(terminal, keys);
	bool good = terminal_settle(terminal);
	char *screen = terminal_text(terminal);

	good = good && strstr(screen, there);
	tell(t, good, "timeline: %s", name);
	if (!good)
		printf("wanted: %s\n%s", there, screen);
	free(screen);
}

static void check_keys(struct tests *t)
{
	struct terminal terminal;

	open_trace(t, &terminal, 24, 80, NULL);
	check(t, &terminal, "5m", "drawn: live blocks", "m draws the next");
	check(t, &terminal, "mmmmm", "drawn: live bytes", "and begins anew after the last");
	check(t, &terminal, "\033[<0;42;3M\033[<0;42;3m", "   2315", "a click on a name draws it");
	check(t, &terminal, "=n", "marker: configuration is read", "n goes to the first marker of the program");
	check(t, &terminal, "n", "recording paused", "n goes on to the pause");
	check(t, &terminal, "NN", "peak 83.9M", "N goes back, and around, to the peak");
	check(t, &terminal, "vN", "selected", "marks are ends of ranges too");
	check(t, &terminal, "\r", "filter: from:", "which are applied");
	check(t, &terminal, "RB", "graphs are drawn with blocks", "B draws graphs with blocks");
	check(t, &terminal, "BB", "graphs are drawn with braille", "and with braille again");
	terminal_close(&terminal);
}

static void check_unmarked(struct tests *t)
{
	struct terminal terminal;

	open_trace(t, &terminal, 24, 80, NULL);
	check(t, &terminal, "5+++=", "at the cursor", "zoomed and whole");
	check(t, &terminal, "g+++++n", "nothing is marked", "where nothing is marked, that is said");
	terminal_close(&terminal);
}

/* A running program: its markers come as they are set, and a pause is seen while it goes on. */
static void check_live(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->scratch, .cache = t->scratch};
	char *argv[] = {t->memtui, "run", "--", "/bin/sh", "-c", "while :; do sleep 0.1; done", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_wait_text(&terminal, "LIVE");

	terminal_type(&terminal, "5P");
	ok = ok && terminal_wait_text(&terminal, "PAUSED") && terminal_wait_text(&terminal, "╍╍");
	tell(t, ok, "timeline: a pause is seen while it goes on");
	terminal_type(&terminal, "P");
	ok = ok && terminal_wait_text(&terminal, " LIVE ");
	terminal_type(&terminal, "Q");
	ok = ok && terminal_wait_text(&terminal, "still runs");
	terminal_type(&terminal, "e");
	tell(t, ok && terminal_wait_end(&terminal) && WIFEXITED(terminal.status), "timeline: and the session ends");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);
	char path[1024];

	snprintf(path, sizeof path, "%s/log.dat", t.scratch);
	t.trace = path;
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	if (wanted("timeline")) {
		check_keys(&t);
		check_unmarked(&t);
		check_live(&t);
	}
	return t.failed != 0;
}
