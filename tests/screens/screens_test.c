/* Golden screens and behaviour of the terminal interface. screens_test MEMTUI THEMES TRACE
 * GOLDEN_DIR SOURCE_DIR SCRATCH DEMO */
#include "goldens.h"
#include "screens.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const walks[] = {"", "2jj", "3", "5ll", "V", "2\r", "?"};

/* ---- random keys ---- */

static void check_random(struct tests *t)
{
	static const char *const keys[] = {"j", "k", "g", "G", "\004", "\025", "\006", "\002", "z",
		"h", "l", "\r", "\177", "\033", "1", "2", "3", "4", "5", "6", "7", "8", "9", "0",
		"V", "O", "\t", "\033[Z", "Z", "/", "n", "N", "\\", "a", "(", "s", "<", ">", "r",
		"m", "+", "-", "E", "C", "H", "i", "=", "{", "}", "?", "\033OP", "T", "\014",
		"\033[A", "\033[B", "\033[5~", "\033[6~", "e", ":", "c", "K", "y", "e", "\033OQ",
		"\033[15~", "v", "[", "]", "o", "a", "A", "R", "M", "\033[<0;50;6M",
		"\033[<32;60;6M", "\033[<0;60;6m", "size>=1k", "\033[<0;5;6M", "\033[<0;40;12M",
		"\033[<65;20;9M", "\033[<64;20;9M", "\033[<0;3;2M", "\xc3\xa9", "\xff", "p", "P",
		"F", "S", "d", "D", "t", "t", "x", "f", "u", " ", "U", "X", "Y"};
	static const int sizes[][2] = {{30, 100}, {24, 80}, {10, 40}, {8, 30}, {50, 160}};
	unsigned seed = 1;
	unsigned rounds = getenv("MEMTUI_RANDOM") ? (unsigned)atoi(getenv("MEMTUI_RANDOM")) : 400;
	struct terminal terminal;
	bool alive = true;

	open_trace(t, &terminal, 30, 100, NULL);
	alive = terminal_settle(&terminal);
	for (unsigned i = 0; i < rounds && alive; i++) {
		for (int n = 0; n < 5; n++) {
			seed = seed * 1103515245 + 12345;
			terminal_type(&terminal, keys[(seed >> 16) % (sizeof keys / sizeof *keys)]);
		}
		if (i % 20 == 19) {
			seed = seed * 1103515245 + 12345;
			terminal_resize(&terminal, sizes[(seed >> 16) % 5][0],
				sizes[(seed >> 16) % 5][1]);
		}
		alive = terminal_settle(&terminal);
	}
	tell(t, alive, "%u rounds of random keys", rounds);
	if (!alive) {
		char *screen = terminal_text(&terminal);

		printf("status %x\n%s\n", (unsigned)terminal.status, screen);
		free(screen);
	}
	terminal_close(&terminal);
}

/* ---- filters by single allocations ---- */

/* What is typed into the groups of a recording of tests/programs/filters.c, and what then has to be
 * on the screen. */
static void check_field(struct tests *t, const char *name, const char *option, const char *keys,
	const char *there, const char *gone)
{
	struct settings s = {.term = "xterm-256color", "C.UTF-8", t->source, false, NULL, NULL};
	struct terminal terminal;
	char trace[1024], *screen;
	char *argv[] = {t->memtui, "open", trace, (char *)option, NULL};

	snprintf(trace, sizeof trace, "%s/fields.dat", t->scratch);
	terminal_start(&terminal, 30, 120, &s, argv);
	bool answered = terminal_settle(&terminal);

	terminal_type(&terminal, keys);
	answered = terminal_settle(&terminal) && answered;
	screen = terminal_text(&terminal);
	bool good = answered && strstr(screen, there) && !strstr(screen, gone);

	tell(t, good, "fields: %s", name);
	if (!good)
		printf("%s\n", screen);
	free(screen);
	terminal_close(&terminal);
}

