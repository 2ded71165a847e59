/* Where the program's terminal is another window (run --tty), or memtui's own (run --headless). */
#include "screens.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

/* Another window: what is printed there. */
struct window {
	int master, slave;
	char name[64], text[8192];
	size_t len;
};

static void open_window(struct window *w)
{
	struct winsize size = {.ws_row = 33, .ws_col = 77};

	*w = (struct window){0};
	if (openpty(&w->master, &w->slave, w->name, NULL, &size) < 0) {
		perror("openpty");
		exit(1);
	}
}

static bool prints(struct window *w, const char *text)
{
	struct pollfd fd = {.fd = w->master, .events = POLLIN};

	while (!strstr(w->text, text) && w->len < sizeof w->text - 1
		&& poll(&fd, 1, PATIENCE_MS) > 0) {
		ssize_t n = read(w->master, w->text + w->len, sizeof w->text - 1 - w->len);

		if (n <= 0)
			break;
		w->len += (size_t)n;
	}
	if (!strstr(w->text, text))
		printf("wanted: %s\nprinted: %s\n", text, w->text);
	return strstr(w->text, text) != NULL;
}

static void close_window(struct window *w)
{
	close(w->master);
	close(w->slave);
}

static void start_with(struct tests *t, struct terminal *terminal, char **words,
	const char *preload)
{
	struct settings s = {
		.term = "xterm-256color",
		.locale = "C.UTF-8",
		.directory = t->scratch,
		.cache = t->scratch,
		.preload = preload,
	};
	char *argv[16] = {t->memtui};

	for (int i = 0; words[i]; i++)
		argv[1 + i] = words[i];
	terminal_start(terminal, 24, 80, &s, argv);
}

static void start(struct tests *t, struct terminal *terminal, char **words)
{
	start_with(t, terminal, words, NULL);
}

static void check_tty(struct tests *t)
{
	struct window w;
	struct terminal terminal;
	char *words[] = {"run", "--tty", w.name, "--", "/bin/sh", "-c",
		"test -t 0 && test -t 1 && test -t 2 && stty size && tty; "
		"read x; echo got $x; read x; exit 3",
		NULL};
	char name[80];

	open_window(&w);
	start(t, &terminal, words);
	tell(t, prints(&w, "33 77"), "the program prints in the other window");
	snprintf(name, sizeof name, "%s\r\n", w.name);
	tell(t, prints(&w, name), "which is the terminal that it knows");
	tell(t, write(w.master, "hello\r", 6) == 6 && prints(&w, "got hello"), "and reads there");
	bool ok = terminal_wait_text(&terminal, "LIVE");

	terminal_type(&terminal, "O");
	tell(t,
		ok
			&& terminal_wait_text(&terminal,
				"memtui does not show this program's terminal; 'memtui run' does"),
		"memtui has no pane for it");
	terminal_type(&terminal, "2");
	tell(t, terminal_wait_text(&terminal, "[2Group]"), "but its heap");
	tell(t,
		write(w.master, "\003", 1) == 1
			&& terminal_wait_text(&terminal, "killed by signal 2"),
		"^C there is the program's");
	terminal_type(&terminal, "Q");
	terminal_wait_text(&terminal, "Keep the recording?");
	terminal_type(&terminal, "d");
	tell(t, terminal_wait_end(&terminal) && WEXITSTATUS(terminal.status) == 130,
		"whose status is passed on");
	terminal_close(&terminal);
	close_window(&w);
}

/* What cannot be is said before the program is started. */
static void check_refused(struct tests *t)
{
	static const struct {
		char *option, *value;
		const char *words;
		bool usage; /* a value that nothing could mean */
	} cases[] = {
		{"--tty", "/dev/tty", "is the terminal of memtui itself", false},
		{"--tty", "/dev/null", "not a terminal", false},
		{"--tty", "/nonexistent", "cannot open it", false},
		{"--keymap", "/nonexistent", "/nonexistent cannot be read", false},
		{"--theme", "none", "unknown theme 'none'", true},
		{"--theme", "/nonexistent", "/nonexistent", false},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *words[] = {"run", "-f", "-o", "refused.dat", cases[i].option, cases[i].value,
			"--", "/bin/sh", "-c", "echo it r''uns", NULL};
		char trace[1100];
		struct terminal terminal;

		start(t, &terminal, words);
		bool said = terminal_wait_end(&terminal);

		terminal_read_for(&terminal, 50);
		char *screen = terminal_text(&terminal);

		snprintf(trace, sizeof trace, "%s/refused.dat", t->scratch);
		tell(t,
			said && WEXITSTATUS(terminal.status) == 1 + cases[i].usage
				&& strstr(screen, cases[i].words) && !strstr(screen, "it runs")
				&& access(trace, F_OK) < 0 && terminal_restored(&terminal),
			"%s %s is refused in words, and nothing runs", cases[i].option,
			cases[i].value);
		free(screen);
		terminal_close(&terminal);
	}
}

