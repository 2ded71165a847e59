/* A session whose program has ended: what only events tell is known from its trace then, in
 * place. */
#include "screens.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void check_ended(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-f", "-o", "ended.dat", "--", "./keeps", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 30, 100, &s, argv);
	terminal_wait_text(&terminal, "LIVE");
	check_answer(t, &terminal, "O\r\r", "kept 1", "a program allocates");
	check_answer(t, &terminal, "\0358", "live     2.9M", "its blocks are listed while it runs");
	check_answer(t, &terminal, "", " 3 blocks, 2.9M", "with those of its output");
	check_answer(t, &terminal, "O\r\r", "kept 2", "it allocates once more");
	check_answer(t, &terminal, "\0358", " 4 blocks, 5.7M", "and the list has one block more");
	check_answer(t, &terminal, "\\lifetime:only_leaked size>=1M thread:keeps\r",
		" 2 blocks, 5.7M", "a filter asks for single blocks");
	check_answer(t, &terminal, "2", " 5.7M 100.0 ", "and its groups are what matches");
	check_answer(t, &terminal, "O\r\r", "kept 3", "it allocates again");
	check_answer(t, &terminal, "\0352", " 8.6M 100.0 ", "and what matches grows");
	check_answer(t, &terminal, "p", "view frozen", "a picture that stands still");
	check_answer(t, &terminal, "\\ size<9M\r", "but the screen is frozen",
		"does not ask the program");
	check_answer(t, &terminal, "\033p\\\025\r", "LIVE", "and goes on");
	check_answer(t, &terminal, "2\033OH", "\xe2\x96\x8c keep_one", "its group is listed");
	check_answer(t, &terminal, "\r", " size 2.9M each", "the detail names one size once");
	check_answer(t, &terminal, "O\r\004", "program exited (0)", "it ends");
	check_answer(t, &terminal, "8", "live     2.9M", "and its blocks are listed");
	check_answer(t, &terminal, "2\r", " threads keeps 8.6M live from 3 calls",
		"the detail knows threads");
	check_answer(t, &terminal, "",
		" size    2.0M\xe2\x96\x88"
		"3",
		"and sizes");
	check_answer(t, &terminal, "\\lifetime:only_leaked size>=1M\r", "1/",
		"and filters ask for single blocks of its trace");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && !terminal.status,
		"the session ends with the program's status");
	terminal_close(&terminal);
}

/* What the program has lost all pointers to, while it runs. */
static void check_lost(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-f", "-o", "lost.dat", "--", "./loses", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_wait_text(&terminal, "LIVE");
	check_answer(t, &terminal, "O\r\r", "lost 1", "a program loses a block");
	check_answer(t, &terminal, "\0352\\function:lose_one\r", "\xe2\x96\x8c lose_one",
		"its group is listed");
	check_answer(t, &terminal, "!", "2.9k in 1 block lost, 0B possibly lost; ",
		"a leak check finds it");
	check_answer(t, &terminal, "\033OH\r", " verdict definitely lost 2.9k in 1 block; at ",
		"and the group's detail says so");
	check_answer(t, &terminal, "O\r\r", "lost 2", "it loses another one");
	check_answer(t, &terminal, "\0352!", "5.9k in 2 blocks lost", "the next one finds both");
	check_answer(t, &terminal, "O\r\004", "program exited (0)", "it ends");
	check_answer(t, &terminal, "2\033OH\r", " verdict definitely lost 5.9k in 2 blocks; at ",
		"and its trace has what was found");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && !terminal.status, "the session ends");
	terminal_close(&terminal);
}

/* With more groups than samples are taken of, while it runs. */
static void check_many(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-f", "-o", "many.dat", "--", "./many", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_wait_text(&terminal, "LIVE");
	terminal_type(&terminal, "O");
	terminal_wait_text(&terminal, "made");
	check_answer(t, &terminal, "V", "~ estimates, too many groups to sample (over 100k)",
		"the overview says that scores are estimates, and why");
	check_answer(t, &terminal, "2L", "(~ estimates): too many groups",
		"and so does the order by them");
	check_answer(t, &terminal, "\r", " trend  too many groups to sample (over 100k)",
		"and the detail");
	check_answer(t, &terminal, "O\r\004", "program exited (0)", "it ends");
	check_answer(t, &terminal, "V", "suspected leaks: score of 100, growth",
		"and then they are exact");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && !terminal.status, "the session ends");
	terminal_close(&terminal);
}