static void check_fields(struct tests *t)
{
	check_field(t, "none", NULL, "2", "site_big", "site_nothing");
	check_field(t, "by thread", NULL, "2\\site_ thread:worker", "1/", "site_big");
	check_field(t, "Tab completes a thread", NULL, "2\\site_ thread:w\t", "thread:worker",
		"site_big");
	check_field(t, "by lifetime", NULL, "2\\site_worker lifetime:only_leaked\r",
		"500B 100.0         1      500B", "1000B");
	check_field(t, "by size", NULL, "2\\site_ size>=1M\r", "site_big", "site_spread");
	check_field(t, "none matches", NULL, "2\\size>=1G\r", "no group matches", "site_big");
	check_field(t, "an empty filter shows all again", NULL, "2\\size>=1G\r\\\025\r", "site_big",
		"no group matches");
	check_field(t, "an unknown thread", NULL, "2\\thread:wroker",
		"the recording has no thread 'wroker'", "no group matches");
	check_field(t, "--size-min", "--size-min=1M", "2", "site_big", "site_spread");
	check_field(t, "--sort all. as an option", "--sort=all.size", "2\\size<1k\r",
		"whole groups: total", "filtered:");
	check_field(t, "--sort only_matched. as an option", "--sort=only_matched.size",
		"2\\size<1k\r", "filtered: total", "whole:");
	check_field(t, "--alive-at", "--alive-at=peak", "2", "site_early", "site_brief");
}

/* ---- while a filter goes over events ---- */

static void check_filtering(struct tests *t)
{
	static const struct golden holds = {.columns = 80, .rows = 24, .filtering = "0.43"};
	static const struct golden small = {.columns = 80, .rows = 24};
	static const struct step held[] = {
		{"the filter typed is tried in the background", "2\\size>=1k", "filtering 43 %",
			NULL},
		{"another one takes its place", "\025size>=10k", "filtering 43 %", NULL},
		{"so does one that is answered at once", "\025json", "1/17 groups", "filtering"},
		{"Esc goes back to none", "\033", "filter: -", "filtering"},
		{"Enter leaves the progress in the status line", "\\json\r\\ size>=1k\r",
			"filtering 43 %   Esc cancels   json size>=1k", NULL},
		{"views turn meanwhile", "3", "[3Tree]", NULL},
		{"lines move meanwhile", "2j", "▶", "filter: json size"},
		{"Esc cancels", "\033", "cancelled", "filtering"},
		{"and the filter before is in force", "k", "filter: json ", "filtering"},
		{"a range waits as well", "5llllvllll\r",
			"filtering 43 %   Esc cancels   json from:", NULL},
		{"R takes it back", "R", "filter: json ", "filtering"},
		{"a range given up asks for nothing", "vlll\033", "filter: json ", "selected"},
		{"the peak waits as well", "A", "alive_at:peak", "filter: json"},
		{"A again takes it back", "A", "filter: json ", "filtering"},
		{"q leaves while a filter is asked for", "A", "filtering 43 %", NULL},
	};
	static const struct step real[] = {
		{"a filter is in force when it is done", "2\\size>=1M\r", "filter: size>=1M",
			"json_node"},
		{"Esc in the prompt brings it back after another", "\\\025size>=3M\033",
			"filter: size>=1M", "filtering"},
		{"the same range from the prompt and the timeline", "\\\025from:50s\r5", "in 50.0s",
			NULL},
		{"R shows all times", "R", "filter: -", "in 50.0s"},
		{"a click moves the cursor", "\033[<0;30;8M\033[<0;30;8m", "filter: -", "selected"},
		{"drawing with the button held selects", "\033[<0;30;8M\033[<32;40;8M", "selected",
			"from:"},
		{"and letting go applies it", "\033[<32;50;8M\033[<0;50;8m",
			"filter: from:", "selected"},
		{"what was live at the peak", "RA", "filter: alive_at:peak", "from:"},
	};

	check_steps(t, "filtering", &holds, held, sizeof held / sizeof *held);
	check_steps(t, "filtering", &small, real, sizeof real / sizeof *real);
}

/* ---- terminals that cannot show it ---- */

static void check_refusals(struct tests *t)
{
	static const struct {
		const char *term, *words;
	} cases[] = {
		{"", "TERM is not set"},
		{"nonsense-terminal", "is not in the terminfo"},
		{"dumb", "cannot move its cursor"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct golden g = {.term = cases[i].term};
		struct terminal terminal;
		char *screen;

		open_trace(t, &terminal, 24, 80, &g);
		terminal_wait_end(&terminal);
		terminal_read_for(&terminal, 50);
		screen = terminal_text(&terminal);
		tell(t,
			WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 1
				&& strstr(screen, cases[i].words) && terminal_restored(&terminal),
			"TERM='%s' is refused in words", cases[i].term);
		free(screen);
		terminal_close(&terminal);
	}
}

/* ---- live ---- */

static void run_program(struct tests *t, struct terminal *terminal, char *program, char *script)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "--", program, script ? "-c" : NULL, script, NULL};

	terminal_start(terminal, 24, 80, &s, argv);
}

/* With an output nothing is asked: what was written stands below when the screen is gone, the
 * children's too. */
