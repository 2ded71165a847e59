/* The log: its golden screens, and what it tells of a program that runs. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct golden goldens[] = {
	GOLDEN("log-100x30", 100, 30, "0"),
	GOLDEN("log-80x24", 80, 24, "0jjj"),
	GOLDEN("log-40x10", 40, 10, "0G"),
	GOLDEN("log-follow-80x24", 80, 24, "0F"),
	GOLDEN("log-search-80x24", 80, 24, "0/answered\rnn"),
};

/* What is said while the log is seen, and what the recorder notes, stand at its end, which is
 * followed. */
static void check_live(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "--", "/bin/sh", "-c", "echo ready; read x; exit 5",
		NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_wait_text(&terminal, "LIVE");

	terminal_type(&terminal, "0");
	ok = ok && terminal_wait_text(&terminal, "begin   process")
		&& terminal_wait_text(&terminal, "the newest line");
	terminal_type(&terminal, "P");
	ok = ok && terminal_wait_text(&terminal, "memtui  recording paused")
		&& terminal_wait_text(&terminal, "pause   recording paused");
	terminal_type(&terminal, "P");
	ok = ok && terminal_wait_text(&terminal, "resume  recording resumed");
	tell(t, ok, "the log of a program that runs tells of pauses");
	terminal_type(&terminal, "O\rx\r\035");
	ok = ok && terminal_wait_text(&terminal, "program exited (5)");
	terminal_type(&terminal, "0");
	ok = ok && terminal_wait_text(&terminal, "end     process")
		&& terminal_wait_text(&terminal, "memtui  program exited (5)");
	tell(t, ok, "and of its end");
	if (!ok) {
		char *screen = terminal_text(&terminal);

		printf("%s\n", screen);
		free(screen);
	}
	terminal_type(&terminal, "Q");
	terminal_wait_text(&terminal, "Keep the recording?");
	terminal_type(&terminal, "d");
	terminal_wait_end(&terminal);
	terminal_close(&terminal);
}

static const struct golden small = {.columns = 80, .rows = 24};

static const struct step steps[] = {
	{"0 turns to it", "0", "TIME WHAT", NULL},
	{"a click selects a line", "\033[<0;30;8M\033[<0;30;8m", "▶  20.00s pause", NULL},
	{"which stays when others come", "T\r", "▶  20.00s pause", NULL},
	{"behind the last", "G", "memtui  theme: ", NULL},
};

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);
	char trace[1024];

	snprintf(trace, sizeof trace, "%s/log.dat", t.scratch);
	t.trace = trace;
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	check_steps(&t, "log", &small, steps, sizeof steps / sizeof *steps);
	if (wanted("live"))
		check_live(&t);
	return t.failed != 0;
}