/* The recorder waits for the screen of a program that ends at once; not for one that never comes.
 */
static void check_unseen(struct tests *t)
{
	char *words[] = {"run", "-f", "-o", "unseen.dat", "--", "/bin/sh", "-c", "read x", NULL};
	char *short_words[] = {"run", "-f", "-o", "unseen.dat", "--", "/bin/true", NULL};
	char preload[1100];
	struct terminal terminal;

	snprintf(preload, sizeof preload, "%s/no_screen.so", t->scratch);
	start_with(t, &terminal, short_words, preload);
	bool ended = terminal_wait_end(&terminal);
	char *screen = terminal_text(&terminal);

	tell(t,
		ended && WEXITSTATUS(terminal.status) == 1
			&& strstr(screen, "the terminal 'xterm-256color' cannot be used")
			&& strstr(screen, "'memtui open"),
		"without a screen memtui ends as soon as the program has");
	free(screen);
	terminal_close(&terminal);
	start_with(t, &terminal, words, preload);
	tell(t, terminal_wait_text(&terminal, "' shows it"),
		"a program that runs on unseen is said at once to do so");
	pid_t program = 0;

	screen = terminal_text(&terminal);
	if (strstr(screen, "attach "))
		sscanf(strstr(screen, "attach ") + 7, "%d", &program);
	free(screen);
	if (program > 0)
		kill(program, SIGTERM);
	tell(t, program > 0 && terminal_wait_end(&terminal), "and memtui ends with it");
	terminal_close(&terminal);
}

static void check_headless(struct tests *t)
{
	char *words[] = {"run", "--headless", "-f", "-o", "headless.dat", "--", "/bin/sh", "-c",
		"echo pid=$$.; read x; echo got $x; exit 4", NULL};
	char *attach[] = {"attach", NULL, NULL}, pid[16] = "0", *screen, *at;
	struct terminal terminal, other;
	bool ok;

	start(t, &terminal, words);
	ok = terminal_wait_text(&terminal, ".\n");
	screen = terminal_text(&terminal);
	if ((at = strstr(screen, "pid=")))
		sscanf(at + 4, "%15[0-9]", pid);
	tell(t, ok && at == screen, "--headless leaves the terminal to the program");
	free(screen);
	attach[1] = pid;
	start(t, &other, attach);
	tell(t, terminal_wait_text(&other, "LIVE"), "attach shows its heap elsewhere");
	terminal_type(&terminal, "hello\r");
	tell(t, terminal_wait_text(&terminal, "got hello"), "the program reads its own terminal");
	tell(t,
		terminal_wait_end(&terminal) && WIFEXITED(terminal.status)
			&& WEXITSTATUS(terminal.status) == 4,
		"and its status is passed on");
	tell(t, terminal_wait_text(&other, "ENDED"), "attach sees it end");
	terminal_type(&other, "Q");
	terminal_wait_end(&other);
	tell(t, terminal_restored(&other) && terminal_restored(&terminal),
		"both terminals are as before");
	terminal_close(&other);
	terminal_close(&terminal);
}

/* ^Z with something open: it is there again when the shell goes on. */
static void check_suspend(struct tests *t)
{
	static const struct {
		const char *name, *keys;
	} states[] = {
		{"a search", "2/abc"},
		{"a filter", "2\\json"},
		{"the help", "?gr"},
		{"the palette", ":ti"},
		{"the menu of metrics", "2s"},
		{"the settings", "\033OQ"},
		{"a selection of time", "5llvlll"},
	};

	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		struct terminal terminal;

		open_trace(t, &terminal, 24, 80, NULL);
		bool ok = terminal_settle(&terminal);

		terminal_type(&terminal, states[i].keys);
		ok = ok && terminal_settle(&terminal);
		char *before = terminal_dump(&terminal), *after;

		terminal_type(&terminal, "\032");
		ok = ok && terminal_wait_stop(&terminal) && terminal_restored(&terminal);
		terminal.stopped = false;
		kill(terminal.pid, SIGCONT);
		ok = ok && terminal_settle(&terminal) && !terminal_restored(&terminal);
		terminal_resize(&terminal, 25, 81); /* the frame after it is known to be drawn */
		terminal_settle(&terminal);
		terminal_resize(&terminal, 24, 80);
		ok = terminal_settle(&terminal) && ok;
		after = terminal_dump(&terminal);
		tell(t, ok && !strcmp(before, after),
			"^Z with %s open stops, and fg brings it back", states[i].name);
		if (strcmp(before, after))
			printf("==== before\n%s==== after\n%s", before, after);
		free(before);
		free(after);
		terminal_close(&terminal);
	}
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (wanted("tty")) {
		check_tty(&t);
		check_refused(&t);
	}
	if (wanted("unseen"))
		check_unseen(&t);
	if (wanted("headless"))
		check_headless(&t);
	if (wanted("suspend"))
		check_suspend(&t);
	return t.failed != 0;
}