static void check_output(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "-f", "-o", "output.dat", "--", "/bin/sh", "-c",
		"/bin/ls; exit 3", NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 100, &s, argv);
	bool ok = terminal_wait_text(&terminal, "program exited (3)");

	terminal_type(&terminal, "q");
	ok = ok && terminal_wait_end(&terminal);
	char *screen = terminal_text(&terminal);

	tell(t,
		ok && WEXITSTATUS(terminal.status) == 3 && strstr(screen, "output.dat: ")
			&& strstr(screen, "output.dat."),
		"run -o says what was written");
	if (!ok)
		printf("%s\n", screen);
	free(screen);
	terminal_close(&terminal);
}

static void check_live(struct tests *t)
{
	struct terminal terminal;
	bool ok;

	run_program(t, &terminal, "/bin/sh", "exit 3");
	ok = terminal_wait_text(&terminal, "program exited (3)");
	terminal_type(&terminal, "q");
	ok = ok && terminal_wait_text(&terminal, "Keep the recording?");
	terminal_type(&terminal, "d");
	ok = ok && terminal_wait_end(&terminal);
	tell(t,
		ok && WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 3
			&& terminal_restored(&terminal),
		"run passes on the exit status");
	terminal_close(&terminal);

	run_program(t, &terminal, "/bin/sh", "echo ready; read x; echo got $x; exit 5");
	ok = terminal_wait_text(&terminal, "LIVE");
	terminal_type(&terminal, "P");
	ok = ok && terminal_wait_text(&terminal, "recording paused")
		&& terminal_wait_text(&terminal, " PAUSED ");
	terminal_type(&terminal, "P");
	ok = ok && terminal_wait_text(&terminal, "recording resumed")
		&& terminal_wait_text(&terminal, " LIVE ");
	tell(t, ok, "P pauses the recording and goes on");
	terminal_type(&terminal, "O");
	ok = ok && terminal_wait_text(&terminal, "ready");
	terminal_type(&terminal, "\r");
	ok = ok && terminal_wait_text(&terminal, "^]");
	terminal_type(&terminal, "hello\r");
	ok = ok && terminal_wait_text(&terminal, "got hello")
		&& terminal_wait_text(&terminal, "program exited (5)");
	tell(t, ok, "an interactive program works in the pane");
	terminal_type(&terminal, "Q");
	ok = ok && terminal_wait_text(&terminal, "Keep the recording?");
	terminal_type(&terminal, "\r");
	terminal_wait_end(&terminal);
	terminal_read_for(&terminal, 50);
	char *screen = terminal_text(&terminal);

	tell(t, strstr(screen, "saved memtui_sh_"), "Enter keeps the trace");
	free(screen);
	tell(t, ok && WIFEXITED(terminal.status) && WEXITSTATUS(terminal.status) == 5,
		"and its status is passed on");
	terminal_close(&terminal);
}

static void check_attach(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "attach", NULL, NULL};
	char pid[16] = "", *screen, *at;
	struct terminal terminal;
	uint64_t before;
	bool ok;

	run_program(t, &terminal, "/bin/sh", "while :; do sleep 1; done");
	ok = terminal_wait_text(&terminal, "LIVE");
	screen = terminal_text(&terminal);
	at = strstr(screen, "pid ");
	if (at)
		sscanf(at + 4, "%15[0-9]", pid);
	free(screen);
	kill(terminal.pid, SIGKILL);
	ok = ok && terminal_wait_end(&terminal);
	terminal_close(&terminal);

	argv[2] = pid;
	terminal_start(&terminal, 24, 80, &s, argv);
	ok = ok && terminal_wait_text(&terminal, "LIVE");
	tell(t, ok, "attach comes back to a session whose TUI was killed");
	terminal_type(&terminal, "Q");
	ok = ok && terminal_wait_text(&terminal, "still runs");
	terminal_type(&terminal, "\r");
	ok = ok && terminal_wait_end(&terminal);
	screen = terminal_text(&terminal);
	tell(t, ok && strstr(screen, "keeps running, recorded into"),
		"Enter leaves it running, and how to come back is said");
	free(screen);
	terminal_close(&terminal);

	terminal_start(&terminal, 24, 80, &s, argv);
	ok = ok && terminal_wait_text(&terminal, "LIVE");
	terminal_type(&terminal, "p");
	ok = ok && terminal_wait_text(&terminal, "FROZEN") && terminal_settle(&terminal);
	before = terminal.received;
	terminal_read_for(&terminal, 800);
	tell(t, ok && terminal.received == before, "a frozen live screen sends %llu bytes",
		(unsigned long long)(terminal.received - before));
	terminal_type(&terminal, "Q");
	ok = ok && terminal_wait_text(&terminal, "  end it, save ");
	terminal_type(&terminal, "s");
	ok = ok && terminal_wait_end(&terminal);
	screen = terminal_text(&terminal);
	ok = ok && strstr(screen, "saved memtui_sh_");
	free(screen);
	tell(t, ok && kill(atoi(pid), 0) < 0, "and ends it and saves its recording when asked");
	if (!ok) {
		screen = terminal_text(&terminal);
		printf("%s\n", screen);
		free(screen);
	}
	terminal_close(&terminal);
}

