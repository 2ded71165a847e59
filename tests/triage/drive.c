/* Types into a program in a terminal and prints the screen that it leaves: drive ROWS COLUMNS
 * KEYS... -- PROGRAM ARGUMENTS... Waits after each KEYS until the program has answered; a KEYS that
 * begins with '!' is a command for the shell meanwhile. When the program ended by the last keys,
 * what is printed is what it left on the terminal. */
#include "tests/screens/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8"};
	struct terminal terminal;
	int first = 3;

	while (first < argc && strcmp(argv[first], "--"))
		first++;
	if (first + 1 >= argc)
		return 2;
	terminal_start(&terminal, atoi(argv[1]), atoi(argv[2]), &s, argv + first + 1);
	bool answered = terminal_settle(&terminal);

	for (int i = 3; i < first && answered; i++) {
		bool last = i + 1 == first;

		if (argv[i][0] == '!') {
			answered = system(argv[i] + 1) == 0;
			continue;
		}
		terminal_type(&terminal, argv[i]);
		answered = terminal_settle(&terminal) || (last && terminal.ended);
	}
	char *screen = terminal_text(&terminal);

	printf("%s", screen);
	if (!answered)
		printf("drive: not answered\n");
	free(screen);
	if (!terminal.ended) {
		terminal_type(&terminal, "Q");
		terminal_wait_end(&terminal);
	}
	terminal_close(&terminal);
	return !answered;
}
