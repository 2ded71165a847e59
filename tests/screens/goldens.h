/* The golden screens: size, keys, terminal. */
#ifndef MT_TESTS_SCREENS_GOLDENS_H
#define MT_TESTS_SCREENS_GOLDENS_H

#include <stdbool.h>

struct golden {
	const char *name;
	int columns, rows;
	const char *keys;
	const char *term, *locale, *theme; /* NULL: xterm-256color, C.UTF-8, dark */
	bool no_color;
	const char *then;      /* keys typed when the first ones were answered */
	const char *filtering; /* where filters stop */
	bool totals;           /* of the trace without events */
};

static const struct golden goldens[] = {
	{"main-100x30", 100, 30, "", 0, 0, 0, 0, 0, 0, 0},
	{"main-80x24", 80, 24, "", 0, 0, 0, 0, 0, 0, 0},
	{"main-40x10", 40, 10, "", 0, 0, 0, 0, 0, 0, 0},
	{"main-170x40", 170, 40, "", 0, 0, 0, 0, 0, 0, 0},
	{"main-tree-40x10", 40, 10, "\t", 0, 0, 0, 0, 0, 0, 0},
	{"main-maximised-80x24", 80, 24, "\tZ", 0, 0, 0, 0, 0, 0, 0},
	{"too-small-30x8", 30, 8, "", 0, 0, 0, 0, 0, 0, 0},
	{"groups-100x30", 100, 30, "2jj", 0, 0, 0, 0, 0, 0, 0},
	{"groups-80x24", 80, 24, "2G", 0, 0, 0, 0, 0, 0, 0},
	{"groups-40x10", 40, 10, "2j", 0, 0, 0, 0, 0, 0, 0},
	{"groups-sorted-100x30", 100, 30, "2>>>>>>>>>r", 0, 0, 0, 0, 0, 0, 0},
	{"tree-100x30", 100, 30, "3jj", 0, 0, 0, 0, 0, 0, 0},
	{"tree-80x24", 80, 24, "3E", 0, 0, 0, 0, 0, 0, 0},
	{"tree-40x10", 40, 10, "3jh", 0, 0, 0, 0, 0, 0, 0},
	{"tree-inverted-100x30", 100, 30, "3i", 0, 0, 0, 0, 0, 0, 0},
	{"tree-heaviest-100x30", 100, 30, "3CH", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-100x30", 100, 30, "4llllllllll", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-80x24", 80, 24, "4ll++", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-40x10", 40, 10, "4", 0, 0, 0, 0, 0, 0, 0},
	{"overview-100x30", 100, 30, "5", 0, 0, 0, 0, 0, 0, 0},
	{"overview-80x24", 80, 24, "5j", 0, 0, 0, 0, 0, 0, 0},
	{"overview-40x10", 40, 10, "5", 0, 0, 0, 0, 0, 0, 0},
	{"detail-100x30", 100, 30, "2\r", 0, 0, 0, 0, 0, 0, 0},
	{"detail-80x24", 80, 24, "2\r", 0, 0, 0, 0, 0, 0, 0},
	{"detail-40x10", 40, 10, "2\rj", 0, 0, 0, 0, 0, 0, 0},
	{"help-100x30", 100, 30, "?", 0, 0, 0, 0, 0, 0, 0},
	{"help-search-80x24", 80, 24, "3?fold", 0, 0, 0, 0, 0, 0, 0},
	{"help-40x10", 40, 10, "?", 0, 0, 0, 0, 0, 0, 0},
	{"sort-80x24", 80, 24, "sj", 0, 0, 0, 0, 0, 0, 0},
	{"filter-80x24", 80, 24, "2\\json|session", 0, 0, 0, 0, 0, 0, 0},
	{"filter-error-80x24", 80, 24, "2\\json(", 0, 0, 0, 0, 0, 0, 0},
	{"filter-accepted-80x24", 80, 24, "2\\!json source:src/\r", 0, 0, 0, 0, 0, 0, 0},
	{"filter-empty-80x24", 80, 24, "2\\zzzz\r", 0, 0, 0, 0, 0, 0, 0},
	{"filter-fields-80x24", 80, 24, "2\\group_allocations>=3000 backtrace_depth>=5", 0, 0, 0, 0, 0, 0, 0},
	{"filter-field-error-80x24", 80, 24, "2\\group_allocations>=x", 0, 0, 0, 0, 0, 0, 0},
	{"filter-candidates-80x24", 80, 24, "2\\event lifetime:o\t\t", 0, 0, 0, 0, 0, 0, 0},
	{"filter-completed-80x24", 80, 24, "2\\back\t\t5\r", 0, 0, 0, 0, 0, 0, 0},
	{"search-80x24", 80, 24, "2/_new", 0, 0, 0, 0, 0, 0, 0},
	{"ascii-main-100x30", 100, 30, "", 0, "C", 0, 0, 0, 0, 0},
	{"ascii-tree-80x24", 80, 24, "3", 0, "C", 0, 0, 0, 0, 0},
	{"ascii-timeline-80x24", 80, 24, "4", 0, "C", 0, 0, 0, 0, 0},
	{"ascii-groups-80x24", 80, 24, "2", 0, "C", 0, 0, 0, 0, 0},
	{"vt220-main-80x24", 80, 24, "", "vt220", 0, 0, 0, 0, 0, 0},
	{"vt220-help-80x24", 80, 24, "?", "vt220", "C", 0, 0, 0, 0, 0},
	{"tmux-main-100x30", 100, 30, "", "tmux-256color", 0, 0, 0, 0, 0, 0},
	{"xterm-8-main-80x24", 80, 24, "", "xterm", 0, 0, 0, 0, 0, 0},
	{"no-color-main-100x30", 100, 30, "", 0, 0, 0, true, 0, 0, 0},
	{"no-color-tree-80x24", 80, 24, "3j", 0, 0, 0, true, 0, 0, 0},
	{"light-main-100x30", 100, 30, "", 0, 0, "light", 0, 0, 0, 0},
	{"theme-key-80x24", 80, 24, "2\033[12~\033", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-selected-100x30", 100, 30, "4llllllllllllllllllllvlllllllllllllll", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-range-100x30", 100, 30, "4llllllllllllllllllllvlllllllllllllll\r", 0, 0, 0, 0, 0, 0, 0},
	{"filtering-100x30", 100, 30, "2\\size>=1k\r", 0, 0, 0, 0, 0, "0.43", 0},
	{"filtered-100x30", 100, 30, "2\\size>=1k lifetime:only_leaked\r", 0, 0, 0, 0, 0, 0, 0},
	{"filter-refused-100x30", 100, 30, "2\\size>=1k", 0, 0, 0, 0, 0, 0, true},
	{"timeline-selected-80x24", 80, 24, "4llllllllllllllllllllvlllllllllllllll", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-range-80x24", 80, 24, "4llllllllllllllllllllvlllllllllllllll\r", 0, 0, 0, 0, 0, 0, 0},
	{"filtering-80x24", 80, 24, "2\\size>=1k\r", 0, 0, 0, 0, 0, "0.43", 0},
	{"filtered-80x24", 80, 24, "2\\size>=1k lifetime:only_leaked\r", 0, 0, 0, 0, 0, 0, 0},
	{"filter-refused-80x24", 80, 24, "2\\size>=1k", 0, 0, 0, 0, 0, 0, true},
	{"timeline-selected-40x10", 40, 10, "4lllllvllllllll", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-range-40x10", 40, 10, "4lllllvllllllll\r", 0, 0, 0, 0, 0, 0, 0},
	{"filtering-40x10", 40, 10, "2\\size>=1k\r", 0, 0, 0, 0, 0, "0.43", 0},
	{"filtered-40x10", 40, 10, "2\\size>=1k lifetime:only_leaked\r", 0, 0, 0, 0, 0, 0, 0},
	{"filter-refused-40x10", 40, 10, "2\\size>=1k", 0, 0, 0, 0, 0, 0, true},
	{"filter-refused-entered-80x24", 80, 24, "2\\size>=1k\r", 0, 0, 0, 0, 0, 0, true},
	{"range-refused-80x24", 80, 24, "4lllllvllll\r", 0, 0, 0, 0, 0, 0, true},
	{"range-filtering-80x24", 80, 24, "4lllllvllllllllll\r", 0, 0, 0, 0, 0, "0.43", 0},
	{"timeline-group-filter-80x24", 80, 24, "4\\json\r", 0, 0, 0, 0, 0, 0, 0},
	{"filtering-typed-80x24", 80, 24, "2\\size>=1k", 0, 0, 0, 0, 0, "0.43", 0},
	{"filter-cancelled-80x24", 80, 24, "2\\size>=1k\r", 0, 0, 0, 0, "\033", "0.43", 0},
	{"timeline-ends-80x24", 80, 24, "4lllll[llllllllll]lllloll", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-alive-100x30", 100, 30, "4llllllllllllllllllllllllllllllllllllllla", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-peak-80x24", 80, 24, "4A", 0, 0, 0, 0, 0, 0, 0},
	{"timeline-cleared-80x24", 80, 24, "4lllllvllll\r", 0, 0, 0, 0, "R", 0, 0},
	{"ascii-timeline-range-80x24", 80, 24, "4lllllvllll\r", 0, "C", 0, 0, 0, 0, 0},
	{"no-color-timeline-range-80x24", 80, 24, "4lllllvllll\r", 0, 0, 0, true, 0, 0, 0},
	{"range-main-100x30", 100, 30, "4llllllllllvllllll\r", 0, 0, 0, 0, "1", 0, 0},
	{"range-overview-80x24", 80, 24, "4llllllllllvllllll\r", 0, 0, 0, 0, "5", 0, 0},
	{"range-tree-80x24", 80, 24, "4llllllllllvllllll\r", 0, 0, 0, 0, "3", 0, 0},
	{"range-detail-80x24", 80, 24, "4llllllllllvllllll\r", 0, 0, 0, 0, "2\r", 0, 0},
	{"sorted-by-whole-80x24", 80, 24, "2\\size>=1k lifetime:only_leaked\r", 0, 0, 0, 0, ">>M", 0, 0},
	{"sorted-by-range-freed-80x24", 80, 24, "4llllllllllvllllll\r", 0, 0, 0, 0, "2sG\r", 0, 0},
};

#endif
