/* Golden screens and behaviour of the icicle. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct golden goldens[] = {
	{"icicle-100x30", 100, 30, "4jjjjl", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-80x24", 80, 24, "4", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-40x10", 40, 10, "4H", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-zoomed-100x30", 100, 30, "4jjjj\rj", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-match-100x30", 100, 30, "4/json\r", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-typing-80x24", 80, 24, "4/json", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-match-40x10", 40, 10, "4/arena\rn", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-inverted-100x30", 100, 30, "4ijl", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-inverted-80x24", 80, 24, "4ij\r", 0, 0, 0, 0, 0, 0, 0},
	{"icicle-sums-80x24", 80, 24, "4<<<<<<<<<<", 0, 0, 0, 0, 0, 0, 0},
	{"ascii-icicle-100x30", 100, 30, "4jjjjl", 0, "C", 0, 0, 0, 0, 0},
	{"no-color-icicle-80x24", 80, 24, "4jjjj/json\r", 0, 0, 0, true, 0, 0, 0},
	{"vt220-icicle-80x24", 80, 24, "4jjjj/json\r", "vt220", "C", 0, 0, 0, 0, 0},
};

static void check_bytes(struct tests *t)
{
	static const char *const keys[] = {"j", "j", "j", "j", "l", "l", "h", "j", "k", "k", "k"};
	struct terminal terminal;
	uint64_t most = 0, before;

	if (!wanted("bytes"))
		return;
	open_trace(t, &terminal, 30, 100, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "4");
	terminal_settle(&terminal);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		before = terminal.received;
		terminal_type(&terminal, keys[i]);
		terminal_settle(&terminal);
		if (terminal.received - before > most)
			most = terminal.received - before;
	}
	tell(t, most > 0 && most <= 400, "a cursor move in the icicle costs %llu bytes of 400",
		(unsigned long long)most);
	before = terminal.received;
	terminal_read_for(&terminal, 600);
	tell(t, terminal.received == before, "an idle icicle sends %llu bytes",
		(unsigned long long)(terminal.received - before));
	terminal_close(&terminal);
}

static const char *const walks[] = {"4", "4jjjjl", "4jjjj\rj", "4iH", "4/json\r"};

static const struct step steps[] = {
	{"the whole tree at first", "4", "[all] 83.9M 100.0%", "zoom:"},
	{"a click selects", "\033[<0;70;7M\033[<0;70;7m", " arena_grow   16.0M leaked   19.1 %",
		"zoom:"},
	{"a second click on a leaf opens its group", "\033[<0;70;7M\033[<0;70;7m",
		"backtrace, innermost first", NULL},
	{"q comes back to the icicle", "q", " arena_grow   16.0M leaked", "backtrace"},
	{"a click where nothing is does nothing", "\033[<0;99;20M\033[<0;99;20m",
		" arena_grow   16.0M leaked", NULL},
	{"a second click zooms", "\033[<0;9;7M\033[<0;9;7m\033[<0;9;7M\033[<0;9;7m",
		"zoom: event_loop", "[all]"},
	{"zoomed further", "j\r", "zoom: accept_cb", "http_body"},
	{"Backspace is a step", "\177", "zoom: event_loop", NULL},
	{"so is the next", "\177", "[all] 83.9M", "zoom:"},
	{"there is no further one", "\177", "this is the whole tree", NULL},
	{"= comes back from any", "\rj\r=", "[all] 83.9M", "zoom:"},
	{"what was zoomed to is selected", "k", " event_loop   56.6M leaked", NULL},
	{"a click on what is too narrow selects it", "\033[<0;96;7M\033[<0;96;7m",
		" 4 narrow bars below main", NULL},
	{"a second one gives them all columns", "\033[<0;96;7M\033[<0;96;7m",
		"main without its largest 3 ", "event_loop"},
	{"and the first of them is selected", "", " 0x4013c0   792k leaked", NULL},
	{"Backspace goes back from there, too", "\177", "│event_loop", "without"},
	{"the wheel goes down", "g\033[<65;20;9M", " main   81.0M leaked", NULL},
	{"and up", "\033[<64;20;9M", " [all]   83.9M leaked", NULL},
	{"H goes to the end of the heaviest path", "gH", " session_new   47.3M leaked   56.3 %",
		NULL},
	{"a filter keeps what is selected", "\\session\r", " session_new   47.3M leaked   100.0 %",
		"arena_grow"},
	{"and without it again", "\\\025\r", " session_new   47.3M leaked   56.3 %", NULL},
	{"i inverts", "i", "inverted", "zoom:"},
	{"and back", "i", "main first, its callees", NULL},
	{"search highlights and counts", "/_new$\r",
		"match /_new$: 1 group, 47.3M (56.3 % of view)", NULL},
	{"n goes to it", "gn", " session_new   47.3M leaked", NULL},
	{"and where nothing matches, says so", "/zzzz\rn", "no function of this view matches zzzz",
		NULL},
};

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	check_bytes(&t);
	check_walks(&t, " of the icicle", walks, sizeof walks / sizeof *walks);
	check_steps(&t, "icicle", NULL, steps, sizeof steps / sizeof *steps);
	return t.failed != 0;
}
