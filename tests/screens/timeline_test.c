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

static const struct golden small = {.columns = 80, .rows = 24};

static const struct step steps[] = {
	{"m draws the next", "5m", "showing live blocks", NULL},
	{"and begins anew after the last", "mmmmm", "showing live bytes", NULL},
	{"a click on a name draws it", "\033[<0;42;3M\033[<0;42;3m", "   2315", NULL},
	{"n goes to the first marker of the program", "=n", "marker: configuration is read", NULL},
	{"n goes on to the pause", "n", "recording paused", NULL},
	{"N goes back, and around, to the peak", "NN", "peak 83.9M", NULL},
	{"marks are ends of ranges too", "vN", "selected", NULL},
	{"which are applied", "\r", "filter: from:", NULL},
	{"B draws graphs with blocks", "RB", "graphs are drawn with blocks", NULL},
	{"and with braille again", "BB", "graphs are drawn with braille", NULL},
};

static const struct step unmarked[] = {
	{"zoomed and whole", "5+++=", "at the cursor", NULL},
	{"where nothing is marked, that is said", "g+++++n", "there are no marks", NULL},
};

/* Of a clock whose rate is not known, all times are estimates but the beginning. */
static void check_estimates(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", "C.UTF-8", t->source};
	struct terminal terminal;
	char path[1024];
	char *argv[] = {t->memtui, "open", path, NULL};

	snprintf(path, sizeof path, "%s/clockless.dat", t->scratch);
	terminal_start(&terminal, 24, 80, &s, argv);
	check_answer(t, &terminal, "5", " ~50.00s ", "the middle of the graph is an estimate");
	char *screen = terminal_text(&terminal);

	tell(t, strstr(screen, "~1m40s\n") && strstr(screen, " 0s ") && !strstr(screen, "~0s"),
		"so is its end, and its beginning is none");
	free(screen);
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal), "the screen closes");
	terminal_close(&terminal);
	open_trace(t, &terminal, 24, 80, NULL);
	check_answer(t, &terminal, "5", " 50.00s ", "times of a good clock are none");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal), "and so does that one");
	terminal_close(&terminal);
}

/* A running program: its markers come as they are set, and a pause is seen while it goes on. */
static void check_live(struct tests *t)
{
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
	};
	char *argv[] = {t->memtui, "run", "--", "/bin/sh", "-c", "while :; do sleep 0.1; done",
		NULL};
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
	terminal_type(&terminal, "d");
	tell(t, ok && terminal_wait_end(&terminal) && WIFEXITED(terminal.status),
		"timeline: and the session ends");
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
	check_steps(&t, "timeline", &small, steps, sizeof steps / sizeof *steps);
	check_steps(&t, "timeline", &small, unmarked, sizeof unmarked / sizeof *unmarked);
	if (wanted("estimates"))
		check_estimates(&t);
	if (wanted("live"))
		check_live(&t);
	return t.failed != 0;
}
