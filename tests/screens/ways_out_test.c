/* However memtui ends, and however the program ends that it shows, the terminal is as it was:
 * modes, screen, cursor, mouse.
 * ways_out_test MEMTUI THEMES TRACE GOLDEN_DIR SOURCE_DIR SCRATCH */
#include "screens.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEFORE "the shell's own words"

/* What stood on the terminal before memtui came. */
static void write_before(struct terminal *terminal)
{
	vterm_input_write(terminal->vterm, BEFORE "\r\n", strlen(BEFORE) + 2);
}

/* only: nothing else is there now. */
static bool as_before(struct terminal *terminal, bool only)
{
	char *text = terminal_text(terminal);
	bool same = !strncmp(text, BEFORE "\n", strlen(BEFORE) + 1)
		&& (!only || strspn(text + strlen(BEFORE), "\n") == strlen(text + strlen(BEFORE)));

	same = same && terminal_restored(terminal) && terminal->cursor_shown
		&& terminal->mouse == VTERM_PROP_MOUSE_NONE;
	if (!same)
		printf("%s\ntermios %s, cursor %s, mouse %d\n", text,
			terminal_restored(terminal) ? "restored" : "changed",
			terminal->cursor_shown ? "shown" : "hidden", terminal->mouse);
	free(text);
	return same;
}

static bool open_main(struct tests *t, struct terminal *terminal)
{
	open_trace(t, terminal, 24, 80, NULL);
	write_before(terminal);
	return terminal_settle(terminal) && !terminal_restored(terminal)
		&& terminal->mouse != VTERM_PROP_MOUSE_NONE;
}

static void check_signals(struct tests *t)
{
	static const int fatal[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGABRT, SIGBUS,
		SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGPIPE,
		SIGVTALRM};
	struct terminal terminal;

	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
		bool taken = open_main(t, &terminal);

		kill(terminal.pid, fatal[i]);
		bool ended = terminal_wait_end(&terminal);

		tell(t,
			taken && ended && as_before(&terminal, true) && WIFSIGNALED(terminal.status)
				&& WTERMSIG(terminal.status) == fatal[i],
			"SIG%s gives the terminal back", sigabbrev_np(fatal[i]));
		terminal_close(&terminal);
	}
	open_main(t, &terminal);
	terminal_type(&terminal, "q");
	tell(t, terminal_wait_end(&terminal) && terminal.status == 0 && as_before(&terminal, true),
		"q gives the terminal back");
	terminal_close(&terminal);
}

static void check_stop(struct tests *t, bool by_key)
{
	struct terminal terminal;
	char *before, *after;
	bool ok = open_main(t, &terminal);

	terminal_type(&terminal, "2j");
	terminal_settle(&terminal);
	before = terminal_dump(&terminal);
	if (by_key)
		terminal_type(&terminal, "\032");
	else
		kill(terminal.pid, SIGTSTP);
	ok = terminal_wait_stop(&terminal) && as_before(&terminal, true) && ok;
	tell(t, ok, "%s stops and gives the terminal back", by_key ? "^Z" : "SIGTSTP");
	terminal.stopped = false;
	kill(terminal.pid, SIGCONT);
	terminal_type(&terminal, "kj");
	ok = terminal_settle(&terminal) && !terminal_restored(&terminal)
		&& terminal.mouse != VTERM_PROP_MOUSE_NONE;
	after = terminal_dump(&terminal);
	tell(t, ok && !strcmp(before, after), "after %s SIGCONT brings the screen back",
		by_key ? "^Z" : "SIGTSTP");
	if (strcmp(before, after))
		printf("==== before\n%s==== after\n%s", before, after);
	free(before);
	free(after);
	kill(terminal.pid, SIGSEGV);
	/* What was typed while it was stopped, the terminal itself has shown. */
	tell(t, terminal_wait_end(&terminal) && as_before(&terminal, false),
		"and a crash after it gives it back again");
	terminal_close(&terminal);
}

/* A shell that waits for memtui in the same job, as make does in `make demo`: ^Z stops it, too, and
 * fg brings both back. */
