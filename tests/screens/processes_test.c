/* The processes of a session: golden screens, and from one to another and back, of saved traces and
 * of a session that runs. */
#include "screens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct golden goldens[] = {
	GOLDEN("processes-100x30", 100, 30, "9"),
	{"processes-by-rss-100x30", 100, 30, "9>>>>>>", 0, 0, 0, 0, NULL, 0, 0},
	{"processes-80x24", 80, 24, "9", 0, 0, 0, 0, "j", 0, 0},
	{"processes-40x10", 40, 10, "9", 0, 0, 0, 0, "G", 0, 0},
	{"processes-by-peak-80x24", 80, 24, "9>>>>>", 0, 0, 0, 0, "r", 0, 0},
	{"processes-switched-80x24", 80, 24, "2>\\json\r9", 0, 0, 0, 0, "jj\r", 0, 0},
};

static void show(struct terminal *terminal)
{
	char *screen = terminal_text(terminal);

	printf("%s\n", screen);
	free(screen);
}

static int count(struct terminal *terminal, const char *text)
{
	char *screen = terminal_text(terminal);
	int found = 0;

	for (const char *at = screen; (at = strstr(at, text)); at++)
		found++;
	free(screen);
	return found;
}

static bool wait_count(struct terminal *terminal, const char *text, int wanted)
{
	for (int i = 0; i < 600 && count(terminal, text) != wanted; i++)
		terminal_read_for(terminal, 100);
	return count(terminal, text) == wanted;
}

/* A shell that waits, its child that waits too, and one that has ended. */
static void check_live(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *script = "ls / >/dev/null; perl -e 'my @kept = map { \"x\" x $_ } 1..2000; "
		       "<STDIN>; exit 7'; echo over; read y";
	char *argv[] = {t->memtui, "run", "-f", "-o", "live-family.dat", "--", "/bin/sh", "-c",
		script, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_wait_text(&terminal, "LIVE");

	terminal_type(&terminal, "9");
	ok = ok && terminal_wait_text(&terminal, "running  ")
		&& terminal_wait_text(&terminal, "  perl -e")
		&& terminal_wait_text(&terminal, "ended 0")
		&& terminal_wait_text(&terminal, "  ls /");
	tell(t, ok, "the processes of a session that runs, and those that have ended");
	terminal_type(&terminal, "/running perl\r");
	terminal_wait_text(&terminal, "1 line matches");
	terminal_type(&terminal, "\r");
	ok = ok && terminal_wait_text(&terminal, "showing process")
		&& terminal_wait_text(&terminal, "(perl)")
		&& terminal_wait_text(&terminal, "memtui  perl -e")
		&& terminal_wait_text(&terminal, "LIVE");
	tell(t, ok, "Enter shows a process that runs");
	terminal_type(&terminal, "9/ended 0 ls\r");
	terminal_wait_text(&terminal, "1 line matches");
	terminal_type(&terminal, "\r");
	ok = ok && terminal_wait_text(&terminal, "memtui  ls /")
		&& terminal_wait_text(&terminal, "[1Main]");
	tell(t, ok, "and one that has ended, by its trace");
	terminal_type(&terminal, "O\r\r\035");
	ok = ok && terminal_wait_text(&terminal, "over");
	tell(t, ok, "the program's terminal is there meanwhile");
	terminal_type(&terminal, "9");
	ok = ok && terminal_wait_text(&terminal, "ended 7");
	terminal_type(&terminal, "g\r");
	ok = ok && terminal_wait_text(&terminal, "memtui  sh -c ls")
		&& terminal_wait_text(&terminal, "LIVE");
	tell(t, ok, "and the first one is gone back to");
	if (!ok)
		show(&terminal);
	terminal_type(&terminal, "O\r\r\035");
	ok = ok && terminal_wait_text(&terminal, "program exited (0)");
	if (!ok)
		show(&terminal);
	terminal_type(&terminal, "9");
	ok = ok && wait_count(&terminal, " ended 0 ", 2) && count(&terminal, " ended 7 ") == 1;
	if (!ok)
		show(&terminal);
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && ok && !terminal.status,
		"its end is seen, and its status passed on");
	terminal_close(&terminal);
}

/* The program ends while another process's recording is shown: that is said, and its status
 * counts. */
