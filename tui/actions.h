/* Every action of the program, once. The keymap, the key bar, the help overlay and the manual come
 * from this list.
 * X(id, scope, keys, bar, name, words)
 * scope: where the keys mean this. keys: names separated by blanks, the first one is shown.
 * bar: rank in the key bar, 1 first, 0 not there. name: as in the key bar. words: as in help. */
#ifndef MT_TUI_ACTIONS_H
#define MT_TUI_ACTIONS_H

#define MT_SCOPES(X) \
	X(MOVE, "Move") \
	X(FOLD, "Open and close") \
	X(VIEWS, "Views") \
	X(FIND, "Find") \
	X(COLUMNS, "Columns") \
	X(GROUPS, "Groups") \
	X(TRIAGE, "Triage") \
	X(JUDGE, "After t") \
	X(QUEUE, "Triage screen") \
	X(TREE, "Call tree") \
	X(TIMELINE, "Timeline") \
	X(ICICLE, "Icicle") \
	X(DIFF, "Difference") \
	X(DETAIL, "Group detail") \
	X(PROGRAM, "Program output") \
	X(OVERVIEW, "Overview") \
	X(LIVE, "Live session") \
	X(OUT, "Elsewhere") \
	X(APP, "Program")

enum mt_scope {
#define X(id, words) MT_SCOPE_##id,
	MT_SCOPES(X) MT_SCOPE_COUNT,
#undef X
};