/* The recording ends, the program does not: it can be talked to, and is asked about at the end. */
static void check_stopped(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-f", "-o", "stopped.dat", "--duration", "0.5", "--",
		"./keeps", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_wait_text(&terminal, "recording ended; the program keeps running");
	check_answer(t, &terminal, "", "STOPPED", "a recording that ended is not a program's end");
	check_answer(t, &terminal, "0", "end     the recording of process",
		"its log has the recording's end");
	check_answer(t, &terminal, "O\r\r", "kept 1", "the program still has its terminal");
	check_answer(t, &terminal, "\035Q", "keep it running (no longer recorded)",
		"leaving asks about it");
	terminal_type(&terminal, "e");
	tell(t, terminal_wait_end(&terminal) && WEXITSTATUS(terminal.status) == 128 + SIGTERM,
		"and can end it instead of waiting for it");
	terminal_close(&terminal);
	argv[1] = "open", argv[2] = "stopped.dat", argv[3] = NULL;
	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_wait_text(&terminal, "memtui  ./keeps");
	check_answer(t, &terminal, "9", " stopped ", "the list of processes says so");
	check_answer(t, &terminal, "", " live 2.0k in 2 blocks", "and that nothing has leaked");
	terminal_type(&terminal, "Q");
	terminal_wait_end(&terminal);
	terminal_close(&terminal);
}

/* The program ends while it is asked what becomes of it: the question stays, with what there is
 * left to choose, and what was about to be typed means nothing else. */
static void check_asked(struct tests *t, const char *output, const char *key, bool kept)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *named[] = {t->memtui, "run", "-f", "-o", "asked.dat", "--", "./keeps", NULL};
	char *unnamed[] = {t->memtui, "run", "--", "./keeps", NULL};
	struct terminal terminal;
	char path[1024], command[4096];
	int pid = 0;

	snprintf(path, sizeof path, "%s/memtui_keeps_*.dat", t->scratch);
	terminal_start(&terminal, 24, 80, &s, output ? named : unnamed);
	terminal_wait_text(&terminal, "LIVE");
	check_answer(t, &terminal, "O\r\r", "kept 1", "a program that is recorded");
	check_answer(t, &terminal, "\035Q", "The program still runs", "leaving asks about it");
	char *screen = terminal_text(&terminal), *at = strstr(screen, "pid ");

	if (at)
		pid = atoi(at + 4);
	free(screen);
	tell(t, pid > 1 && kill(pid, SIGTERM) == 0, "it is ended from elsewhere");
	check_answer(t, &terminal, "", output ? "The program has ended" : "Keep the recording?",
		"the question says so, and what is left to choose");
	terminal_type(&terminal, key);
	tell(t, terminal_wait_end(&terminal) && WEXITSTATUS(terminal.status) == 128 + SIGTERM,
		"%s ends the screen, with the program's status", *key == '\r' ? "Enter" : key);
	snprintf(command, sizeof command, "ls %s >/dev/null 2>&1 && rm -f %s", path, path);
	tell(t, (system(command) == 0) == kept, "the trace without a name is %s",
		kept             ? "saved"
			: output ? "none"
				 : "gone");
	terminal_close(&terminal);
}

/* A trace that cannot be written: said on the screen, not only after it. */
static void check_full(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-o", "/dev/full", "--", "./keeps", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	check_answer(t, &terminal, "", "cannot write to /dev/full: No space left",
		"a full disk is said at once");
	check_answer(t, &terminal, "0", "INCOMPLETE", "and the title says so, too");
	check_answer(t, &terminal, "O\r\004", "program exited (0)",
		"the program goes on to its end");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && terminal.status, "the session fails");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("live")) {
		check_ended(&t);
		check_lost(&t);
		check_stopped(&t);
		check_full(&t);
		check_many(&t);
	}
	if (wanted("asked")) {
		check_asked(&t, "asked.dat", "e", false);
		check_asked(&t, NULL, "\r", true);
		check_asked(&t, NULL, "k", true);
		check_asked(&t, NULL, "e", true);
		check_asked(&t, NULL, "q", true);
		check_asked(&t, NULL, "d", false);
	}
	return t.failed != 0;
}