static void check_end_away(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-f", "-o", "away.dat", "--", "/bin/sh", "-c",
		"ls / >/dev/null; read x; exit 6", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_wait_text(&terminal, "LIVE");

	terminal_type(&terminal, "9");
	ok = ok && terminal_wait_text(&terminal, "ended 0");
	terminal_type(&terminal, "/ended 0 ls\r\r");
	ok = ok && terminal_wait_text(&terminal, "showing process");
	terminal_type(&terminal, "O\rx\r\035");
	ok = ok && terminal_wait_text(&terminal, "program exited (6)");
	if (!ok)
		show(&terminal);
	terminal_type(&terminal, "Q");
	ok = terminal_wait_end(&terminal) && ok;
	tell(t, ok && WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 6,
		"the program ends while another recording is seen");
	terminal_close(&terminal);
}

/* A daemon that has not allocated since it was forked is listed with its workers, its row fills in
 * once it allocates, and it ends when the session is ended. */
static void check_daemon(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char program[1024], fifo[1024];
	char *argv[] = {t->memtui, "run", "-f", "-o", "daemon.dat", "--", program, fifo, NULL};
	struct terminal terminal;

	snprintf(program, sizeof program, "%s/daemon", t->scratch);
	snprintf(fifo, sizeof fifo, "%s/daemon.fifo", t->scratch);
	unlink(fifo);
	if (mkfifo(fifo, 0600) < 0)
		tell(t, false, "a FIFO can be made");
	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_wait_text(&terminal, "program exited (0)");

	terminal_type(&terminal, "9");
	ok = ok && wait_count(&terminal, " running ", 2)
		&& wait_count(&terminal, " running          0B      0B       0    daemon", 1);
	tell(t, ok, "a daemon is listed before it allocates");
	terminal_type(&terminal, "/running 0B\r\r");
	ok = ok && terminal_wait_text(&terminal, "has not allocated yet: there is nothing to show");
	tell(t, ok, "and Enter says that there is nothing to show");
	int writer = open(fifo, O_WRONLY | O_NONBLOCK);

	ok = ok && writer >= 0 && write(writer, "x", 1) == 1
		&& terminal_wait_text(&terminal, "4.9k       1    daemon");
	tell(t, ok, "its row fills in once it allocates");
	if (!ok)
		show(&terminal);
	if (writer >= 0)
		close(writer);
	terminal_type(&terminal, "Qe");
	ok = terminal_wait_end(&terminal) && ok;
	terminal_close(&terminal);

	terminal_start(&terminal, 24, 80, &s, argv);
	ok = ok && terminal_wait_text(&terminal, "1 process still runs"); /* the worker */
	terminal_type(&terminal, "Qe");
	ok = terminal_wait_end(&terminal) && ok;
	writer = open(fifo, O_WRONLY | O_NONBLOCK);
	tell(t, ok && writer < 0 && errno == ENXIO,
		"a daemon that has not allocated ends with its session");
	if (writer >= 0)
		close(writer);
	terminal_close(&terminal);
}

/* View, filter, order and direction stay on the way there and back; the second time the list is
 * there at once. */
static void check_back(struct tests *t)
{
	struct terminal terminal;
	struct tests of = *t;
	char trace[1024], *before, *after;

	snprintf(trace, sizeof trace, "%s/family.dat", t->scratch);
	of.trace = trace;
	open_trace(&of, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "3i>\\event_loop\rE\033");
	terminal_settle(&terminal);
	terminal_type(&terminal, "9");
	terminal_settle(&terminal);
	terminal_type(&terminal, "k\033");
	terminal_settle(&terminal);
	terminal_type(&terminal, "3g\033");
	terminal_settle(&terminal);
	before = terminal_dump(&terminal);
	terminal_type(&terminal, "9j\r");
	bool ok = terminal_settle(&terminal)
		&& terminal_wait_text(&terminal, "showing process 4243 (server)");

	terminal_type(&terminal, "S");
	ok = ok && terminal_settle(&terminal) && terminal_wait_text(&terminal, "S1 holds");
	terminal_type(&terminal, "9k\r");
	ok = ok && terminal_settle(&terminal)
		&& terminal_wait_text(&terminal,
			"showing process 4242 (server); 9, "
			"then Enter on 4243: back; snapshots dropped");
	terminal_type(&terminal, "Eg\033");
	ok = terminal_settle(&terminal) && ok;
	after = terminal_dump(&terminal);
	tell(t, ok && !strcmp(before, after), "there and back again the screen is as before");
	if (strcmp(before, after))
		printf("==== before\n%s==== after\n%s", before, after);
	free(before);
	free(after);
	terminal_close(&terminal);
}

