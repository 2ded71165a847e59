/* Suspicion on the screen: the order, the overview, the detail with its reasons. rank_test as
 * screens_test. */
#include "screens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct golden goldens[] = {
	{.name = "rank-groups-100x30", .columns = 100, .rows = 30, .keys = "2L"},
	{.name = "rank-overview-sorted-100x30", .columns = 100, .rows = 30, .keys = "LV"},
	{.name = "rank-groups-80x24", .columns = 80, .rows = 24, .keys = "2L"},
	{.name = "rank-groups-40x10", .columns = 40, .rows = 10, .keys = "2L"},
	{.name = "rank-main-80x24", .columns = 80, .rows = 24, .keys = "L"},
	{.name = "rank-estimates-80x24", .columns = 80, .rows = 24, .keys = "2L", .totals = true},
	{
		.name = "rank-estimates-overview-80x24",
		.columns = 80,
		.rows = 24,
		.keys = "V",
		.totals = true,
	},
	{
		.name = "rank-estimates-detail-80x24",
		.columns = 80,
		.rows = 24,
		.keys = "2L\r",
		.totals = true,
	},
	{.name = "rank-detail-mixed-80x24", .columns = 80, .rows = 24, .keys = "2/json_node\r\r"},
	{.name = "rank-detail-mixed-40x10", .columns = 40, .rows = 10, .keys = "2/json_node\r\r"},
	{.name = "rank-detail-steady-100x30", .columns = 100, .rows = 30, .keys = "2/scratch\r\r"},
	{
		.name = "rank-detail-warm-up-80x24",
		.columns = 80,
		.rows = 24,
		.keys = "2/arena_grow\r\r",
	},
	{
		.name = "rank-detail-ascii-80x24",
		.columns = 80,
		.rows = 24,
		.keys = "2L\r",
		.locale = "C",
	},
	{
		.name = "rank-detail-no-color-80x24",
		.columns = 80,
		.rows = 24,
		.keys = "2L\r",
		.no_color = true,
	},
	{.name = "rank-detail-next-80x24", .columns = 80, .rows = 24, .keys = "2L\r}}{"},
};

static bool shows(struct terminal *terminal, const char *keys, const char *text)
{
	terminal_type(terminal, keys);
	terminal_settle(terminal);

	char *screen = terminal_text(terminal);
	bool found = strstr(screen, text) != NULL;

	if (!found)
		printf("==== no '%s' in\n%s", text, screen);
	free(screen);
	return found;
}

static void check_order(struct tests *t)
{
	struct terminal terminal;

	open_trace(t, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	tell(t, shows(&terminal, "2L", "sorted by leak score"),
		"L sorts by suspicion, and says so");
	tell(t, shows(&terminal, "j", "SUSPECT"), "the column is there");
	tell(t, shows(&terminal, "GL", "▶     47.3M") && shows(&terminal, "GL", "▶     47.3M"),
		"the first line is selected then, wherever one was");
	tell(t, shows(&terminal, "L", "sorted by bytes not freed"),
		"L again sorts by what was not freed");
	tell(t, shows(&terminal, "\\size>=1M\r", "filter: "), "a filter by sizes is in force");
	tell(t, shows(&terminal, "L", "sorted by leak score"),
		"suspicion is that of whole groups where single blocks are filtered");
	terminal_close(&terminal);
}

/* The inverted tree: the function that asked for the memory, in its own row, then its callers. */
static void check_inverted(struct tests *t)
{
	struct terminal terminal;

	open_trace(t, &terminal, 24, 80, NULL);
	terminal_settle(&terminal);
	tell(t, shows(&terminal, "3i", "47.3M      3136 ▾ session_new"),
		"an allocating function has its own bytes");
	tell(t, shows(&terminal, "g", "session.c:10"), "and its own line");
	tell(t, shows(&terminal, "j\r", "leaked 47.3M in 3136 blocks"),
		"Enter on its caller opens the largest group");
	terminal_close(&terminal);
}

/* Why a group has its score is said to its last word, in each group's detail. */
static void check_whole(struct tests *t, const char *kind, int columns)
{
	struct golden g = {.totals = !strcmp(kind, "totals")};
	struct terminal terminal;
	int cut = 0, seen = 0;

	open_trace(t, &terminal, 24, columns, &g);
	terminal_settle(&terminal);
	terminal_type(&terminal, "2L\r");
	for (int i = 0; i < 17; i++, terminal_type(&terminal, "}")) {
		terminal_settle(&terminal);
		char *screen = terminal_text(&terminal), *from = strstr(screen, "leak score ");
		char *to = from ? strstr(from, " trend ") : NULL;

		if (to) {
			*to = '\0';
			seen++;
			cut += strstr(from, "\u2026") || !strstr(from, "freed");
			if (strstr(from, "\u2026") || !strstr(from, "freed"))
				printf("%s\n", from);
		}
		free(screen);
	}
	tell(t, seen == 17 && !cut, "why it is suspected is read whole at %d columns, %s: %d of %d",
		columns, kind, seen - cut, seen);
	terminal_close(&terminal);
}

/* The order that memtui is started with: scores out of the events, never what totals alone say. */
static void check_start(struct tests *t)
{
	struct settings s = {.term = "xterm-256color", .locale = "C.UTF-8", .directory = t->source};
	char *argv[] = {t->memtui, "open", "--sort", "suspect", t->trace, NULL};
	struct terminal terminal;

	terminal_start(&terminal, 24, 80, &s, argv);
	terminal_settle(&terminal);
	tell(t, shows(&terminal, "2", "3136        90 "),
		"--sort suspect: the events are gone over for the scores");
	terminal_close(&terminal);
}

int main(int argc, char **argv)
{
	struct tests t = tests_begin(argc, argv);

	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
		check_golden(&t, &goldens[i]);
	if (wanted("whole"))
		for (int columns = 40; columns <= 80; columns += 20) {
			check_whole(&t, "events", columns);
			check_whole(&t, "totals", columns);
		}
	if (wanted("order"))
		check_order(&t);
	if (wanted("order"))
		check_start(&t);
	if (wanted("inverted"))
		check_inverted(&t);
	return t.failed != 0;
}