/* Until a live session says that it has run for so long or longer: one may have no picture. */
static bool wait_seconds(struct terminal *terminal, unsigned least)
{
	for (int tries = 0; tries < 600 && !terminal->ended; tries++) {
		char *screen = terminal_text(terminal), *at = strstr(screen, "LIVE ");
		unsigned shown = 0;
		bool found = at && sscanf(at, "LIVE %us", &shown) == 1 && shown >= least;

		free(screen);
		if (found)
			return true;
		terminal_read_for(terminal, 100);
	}
	return false;
}

/* A busy program: what a running screen costs, and that the selected line stays selected. */
static void check_busy(struct tests *t)
{
	struct settings s =
		{.term = "xterm-256color", "C.UTF-8", t->scratch, false, t->scratch, NULL};
	char *argv[] = {t->memtui, "run", "--", t->demo, NULL}, *screen, *line;
	struct terminal terminal;
	char function[64] = "", again[64] = "-";
	uint64_t before;

	terminal_start(&terminal, 30, 100, &s, argv);
	bool ok = terminal_wait_text(&terminal, "session_new") && wait_seconds(&terminal, 2);

	before = terminal.received;
	terminal_read_for(&terminal, 3000);
	tell(t, ok && (terminal.received - before) / 3 <= 4096,
		"a busy live screen costs %llu bytes a second of 4096",
		(unsigned long long)(terminal.received - before) / 3);
	terminal_type(&terminal, "2G");
	ok = terminal_wait_text(&terminal, "[2 Groups]"); /* both keys were read at once */
	for (int i = 0; i < 2; i++) {
		screen = terminal_text(&terminal);
		line = strstr(screen, "\u25b6");
		if (line)
			sscanf(line + 3, "%*s %*s %*s %*s %*s %*s %63s", i ? again : function);
		free(screen);
		if (!i)
			terminal_read_for(&terminal, 2000);
	}
	tell(t, ok && function[0] && !strcmp(function, again),
		"the selected line stays selected: %s, %s", function, again);
	terminal_type(&terminal, "Q");
	ok = terminal_wait_text(&terminal, "still runs");
	terminal_type(&terminal, "d");
	ok = ok && terminal_wait_end(&terminal);
	tell(t, ok && WIFEXITED(terminal.status), "a busy session ends when asked, status %x",
		(unsigned)terminal.status);
	terminal_close(&terminal);
}

/* ---- mouse ---- */

static void check_mouse(struct tests *t)
{
	static const struct {
		const char *bytes, *words;
	} clicks[] = {
		{"\033[<0;10;2M\033[<0;10;2m", "[2Group]"}, /* a tab */
		/* a line, twice */
		{"\033[<0;30;6M\033[<0;30;6m\033[<0;30;6M\033[<0;30;6m",
			"backtrace, innermost first"},
		{"q", "[2Group]"}, {"\033[<0;25;3M", "BLOCKS▼"}, /* a heading */
		{"\033[<0;3;24M", "Help: Groups"},               /* the key bar */
	};
	struct terminal terminal;

	open_trace(t, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	for (size_t i = 0; i < sizeof clicks / sizeof *clicks; i++) {
		terminal_type(&terminal, clicks[i].bytes);
		bool ok = terminal_settle(&terminal);
		char *screen = terminal_text(&terminal);

		tell(t, ok && strstr(screen, clicks[i].words), "a click brings '%s'",
			clicks[i].words);
		free(screen);
	}
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	check_walks(&t, "", walks, sizeof walks / sizeof *walks);
	if (wanted("signals"))
		check_refusals(&t);
	if (wanted("mouse"))
		check_mouse(&t);
	if (wanted("fields"))
		check_fields(&t);
	check_filtering(&t);
	if (wanted("random"))
		check_random(&t);
	if (wanted("live")) {
		check_live(&t);
		check_output(&t);
		check_attach(&t);
		check_busy(&t);
	}
	return t.failed != 0;
}