/* A trace without others beside it, and one that cannot be opened any more. */
static void check_alone(struct tests *t)
{
	struct tests of = *t;
	struct terminal terminal;
	char trace[1024], gone[1024], aside[1100];

	open_trace(t, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "9");
	tell(t, terminal_wait_text(&terminal, "no other process was recorded"),
		"a trace alone says so");
	terminal_type(&terminal, "\r");
	tell(t, terminal_wait_text(&terminal, "this process is shown already"),
		"and Enter on it, too");
	terminal_close(&terminal);

	snprintf(trace, sizeof trace, "%s/family.dat", t->scratch);
	snprintf(gone, sizeof gone, "%s/family.dat.4243", t->scratch);
	of.trace = trace;
	open_trace(&of, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "9");
	bool ok = terminal_wait_text(&terminal, "4250");

	snprintf(aside, sizeof aside, "%s.aside", gone);
	rename(gone, aside);
	terminal_type(&terminal, "j\r");
	tell(t, ok && terminal_wait_text(&terminal, "No such file"),
		"a trace that is gone is said, and nothing changes");
	terminal_close(&terminal);
	rename(aside, gone); /* other tests show it */
}

/* What has no name that others' could be known by: out of a pipe, another tool's. */
static void check_nameless(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", "C.UTF-8", t->source};
	char piped[2048], foreign[1024];
	char *shell[] = {"/bin/sh", "-c", piped, NULL},
	     *open[] = {t->memtui, "open", foreign, NULL};

	snprintf(piped, sizeof piped, "'%s' open - <'%s'", t->memtui, t->trace);
	snprintf(foreign, sizeof foreign, "%s/../../foreign/sample.heaptrack", t->golden);
	for (int i = 0; i < 2; i++) {
		struct terminal terminal;

		terminal_start(&terminal, 24, 80, &s, i ? open : shell);
		terminal_settle(&terminal);
		terminal_type(&terminal, "9");
		bool ok = terminal_wait_text(&terminal, "no other process was recorded");

		terminal_type(&terminal, "\r");
		tell(t, ok && terminal_wait_text(&terminal, "this process is shown already"),
			"%s is its only process",
			i ? "another tool's recording" : "a trace out of a pipe");
		terminal_close(&terminal);
	}
}

/* What record said of the trace when it had written it: "72.0k" of "(72.0k in 1 block suppressed)".
 * False: it said nothing of that. */
static bool recorded_suppressed(const struct tests *t, char out[32])
{
	char path[1024], line[1024] = "";
	bool found = false;
	FILE *file;

	snprintf(path, sizeof path, "%s/record.log", t->scratch);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof line, file))
		found = strstr(line, " suppressed)") && strrchr(line, '(')
			&& sscanf(strrchr(line, '('), "(%31s in ", out) == 1;
	if (file)
		fclose(file);
	return found;
}

/* Where suppressed blocks are counted, the screen says how much of the number they are: as record
 * and report do. */
static void check_suppressed(struct tests *t)
{
	struct tests of = *t;
	struct terminal terminal;
	char trace[1024], bytes[32] = "", words[96];

	snprintf(trace, sizeof trace, "%s/fields.dat", t->scratch);
	of.trace = trace;
	tell(t, recorded_suppressed(t, bytes), "record says how much is suppressed");
	open_trace(&of, &terminal, 24, 80, NULL);
	snprintf(words, sizeof words, " (%s suppressed)   peak ", bytes);
	bool ok = terminal_wait_text(&terminal, words);

	tell(t, ok, "the heap line says how much of it is suppressed: %s", words);
	if (!ok)
		show(&terminal);
	terminal_type(&terminal, "9");
	snprintf(words, sizeof words, ", %s of it suppressed", bytes);
	ok = terminal_wait_text(&terminal, "not freed ") && terminal_wait_text(&terminal, words);
	tell(t, ok, "what a process has not freed is not all called leaked: %s", words);
	if (!ok)
		show(&terminal);
	terminal_close(&terminal);
}

