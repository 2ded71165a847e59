/* The prompts: a text that is refused stays to be mended, earlier ones come back, also in the next
 * session, and functions are completed. Arguments as screens_test. */
#include "comfort.h"

static void check(struct tests *t, struct terminal *terminal, const char *keys, const char *text,
	const char *name)
{
	tell(t, shows(terminal, keys, text), "%s", name);
}

/* The sentence in whole, and below the text the place that it is about. */
static void check_refused(struct tests *t)
{
	struct settings s = {0};
	struct terminal terminal;

	start(t, &terminal, &s);
	check(t, &terminal, "2\\json(\r", "filter> json(", "a filter that is refused stays");
	check(t, &terminal, "", "expected ')'\n('\\(' for a parenthesis itself)\nfilter> json(",
		"all of what is wrong stands above it");
	check(t, &terminal, "", "\n             ^\n", "and the place below it");
	check(t, &terminal, ")\r", "filter: json()", "keys go on editing it");
	check(t, &terminal, "\\\025size>=4k lifetime>=x\r",
		"\n"
		"                 ^\n",
		"a wrong value has its place, too");
	check(t, &terminal, "\033", "filter: json()", "Esc goes back to the filter before");
	check(t, &terminal, "\\\025json size=>1k", "size=>1k at character 6: write size>=1k",
		"an operator that was meant is named");
	check(t, &terminal, "", "1/17 groups", "and the other words are in force meanwhile");
	check(t, &terminal, "\033", "filter: json()", "until Esc gives them up");
	check(t, &terminal, "/new(\r", "search> new(", "so is a search that is refused");
	check(t, &terminal, "\033w7", "[7Triage]", "and Esc gives it up");
	check(t, &terminal, "tlw\025/nonexistent/x\r", "write> /nonexistent/x",
		"a file that cannot be written asks for another one");
	check(t, &terminal, "", "cannot be written: No such file", "and says why");
	terminal_close(&terminal);
}

static void check_history(struct tests *t)
{
	char directory[1024], path[1200];
	struct settings s = {.config = directory};
	struct terminal terminal;

	user_file(t, directory, "prompt-history", "welcomed", "");
	snprintf(path, sizeof path, "%s/memtui/history", directory);
	unlink(path);
	start(t, &terminal, &s);
	check(t, &terminal, "2\\json\r\\\025cache\r/_new\r", "match", "two filters and a search");
	check(t, &terminal, "\\\025arena\033[A", "filter> cache ", "Up brings the last one back");
	check(t, &terminal, "\033[A", "filter> json ", "and the one before");
	check(t, &terminal, "\033[A", "filter> json ", "where there are no more it stays");
	check(t, &terminal, "\033[B\033[B", "filter> arena ", "Down leads to what was typed");
	check(t, &terminal, "\033/\033[A", "search> _new ", "a search has a history of its own");
	terminal_close(&terminal);
	start(t, &terminal, &s);
	check(t, &terminal, "2\\\025\033[A", "filter> cache ", "it is there in the next session");
	check(t, &terminal, "\033[A\r\\\033[A\033[A", "filter> cache ",
		"what is used again is the last one");
	terminal_close(&terminal);
}

static void check_words(struct tests *t)
{
	struct settings s = {0};
	struct terminal terminal;

	start(t, &terminal, &s);
	check(t, &terminal, "2\\js", "^json_node_alloc$ 1  ^json_parse_value$ 1",
		"functions are offered with the groups that they are in");
	check(t, &terminal, "\t\t", "filter> ^json_node_alloc$ ", "Tab takes one");
	check(t, &terminal, "", "1/17 groups", "which matches as many groups");
	check(t, &terminal, "\025event_loop accept", "1/17 groups", "words are and-ed");
	terminal_close(&terminal);
}

/* A click on a tab changes the view below an open prompt: to one without lines, too. */
static void check_view_below(struct tests *t)
{
	struct settings s = {0};
	struct terminal terminal;

	start(t, &terminal, &s);
	check(t, &terminal, "2/new", "search> new", "a search begins in the groups");
	check(t, &terminal, "\033[<0;30;2M\033[<0;30;2m", "[5Time", "a click leaves them");
	check(t, &terminal, "_", "search> new_", "the prompt goes on where there are no lines");
	check(t, &terminal, "\033wn", "[5Time", "and Esc and a further search are no end");
	check(t, &terminal, "2/_new\r", "; n next", "the groups can be searched again");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	if (!wanted("prompt"))
		return 0;
	check_refused(&t);
	check_history(&t);
	check_words(&t);
	check_view_below(&t);
	return t.failed != 0;
}
