/* What the screen says at first: screen MEMTUI ARGUMENTS... prints its text at 50 rows of 160
 * columns when memtui has answered. With KEYS in the environment these are typed, with UNTIL that
 * text is waited for. */
#include "tests/screens/harness.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const struct settings settings = {.term = "xterm-256color", .locale = "C.UTF-8"};
	const char *until = getenv("UNTIL"), *keys = getenv("KEYS");
	struct terminal terminal;

	if (argc < 3)
		return 2;
	terminal_start(&terminal, 50, 160, &settings, argv + 1);
	if (keys && terminal_settle(&terminal))
		terminal_type(&terminal, keys);
	bool answered = until ? terminal_wait_text(&terminal, until) : terminal_settle(&terminal);
	char *text = terminal_text(&terminal);

	puts(text);
	free(text);
	terminal_close(&terminal);
	return !answered;
}
