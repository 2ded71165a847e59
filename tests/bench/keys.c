/* keys MEMTUI TRACE: milliseconds from a key to the picture that answers it, in every view, at 100x30. The terminal is a
 * pseudo-terminal; a picture counts when memtui says in band that nothing is left to draw. */
#include "tests/screens/harness.h"
#include "tui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 20

static const char *const action_keys[] = {
#define X(id, scope, keys, bar, name, words) keys,
	MT_ACTIONS(X)
#undef X
};

static const struct { const char *name; enum mt_action action; } tabs[] = {
#define X(id, name) {#name, MT_ACTION_##id},
	MT_TABS(X)
#undef X
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double answer(struct terminal *terminal, const char *keys)
{
	double start = now_ms();

	terminal_type(terminal, keys);
	if (!terminal_settle(terminal)) {
		fprintf(stderr, "keys: no answer to '%s'\n", keys);
		exit(1);
	}
	return now_ms() - start;
}

/* To the first bytes of a picture: where work goes on behind it, its progress. */
static double first_answer(struct terminal *terminal, const char *keys)
{
	uint64_t before = terminal->received;
	double start = now_ms(), end;

	terminal_type(terminal, keys);
	while (terminal->received == before && now_ms() - start < 20000)
		terminal_read_for(terminal, 1);
	end = now_ms();
	return end - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report(const char *name, double first, double turn, double *each)
{
	qsort(each, ROUNDS, sizeof *each, by_value);
	printf("%-12s %8.1f %8.1f %8.1f %8.1f%s\n", name, first, turn, each[ROUNDS / 2], each[ROUNDS - 1],
		first > 100 || each[ROUNDS - 1] > 100 ? "   over 100 ms" : "");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8"};
	struct terminal terminal;
	double each[ROUNDS], start = now_ms();

	if (argc != 3) {
		fprintf(stderr, "keys MEMTUI TRACE\n");
		return 2;
	}
	terminal_start(&terminal, 30, 100, &s, (char *[]){argv[1], "open", argv[2], NULL});
	if (!terminal_wait_text(&terminal, "groups") || !terminal_settle(&terminal)) {
		fprintf(stderr, "keys: %s was not opened\n", argv[2]);
		return 1;
	}
	printf("opened in %.0f ms\n%-12s %8s %8s %8s %8s\n", now_ms() - start, "ms", "turn to", "complete", "move", "most");
	answer(&terminal, "2"); /* the main screen is there already: to come back is what can be measured */
	for (size_t i = 0; i < sizeof tabs / sizeof *tabs; i++) {
		char key[2] = {action_keys[tabs[i].action][0], '\0'};

		if (tabs[i].action == MT_ACTION_OUTPUT)
			continue;
		double began = now_ms(), first = first_answer(&terminal, key), turn;

		if (!terminal_settle(&terminal))
			return 1;
		turn = now_ms() - began;

		for (int n = 0; n < ROUNDS; n++)
			each[n] = answer(&terminal, n % 4 == 3 ? "\033[C" : "\033[B");
		report(tabs[i].name, first, turn, each);
	}
	terminal_close(&terminal);
	return 0;
}