/* Losses are said where there are any, and only there. */
static void check_losses(struct tests *t)
{
	static const struct {
		const char *kind;
		bool lossy;
	} traces[] = {{"log", true}, {"totals", false}};

	for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
		struct tests of = *t;
		struct terminal terminal;
		char trace[1024];

		snprintf(trace, sizeof trace, "%s/%s.dat", t->scratch, traces[i].kind);
		of.trace = trace;
		open_trace(&of, &terminal, 24, 80, NULL);
		terminal_type(&terminal, "9");
		bool ok = terminal_wait_text(&terminal, "not freed ");
		char *text = terminal_text(&terminal), *line = strstr(text, "not freed "),
		     *lost = line ? strstr(line, "lost") : NULL;

		ok = ok && line
			&& (traces[i].lossy ? strstr(line, "   1234 events lost") != NULL : !lost);
		free(text);
		tell(t, ok, "what was lost of a process: %s", traces[i].kind);
		if (!ok)
			show(&terminal);
		terminal_close(&terminal);
	}
}

/* The rules of the program count on the screen as in reports. */
static void check_own_rules(struct tests *t)
{
	struct tests of = *t;
	struct terminal terminal;
	char trace[1024];

	snprintf(trace, sizeof trace, "%s/own.dat", t->scratch);
	of.trace = trace;
	open_trace(&of, &terminal, 24, 80, NULL);
	bool ok = terminal_wait_text(&terminal, " (2.9k suppressed) ")
		&& terminal_wait_text(&terminal, "1 suppressed (X)")
		&& terminal_wait_text(&terminal, "groups 1/1");

	terminal_type(&terminal, "X");
	ok = ok && terminal_wait_text(&terminal, "groups 1/2");
	tell(t, ok, "the program's own rules hide its leaks, and X shows them");
	if (!ok)
		show(&terminal);
	terminal_close(&terminal);
}

/* Several traces as one: a line for all and one for each, which Enter opens, and the way back. */
static void check_set(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", "C.UTF-8", t->source};
	char trace[1024], child[1024], grandchild[1024], broken[1024];
	char *open[] = {t->memtui, "open", "--fresh", trace, child, grandchild, broken, NULL};
	char *together[] = {t->memtui, "open", "--fresh", "--together", "--by", "process", trace,
		child, NULL};
	struct terminal terminal;

	snprintf(trace, sizeof trace, "%s/family.dat", t->scratch);
	snprintf(child, sizeof child, "%s/family.dat.4243", t->scratch);
	snprintf(grandchild, sizeof grandchild, "%s/family.dat.4250", t->scratch);
	snprintf(broken, sizeof broken, "%s/xterm-16color.ti", t->source);
	terminal_start(&terminal, 30, 100, &s, open);
	bool ok = terminal_wait_text(&terminal, "3 recordings, the first of");

	tell(t, ok, "three traces are one recording");
	tell(t, terminal_wait_text(&terminal, "1 of 4 recordings could not be read"),
		"one that cannot be read is said");
	terminal_settle(&terminal);
	char *before = terminal_text(&terminal);

	tell(t, strstr(before, "peak ~") != NULL, "the peak of several is an estimate");
	free(before);
	terminal_type(&terminal, "9");
	tell(t,
		terminal_wait_text(&terminal, "all 3 recordings")
			&& terminal_wait_text(&terminal, "4250"),
		"the list has a line for all, and one for each");
	terminal_type(&terminal, "g\r");
	tell(t, terminal_wait_text(&terminal, "all recordings are shown already"),
		"Enter on all of them says that they are shown");
	terminal_type(&terminal, "jj\r");
	tell(t,
		terminal_wait_text(&terminal,
			"showing process 4243 (server); 9, then Enter on all: back"),
		"Enter on one shows that one");
	terminal_type(&terminal, "9g\r");
	tell(t, terminal_wait_text(&terminal, "showing all recordings"), "and there is a way back");
	terminal_settle(&terminal);
	terminal_type(&terminal, "\\size>=1k\r");
	tell(t, terminal_wait_text(&terminal, "each recording has by itself"),
		"a filter of single blocks says who can answer it");
	terminal_close(&terminal);

	terminal_start(&terminal, 30, 100, &s, together);
	tell(t,
		terminal_wait_text(&terminal, "2 recordings")
			&& terminal_wait_text(&terminal, "server [4242]"),
		"by process, the process is above its backtraces");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv), of = t;
	char trace[1024];

	snprintf(trace, sizeof trace, "%s/family.dat", t.scratch);
	of.trace = trace;
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&of, &goldens[i]);
	t.failed = of.failed;
	if (wanted("mouse")) {
		check_back(&t);
		check_alone(&t);
		check_nameless(&t);
		check_suppressed(&t);
		check_own_rules(&t);
		check_losses(&t);
		check_set(&t);
	}
	if (wanted("live")) {
		check_live(&t);
		check_end_away(&t);
		check_daemon(&t);
	}
	return t.failed != 0;
}