static void check_stop_of_job(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char script[2048];
	char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct terminal terminal;

	snprintf(script, sizeof script, "'%s' open '%s'; exit 5", t->memtui, t->trace);
	terminal_start(&terminal, 24, 80, &s, argv);
	write_before(&terminal);
	bool ok = terminal_wait_text(&terminal, "[1Main]");

	terminal_type(&terminal, "\032");
	ok = terminal_wait_stop(&terminal) && as_before(&terminal, true) && ok;
	tell(t, ok, "^Z stops the whole job");
	terminal.stopped = false;
	kill(-terminal.pid, SIGCONT);
	ok = terminal_wait_text(&terminal, "[1Main]") && ok;
	terminal_type(&terminal, "q");
	ok = terminal_wait_end(&terminal) && ok;
	tell(t, ok && WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 5,
		"fg brings the whole job back");
	terminal_close(&terminal);
}

static void start_program(struct tests *t, struct terminal *terminal, char *script)
{
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
	};
	char *argv[] = {t->memtui, "run", "--", "/bin/sh", "-c", script, NULL};

	terminal_start(terminal, 24, 80, &s, argv);
	write_before(terminal);
}

static bool leaves(struct terminal *terminal, const char *words)
{
	bool ok = terminal_wait_text(terminal, words);

	terminal_type(terminal, "q");
	ok = terminal_wait_text(terminal, "Keep the recording?") && ok;
	terminal_type(terminal, "d");
	if (!ok) {
		char *screen = terminal_text(terminal);

		printf("%s\n", screen);
		free(screen);
	}
	return terminal_wait_end(terminal) && ok;
}

/* The program dies of a signal: its screen stays until somebody leaves it, and then the terminal is
 * as it was. */
static void check_program(struct tests *t)
{
	static const int fatal[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGABRT, SIGBUS,
		SIGFPE, SIGKILL};

	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
		struct terminal terminal;
		char script[128], words[64];

		snprintf(script, sizeof script,
			"stty raw -echo; printf '\\033[?1049h\\033[?25lx'; kill -%d $$", fatal[i]);
		snprintf(words, sizeof words, "killed by signal %d", fatal[i]);
		start_program(t, &terminal, script);
		bool ok = leaves(&terminal, words);

		tell(t,
			ok && WIFEXITED(terminal.status)
				&& WEXITSTATUS(terminal.status) == 128 + fatal[i]
				&& as_before(&terminal, false),
			"a program that dies of SIG%s leaves the terminal as it was, status %d",
			sigabbrev_np(fatal[i]), 128 + fatal[i]);
		terminal_close(&terminal);
	}
}

/* The program ends before memtui has opened its screen: what it did is shown all the same. */
static void check_short(struct tests *t)
{
	for (int i = 0; i < 10; i++) {
		struct terminal terminal;

		start_program(t, &terminal, "exit 3");
		bool ok = terminal_wait_text(&terminal, "program exited (3)");

		if (!ok)
			as_before(&terminal, false);
		terminal_type(&terminal, "Qd");
		ok = terminal_wait_end(&terminal) && ok;
		tell(t, ok && WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 3,
			"a program that ends at once is shown, %d", i + 1);
		terminal_close(&terminal);
	}
}

/* memtui itself is killed while the program runs. */
static void check_live(struct tests *t)
{
	static const int fatal[] = {SIGTERM, SIGHUP, SIGSEGV, SIGQUIT};

	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
		struct terminal terminal;
		char path[1024], script[1200];

		snprintf(path, sizeof path, "%s/ways_out.pid", t->scratch);
		snprintf(script, sizeof script, "echo $$ >%s; exec sleep 60", path);
		unlink(path);
		start_program(t, &terminal, script);
		bool ok = terminal_wait_text(&terminal, "LIVE");

		if (!ok) {
			char *screen = terminal_text(&terminal);

			printf("%s\n", screen);
			free(screen);
		}
		kill(terminal.pid, fatal[i]);
		ok = terminal_wait_end(&terminal) && ok;
		tell(t, as_before(&terminal, false) && ok,
			"SIG%s while a program runs gives the terminal back, status %x",
			sigabbrev_np(fatal[i]), (unsigned)terminal.status);
		terminal_close(&terminal);
		char *pid = read_text(path);

		if (atoi(pid) > 1)
			kill(atoi(pid), SIGKILL);
		free(pid);
	}
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("signals"))
		return 0;
	check_signals(&t);
	check_stop(&t, true);
	check_stop(&t, false);
	check_stop_of_job(&t);
	check_program(&t);
	check_short(&t);
	check_live(&t);
	return t.failed != 0;
}