#define MT_ACTIONS(X) \
	X(HELP, APP, "F1 ?", 1, "Help", "this list; type to search it, Enter runs the line") \
	X(PALETTE, APP, ":", 0, "Palette", \
		"find any action by a few letters of its name, and run it") \
	X(DOWN, MOVE, "j Down ^N", 0, "Down", "one line down") \
	X(UP, MOVE, "k Up ^P", 0, "Up", "one line up") \
	X(TOP, MOVE, "g Home", 0, "Top", "to the first line") \
	X(BOTTOM, MOVE, "G End", 0, "Bottom", "to the last line") \
	X(HALF_DOWN, MOVE, "^D", 0, "Half down", "half a page down") \
	X(HALF_UP, MOVE, "^U", 0, "Half up", "half a page up") \
	X(PAGE_DOWN, MOVE, "PgDn ^F", 0, "Page down", "a page down") \
	X(PAGE_UP, MOVE, "PgUp ^B", 0, "Page up", "a page up") \
	X(FOLLOW, MOVE, "F", 5, "Follow", \
		"follow the newest line, or a list's first one; again: stay") \
	X(CENTRE, MOVE, "z", 0, "Centre", "bring the selected line to the middle") \
	X(OPEN, FOLD, "Enter", 7, "Open", \
		"open the selected line: a branch, or a group with its backtrace") \
	X(BACK, FOLD, "q", 12, "Back", \
		"back to where this was opened from; quit at the first screen") \
	X(PARENT, FOLD, "Backspace", 0, "Parent", "up to the caller; out of a group") \
	X(CANCEL, FOLD, "Esc", 0, "Cancel", "close what is open on top") \
	X(MAIN, VIEWS, "1", 0, "Main", "call tree, groups and heap at once") \
	X(GROUPS, VIEWS, "2", 0, "Groups", "groups of allocations with one backtrace") \
	X(TREE, VIEWS, "3", 0, "Tree", "the call tree") \
	X(ICICLE, VIEWS, "4", 0, "Icicle", "the call tree as bars of their width in the whole") \
	X(TIMELINE, VIEWS, "5", 0, "Timeline", "the heap over time") \
	X(DIFF, VIEWS, "6", 0, "Difference", \
		"what changed between two traces, or since a snapshot") \
	X(TRIAGE, VIEWS, "7", 0, "Triage", \
		"the queue of leaks that nobody has judged yet, and what was judged") \
	X(BLOCKS, VIEWS, "8", 0, "Blocks", "single allocations, one a line") \
	X(PROCESSES, VIEWS, "9", 0, "Processes", \
		"the processes of the recording, each with its totals") \
	X(LOG, VIEWS, "0", 0, "Log", "losses, warnings, modules and what else happened") \
	X(OVERVIEW, VIEWS, "V", 0, "Overview", "rates, largest and fastest growing groups") \
	X(OUTPUT, VIEWS, "O", 0, "Output", "the terminal of the program under test") \
	X(NEXT_PANE, VIEWS, "Tab", 0, "Pane", "to the next pane") \
	X(PREVIOUS_PANE, VIEWS, "S-Tab", 0, "Pane back", "to the previous pane") \
	X(MAXIMISE, VIEWS, "Z", 11, "Maximise", \
		"give the whole screen to the pane, or take it back") \
	X(NAMES, VIEWS, "x", 10, "Names", \
		"show long names whole, or fold template arguments and parameters again") \
	X(SEARCH, FIND, "F3 /", 2, "Search", "search the lines of this list (PCRE2; smart case)") \
	X(FILTER, FIND, "F4 \\", 3, "Filter", \
		"show matching groups only: words, field:value, !field:value") \
	X(NEXT_MATCH, FIND, "n", 0, "Next", "to the next match") \
	X(PREVIOUS_MATCH, FIND, "N", 0, "Previous", "to the previous match") \
	X(ALL_TIMES, FIND, "R", 0, "All times", "take from:, to: and alive_at: out of the filter") \
	X(AT_PEAK, FIND, "A", 0, "At the peak", \
		"filter: what was live at the peak of the heap; again: all") \
	X(SORT, COLUMNS, "F6 s m", 4, "Sort", "pick the metric to sort by, out of all") \
	X(SORT_LEFT, COLUMNS, "<", 0, "Sort left", "sort by the metric before") \
	X(SORT_RIGHT, COLUMNS, ">", 0, "Sort right", "sort by the metric after") \
	X(SORT_WHOLE, COLUMNS, "M", 0, "Whole groups", \
		"order groups by what matched of them, or by all (all.)") \
	X(SUSPECTS, COLUMNS, "L", 6, "Leaks", \
		"sort by suspicion of a leak; again: by bytes not freed") \
	X(COLUMNS, COLUMNS, "c", 0, "Columns", \
		"choose the metrics in the list of groups, and their order") \
	X(REVERSE, GROUPS, "r", 8, "Reverse", "reverse the order") \
	X(MARK, TRIAGE, "Space", 0, "Mark", \
		"mark the group, or all below the branch, to judge, note or copy") \
	X(UNMARK, TRIAGE, "U", 0, "Unmark", "take all marks away") \
	X(JUDGE, TRIAGE, "t", 9, "Judge", "say what the group is: asks for one key more") \
	X(NOTE, TRIAGE, "a", 0, "Note", \
		"write a note about the group, which its next run brings back") \
	X(SHOW_HIDDEN, TRIAGE, "X", 0, "Hidden", "show suppressed groups, or hide them again") \
	X(COPY_REPORT, TRIAGE, "Y", 0, "Copy report", \
		"copy a Markdown report of what is marked, else of all judged") \
	X(JUDGE_LEAK, JUDGE, "l", 0, "leak", "it is a leak") \
	X(JUDGE_INVESTIGATING, JUDGE, "i", 0, "investigating", "somebody looks into it") \
	X(JUDGE_FIXED, JUDGE, "f", 0, "fixed", \
		"it is fixed: a later run in which it leaks says that it came back") \
	X(JUDGE_SUPPRESSED, JUDGE, "x", 0, "suppress", \
		"it is meant to be: hidden, and written as a suppression") \
	X(JUDGE_NEW, JUDGE, "n", 0, "new", "nothing is known of it: back into the queue") \
	X(JUDGE_UNDO, JUDGE, "u", 0, "undo", \
		"take the last judgement or note back, as often as there are some") \
	X(WRITE_REPORT, QUEUE, "w", 10, "Write", \
		"write the report to a file; NAME.supp: LeakSanitizer's rules") \
	X(FOLD_IN, TREE, "h Left", 0, "Fold", "close the branch, or go to its caller") \
	X(FOLD_OUT, TREE, "l Right", 0, "Unfold", "open the branch, or go to its first callee") \
	X(INVERT, TREE, "i", 5, "Invert", "start from the allocating functions, or from main") \
	X(MORE, TREE, "+", 9, "Level", "open one level more everywhere") \
	X(LESS, TREE, "-", 0, "Less", "open one level less everywhere") \
	X(EXPAND, TREE, "E", 10, "All", "open everything below the line") \
	X(COLLAPSE, TREE, "C", 0, "Collapse", "close everything below the line") \
	X(HEAVIEST, TREE, "H", 0, "Heaviest", "open the heaviest path") \
	X(CELL_LEFT, ICICLE, "h Left", 0, "Left", "to the bar on the left in this row") \
	X(CELL_RIGHT, ICICLE, "l Right", 0, "Right", "to the bar on the right in this row") \
	X(ZOOM, ICICLE, "Enter", 5, "Zoom", \
		"give the bar all columns; where none is below: open its group") \
	X(UNZOOM, ICICLE, "Backspace", 6, "Unzoom", "back to what was shown before the last zoom") \
	X(UNZOOM_ALL, ICICLE, "=", 9, "Whole", "show the whole tree again") \
	X(INVERT_ICICLE, ICICLE, "i", 8, "Invert", \
		"start from the allocating functions, or from main") \
	X(HEAVIEST_CELL, ICICLE, "H", 10, "Heaviest", "down to the end of the heaviest path") \
	X(CURSOR_LEFT, TIMELINE, "h Left", 0, "Earlier", "one step earlier") \
	X(CURSOR_RIGHT, TIMELINE, "l Right", 0, "Later", "one step later") \
	X(SELECT, TIMELINE, "v Space", 5, "Select", \
		"begin a range of time at the cursor, or give it up; or drag") \
	X(SELECT_FROM, TIMELINE, "[", 0, "From here", "the range begins at the cursor") \
	X(SELECT_TO, TIMELINE, "]", 0, "To here", "the range ends at the cursor") \
	X(OTHER_END, TIMELINE, "o", 0, "Other end", \
		"to the other end of the range, to move that one") \
	X(APPLY, TIMELINE, "Enter", 7, "Apply", \
		"filter by the range, in every view: from: and to:") \
	X(ALIVE_HERE, TIMELINE, "a", 8, "Live here", "filter: what was live at the cursor's time") \
	X(MEASURE, TIMELINE, "m", 4, "Measure", \
		"draw live bytes, blocks, rates, growth or resident memory in turn") \
	X(NEXT_MARK, TIMELINE, "n", 0, "Next mark", \
		"to the next mark: peak, marker, snapshot, pause or loss") \
	X(PREVIOUS_MARK, TIMELINE, "N", 0, "Mark before", "to the mark before") \
	X(ZOOM_IN, TIMELINE, "+", 6, "Zoom", "zoom in at the cursor") \
	X(ZOOM_OUT, TIMELINE, "-", 0, "Zoom out", "zoom out") \
	X(ZOOM_FIT, TIMELINE, "=", 9, "Fit", "show the whole run") \
	X(SWAP, DIFF, "D", 5, "Swap", "A and B change places") \
	X(HIDE_SAME, DIFF, "=", 6, "Same", "show or hide groups that stayed the same") \
	X(SNAPSHOT, VIEWS, "S", 0, "Snapshot", \
		"note the totals of all groups now, to compare with later") \
	X(BASELINE, VIEWS, "d", 0, "Baseline", \
		"compare with now; in the difference: with the next snapshot") \
	X(NEXT_GROUP, DETAIL, "}", 5, "Next", "the next group of the list") \
	X(PREVIOUS_GROUP, DETAIL, "{", 6, "Previous", "the previous group of the list") \
	X(GROUP_BLOCKS, DETAIL, "b", 7, "Blocks", "the single blocks of this group alone") \
	X(KEYBOARD, PROGRAM, "Enter", 2, "Type", \
		"give the program the keyboard; ^] takes it back") \
	X(FASTER, OVERVIEW, "+", 0, "Faster", "new data is drawn more often") \
	X(SLOWER, OVERVIEW, "-", 0, "Slower", "new data is drawn less often") \
	X(FREEZE, LIVE, "p", 8, "Freeze", "freeze the view; the recording goes on") \
	X(SIGNAL, LIVE, "K", 0, "Signal", \
		"send the program a signal: TERM, INT, HUP, USR1, STOP, CONT, KILL") \
	X(PAUSE, LIVE, "P", 0, "Pause", \
		"pause the recording or go on: only new blocks are left out") \
	X(EDITOR, OUT, "e", 0, "Editor", \
		"open the source line of what is selected in VISUAL or EDITOR") \
	X(COPY, OUT, "y", 0, "Copy", \
		"copy the selected line's call stack to the clipboard (OSC 52)") \
	X(WELCOME, APP, "I", 0, "Intro", \
		"the few keys that lead to what leaks, as at the first run") \
	X(THEME, APP, "T", 0, "Theme", \
		"pick the colours; each theme is shown at once, Esc goes back") \
	X(SETUP, APP, "F2", 0, "Setup", "settings: see, change and keep them") \
	X(FRESH, APP, "F5", 0, "Fresh", \
		"view, filter, order, columns and folds as they were at the beginning") \
	X(GRAPHS, APP, "B", 0, "Graphs", "draw graphs with braille dots, blocks or ASCII") \
	X(REDRAW, APP, "^L", 0, "Redraw", "draw the whole screen anew") \
	X(SUSPEND, APP, "^Z", 0, "Suspend", "back to the shell until fg") \
	X(QUIT, APP, "F10 Q ^C", 13, "Quit", "leave memtui")

enum mt_action {
#define X(id, scope, keys, bar, name, words) MT_ACTION_##id,
	MT_ACTIONS(X) MT_ACTION_COUNT,
#undef X
};
#define MT_ACTION_NONE MT_ACTION_COUNT

struct mt_action_info {
	enum mt_scope scope;
	const char *keys;
	int bar;
	const char *name, *words;
};
const struct mt_action_info *mt_action_info(enum mt_action);
const char *mt_scope_words(enum mt_scope);
/* The action's name in files, lower-case with '-'. */
const char *mt_action_id(enum mt_action, char out[32]);
const char *mt_scope_id(enum mt_scope, char out[32]);
/* The first key of an action as people write it, into out; "": it has none (keymap.c). */
const char *mt_action_key(enum mt_action, char out[16]);

#endif
