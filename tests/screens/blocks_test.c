/* Golden screens and behaviour of the list of single blocks. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct golden goldens[] = {
	{"blocks-100x30", 100, 30, "8", 0, 0, 0, 0, "j", 0, 0},
	{"blocks-80x24", 80, 24, "8", 0, 0, 0, 0, "jj", 0, 0},
	{"blocks-40x10", 40, 10, "8", 0, 0, 0, 0, 0, 0, 0},
	{"blocks-by-time-100x30", 100, 30, "8<<", 0, 0, 0, 0, 0, 0, 0},
	{"blocks-by-address-40x10", 40, 10, "8>", 0, 0, 0, 0, 0, 0, 0},
	{"blocks-by-lifetime-80x24", 80, 24, "8<r", 0, 0, 0, 0, 0, 0, 0},
	{"blocks-of-group-100x30", 100, 30, "2j\rb", 0, 0, 0, 0, 0, 0, 0},
	{"blocks-filtered-80x24", 80, 24, "8\\size>=1k lifetime:only_leaked\r", 0, 0, 0, 0, 0, 0,
		0},
	{"blocks-empty-80x24", 80, 24, "8\\size>=1G\r", 0, 0, 0, 0, 0, 0, 0},
	{"blocks-empty-40x10", 40, 10, "8\\size>=1G\r", 0, 0, 0, 0, 0, 0, 0},
	{"blocks-going-80x24", 80, 24, "8", 0, 0, 0, 0, 0, "0.43", 0},
	{"blocks-going-40x10", 40, 10, "8", 0, 0, 0, 0, 0, "0.43", 0},
	{"blocks-cancelled-80x24", 80, 24, "8", 0, 0, 0, 0, "\033", "0.43", 0},
	{"blocks-search-80x24", 80, 24, "8", 0, 0, 0, 0, "/log_", 0, 0},
};

static void check_bytes(struct tests *t)
{
	struct terminal terminal;
	uint64_t most = 0, before;

	if (!wanted("bytes"))
		return;
	open_trace(t, &terminal, 30, 100, NULL);
	terminal_settle(&terminal);
	terminal_type(&terminal, "8");
	terminal_settle(&terminal);
	for (int i = 0; i < 6; i++) {
		before = terminal.received;
		terminal_type(&terminal, i < 3 ? "j" : "k");
		terminal_settle(&terminal);
		if (terminal.received - before > most)
			most = terminal.received - before;
	}
	tell(t, most > 0 && most <= 400, "a cursor move in blocks costs %llu bytes of 400",
		(unsigned long long)most);
	before = terminal.received;
	terminal_read_for(&terminal, 600);
	tell(t, terminal.received == before, "idle blocks send %llu bytes",
		(unsigned long long)(terminal.received - before));
	terminal_close(&terminal);
}

static const char *const walks[] = {"8", "8<r", "2j\rb"};

static const struct step steps[] = {
	{"the largest live ones at first", "8",
		"the live and largest 10,000 of 209,030 blocks, 357M", "lowest"},
	{"a click on a heading sorts by it", "\033[<0;10;4M\033[<0;10;4m",
		"the first 10,000 of 209,030", NULL},
	{"another one turns the order round", "\033[<0;10;4M\033[<0;10;4m",
		"the latest 10,000 of 209,030", NULL},
	{"a click on one without an order does nothing", "\033[<0;36;4M\033[<0;36;4m",
		"the latest 10,000", NULL},
	{"> goes on to the next order", ">", "the longest-lived 10,000", NULL},
	{"r reverses", "r", "the shortest-lived 10,000", NULL},
	{"a filter by groups", "\\cache_init\r", " 1 block, 6.3M", "10,000"},
	{"Enter opens the group", "\r", "group #", "10,000"},
	{"q comes back to the blocks", "q", " 1 block, 6.3M", "backtrace"},
	{"a filter by single blocks", "\\\025size>=1M\r", " 17 blocks, 22.3M", NULL},
	{"and without a filter all are there", "\\\025\r", "of 209,030 blocks", NULL},
	{"b lists the blocks of a group alone", "2gj\rb",
		" 16 blocks of group #4, 16.0M   Backspace", "209,030"},
	{"q goes back to the group", "q", "backtrace, innermost first", "209,030"},
	{"8 turns to that list again", "8", " 16 blocks of group #4, 16.0M   Backspace", NULL},
	{"Backspace lists all", "\177", "of 209,030 blocks", "of group"},
	{"a click selects, a second one opens",
		"\033[<0;30;7M\033[<0;30;7m\033[<0;30;7M\033[<0;30;7m", "backtrace, innermost",
		NULL},
	{"search goes to what matches", "q/list_append\r", "lines match", NULL},
	{"Enter on it opens it", "\r", "list_append (inlined)", "209,030"},
};

static const struct step held[] = {
	{"progress is told", "8", "reading events: 43 %   Esc cancels", "WHERE\n  "},
	{"other views answer meanwhile", "2j", "[2 Groups]", "reading"},
	{"and it goes on", "8", "reading events: 43 %", NULL},
	{"Esc cancels", "\033", "cancelled; Enter reads", "43 %"},
	{"Enter asks again", "\r", "reading events: 43 %", "cancelled"},
	{"another order takes its place", "<", "reading events: 43 %", "cancelled"},
	{"q leaves meanwhile", "q", "[1 Main]", NULL},
};

int main(int argc, char **argv)
{
	static const struct golden holds = {.filtering = "0.43"};
	struct tests t = tests_begin(argc, argv);

	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	check_bytes(&t);
	check_walks(&t, " of blocks", walks, sizeof walks / sizeof *walks);
	check_steps(&t, "blocks", NULL, steps, sizeof steps / sizeof *steps);
	check_steps(&t, "blocks", &holds, held, sizeof held / sizeof *held);
	return t.failed != 0;
}
