/* Every screen that memtui can show, once: in what world it is, and the keys that lead there and
 * back. */
#ifndef MT_TESTS_SCREENS_PLACES_H
#define MT_TESTS_SCREENS_PLACES_H

#include <stdbool.h>

enum world {
	MADE,
	LOG,
	FAMILY,
	TWO,
	TOTALS,
	BEGUN,
	FREED,
	BARE,
	BROKEN,
	SAVES,
	RUNS,
	ENDED,
	WORLDS
};

/* What memtui is started with. */
static const struct world_info {
	const char *trace, *second; /* kinds of make_trace */
	char *script;               /* a program that runs instead */
	bool output;                /* its trace has a name */
	bool goes_on;               /* in the terminal of the world before */
	const char *begin[8];       /* keys at the beginning, one after another */
	const char *wait;           /* text that tells of the beginning */
} worlds[WORLDS] = {
#define SCRIPT \
	"printf '\\033[1;31mready\\033[0m \\033[44mto\\033[0m \\033[4mread\\033[0m\\nwide " \
	"\\346\\227\\245\\346\\234\\254 end\\n'; "
	[MADE] = {"short"},
	[LOG] = {"log", .begin = {"2gtl", "jti", "jtf", "jtx", "j a", "owner: ann\r"}},
	[FAMILY] = {"family", .begin = {"5lllllllllla", "S", "lllllllllllllllllllla", "S", "R"}},
	[TWO] = {"golden", "later"},
	[TOTALS] = {"totals"},
	[BEGUN] = {"begun"},
	[FREED] = {"freed"},
	[BARE] = {"bare"},
	[BROKEN] = {"broken"},
	[SAVES] = {.script = SCRIPT "read x", .output = true, .begin = {"O"}, .wait = "wide"},
	[RUNS] = {.script = SCRIPT "read x", .begin = {"O"}, .wait = "wide"},
	[ENDED] = {.script = "", .goes_on = true, .begin = {"\r", "\r"}, .wait = "program exited"},
};

/* Names of MT_TABS, MT_OVERLAYS and MT_PROMPTS have to be among these. */
static const struct place {
	enum world world;
	const char *name, *keys, *back;
} places[] = {
	{MADE, "main", "1", ""},
	{MADE, "groups", "2", ""},
	{MADE, "tree", "3", ""},
	{MADE, "icicle", "4", ""},
	{MADE, "timeline", "5", ""},
	{MADE, "diff-none", "6", ""},
	{MADE, "triage", "7", ""},
	{MADE, "blocks", "8", ""},
	{MADE, "processes-alone", "9", ""},
	{MADE, "log-plain", "0", ""},
	{MADE, "overview", "V", ""},
	{MADE, "detail", "2\r", "q"},
	{MADE, "blocks-group", "2g\rb", "\1772g"},
	{MADE, "timeline-selecting", "5lllllvlllll", "v="},
	{MADE, "help", "1?", "\033"},
	{MADE, "palette", "2:zoom", "\033"},
	{MADE, "sort", "2s", "\033"},
	{MADE, "columns", "2c", "\033"},
	{MADE, "themes", "2T", "\033"},
	{MADE, "setup", "2\033OQ", "\033"},
	{MADE, "judge", "2t", "\033"},
	{MADE, "welcome", "2I", "\033"},
	{MADE, "search", "2/_new", "\033"},
	{MADE, "filter", "2\\size>=1k lifetime:o", "\033"},
	{MADE, "filter-wrong", "2\\json(", "\033"},
	{MADE, "note", "2aowner: ann", "\033"},
	{MADE, "write", "7w", "\033"},
	{MADE, "hidden-main", "\\zzzz\r1", ""},
	{MADE, "hidden-groups", "2", ""},
	{MADE, "hidden-tree", "3", ""},
	{MADE, "hidden-icicle", "4", ""},
	{MADE, "hidden-triage", "7", ""},
	{MADE, "hidden-blocks", "8", ""},
	{MADE, "hidden-overview", "V", "\\\025\r"},
	{LOG, "log", "0", ""},
	{LOG, "timeline-marks", "5", ""},
	{LOG, "triage-judged", "7", ""},
	{LOG, "groups-judged", "2", ""},
	{FAMILY, "processes", "9", ""},
	{FAMILY, "diff-snapshots", "6", ""},
	{TWO, "diff", "6", ""},
	{TOTALS, "blocks-totals", "8", ""},
	{BEGUN, "begun-main", "1", ""},
	{BEGUN, "begun-groups", "2", ""},
	{BEGUN, "begun-tree", "3", ""},
	{BEGUN, "begun-icicle", "4", ""},
	{BEGUN, "begun-timeline", "5", ""},
	{BEGUN, "begun-triage", "7", ""},
	{BEGUN, "begun-blocks", "8", ""},
	{FREED, "freed-groups", "2", ""},
	{FREED, "freed-triage", "7", ""},
	{FREED, "freed-overview", "V", ""},
	{BARE, "bare-groups", "2", ""},
	{BARE, "bare-detail", "2\r", "q"},
	{BROKEN, "broken-main", "1", ""},
	{SAVES, "output", "", ""},
	{SAVES, "output-typing", "\r", "\035"},
	{SAVES, "signals", "K", "\033"},
	{SAVES, "quit-named", "Q", "\033"},
	{RUNS, "quit", "Q", "\033"},
	{ENDED, "output-ended", "", ""},
	{ENDED, "quit-ended", "Q", "\033"},
};
#define PLACES (sizeof places / sizeof *places)

#endif
