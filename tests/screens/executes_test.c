/* A program that executes another one while it is watched: names, state and totals are of the new
 * one then. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>

static void check_execute(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *keeps = malloc(4096);
	char *argv[] = {t->memtui, "run", "-f", "-o", "executes.dat", "--", "/bin/sh", "-c", NULL,
		NULL};
	struct terminal terminal;

	snprintf(keeps, 4096,
		"read x; exec perl -e 'my @kept = map { \"x\" x $_ } 1..2000; <STDIN>; exit 0'");
	argv[8] = keeps;
	terminal_start(&terminal, 24, 80, &s, argv);
	bool ok = terminal_wait_text(&terminal, "LIVE");

	terminal_type(&terminal, "0");
	ok = ok && terminal_wait_text(&terminal, "libc.so.6")
		&& terminal_wait_text(&terminal, "LIVE");
	terminal_type(&terminal, "S");
	ok = ok && terminal_wait_text(&terminal, "S1 holds");
	terminal_type(&terminal,
		"O\r\r\035"
		"2");
	ok = ok && terminal_wait_text(&terminal, "Perl_") && terminal_wait_text(&terminal, "LIVE");
	tell(t, ok, "a program that was executed has its own names, and is live");
	terminal_type(&terminal, "0");
	ok = terminal_wait_text(&terminal, "called exec: 1 snapshot") && ok;
	tell(t, ok, "what was kept of the one before goes, and that is said");
	if (!ok) {
		char *screen = terminal_text(&terminal);

		printf("%s\n", screen);
		free(screen);
	}
	terminal_type(&terminal, "O\r\r\035");
	ok = ok && terminal_wait_text(&terminal, "program exited (0)");
	terminal_type(&terminal, "Q");
	tell(t, terminal_wait_end(&terminal) && ok && !terminal.status, "and its end is seen");
	terminal_close(&terminal);
	free(keeps);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("live"))
		check_execute(&t);
	return t.failed != 0;
}
