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
	X(HELP, APP, "F1 ?", 1, "Help", "list the keys; type to search, Enter runs the action") \
	X(PALETTE, APP, ":", 0, "Palette", \
		"find an action by a few letters of its name, and run it") \
	X(DOWN, MOVE, "j Down ^N", 0, "Down", "go down one line") \
	X(UP, MOVE, "k Up ^P", 0, "Up", "go up one line") \
	X(TOP, MOVE, "g Home", 0, "Top", "go to the first line") \
	X(BOTTOM, MOVE, "G End", 0, "Bottom", "go to the last line") \
	X(HALF_DOWN, MOVE, "^D", 0, "Half down", "go down half a page") \
	X(HALF_UP, MOVE, "^U", 0, "Half up", "go up half a page") \
	X(PAGE_DOWN, MOVE, "PgDn ^F", 0, "Page down", "go down one page") \
	X(PAGE_UP, MOVE, "PgUp ^B", 0, "Page up", "go up one page") \
	X(FOLLOW, MOVE, "F", 5, "Follow", \
		"follow the newest or the first line; again: stay on this line") \
	X(CENTRE, MOVE, "z", 0, "Centre", "scroll the selected line to the middle") \
	X(OPEN, FOLD, "Enter", 7, "Open", \
		"open the selected branch, or the group with its backtrace") \
	X(BACK, FOLD, "q", 12, "Back", "go back to the previous view; in the first view: quit") \
	X(PARENT, FOLD, "Backspace", 0, "Parent", "go to the caller; leave a group") \
	X(CANCEL, FOLD, "Esc", 0, "Cancel", "close the open box, or cancel what is running") \
	X(MAIN, VIEWS, "1", 0, "Main", "show call tree, groups and heap together") \
	X(GROUPS, VIEWS, "2", 0, "Groups", "list allocations grouped by backtrace") \
	X(TREE, VIEWS, "3", 0, "Tree", "show the call tree") \
	X(ICICLE, VIEWS, "4", 0, "Icicle", "icicle: bar width = share of total") \
	X(TIMELINE, VIEWS, "5", 0, "Timeline", "show the heap over time") \
	X(DIFF, VIEWS, "6", 0, "Difference", \
		"show what changed between two traces, or since a snapshot") \
	X(TRIAGE, VIEWS, "7", 0, "Triage", "list the leaks to judge, and those already judged") \
	X(BLOCKS, VIEWS, "8", 0, "Blocks", "list individual allocations, one per line") \
	X(PROCESSES, VIEWS, "9", 0, "Processes", \
		"list the processes of the recording with their totals") \
	X(LOG, VIEWS, "0", 0, "Log", \
		"list lost events, warnings, loaded modules and other events") \
	X(OVERVIEW, VIEWS, "V", 0, "Overview", \
		"show rates, and the largest and fastest-growing groups") \
	X(OUTPUT, VIEWS, "O", 0, "Output", "show the program's terminal") \
	X(NEXT_PANE, VIEWS, "Tab", 0, "Pane", "go to the next pane") \
	X(PREVIOUS_PANE, VIEWS, "S-Tab", 0, "Pane back", "go to the previous pane") \
	X(MAXIMISE, VIEWS, "Z", 11, "Maximise", "maximise the pane, or restore it") \
	X(NAMES, VIEWS, "x", 10, "Names", \
		"show full names, or fold template arguments and parameters") \
	X(SEARCH, FIND, "F3 /", 2, "Search", "search this list (PCRE2 pattern, smart case)") \
	X(FILTER, FIND, "F4 \\", 3, "Filter", \
		"show only matching groups: words, field:value, !field:value") \
	X(NEXT_MATCH, FIND, "n", 0, "Next", "go to the next match") \
	X(PREVIOUS_MATCH, FIND, "N", 0, "Previous", "go to the previous match") \
	X(ALL_TIMES, FIND, "R", 0, "All times", "clear the time range") \
	X(AT_PEAK, FIND, "A", 0, "At the peak", \
		"show only blocks live at the heap's peak; again: all blocks") \
	X(SORT, COLUMNS, "F6 s m", 4, "Sort", "choose the metric to sort by") \
	X(SORT_LEFT, COLUMNS, "<", 0, "Sort left", "sort by the previous metric") \
	X(SORT_RIGHT, COLUMNS, ">", 0, "Sort right", "sort by the next metric") \
	X(SORT_WHOLE, COLUMNS, "M", 0, "Whole groups", "sort by filtered / whole-group values") \
	X(SUSPECTS, COLUMNS, "L", 6, "Leaks", "sort by leak score; again: by bytes not freed") \
	X(COLUMNS, COLUMNS, "c", 0, "Columns", \
		"choose the columns of the group list, and their order") \
	X(REVERSE, GROUPS, "r", 8, "Reverse", "reverse the sort order") \
	X(MARK, TRIAGE, "Space", 0, "Mark", \
		"mark the group, or all below the branch, to judge, note or copy") \
	X(UNMARK, TRIAGE, "U", 0, "Unmark", "clear all marks") \
	X(JUDGE, TRIAGE, "t", 9, "Triage", "judge the group: a second key says as what") \
	X(NOTE, TRIAGE, "a", 0, "Note", "write a note about the group; later runs show it again") \
	X(SHOW_HIDDEN, TRIAGE, "X", 0, "Hidden", "show suppressed groups, or hide them again") \
	X(COPY_REPORT, TRIAGE, "Y", 0, "Copy report", \
		"copy a Markdown report of the marked groups, or of all judged") \
	X(JUDGE_LEAK, JUDGE, "l", 0, "leak", "it is a leak") \
	X(JUDGE_INVESTIGATING, JUDGE, "i", 0, "investigating", "somebody is investigating it") \
	X(JUDGE_FIXED, JUDGE, "f", 0, "fixed", \
		"it is fixed; if it leaks in a later run, memtui says so") \
	X(JUDGE_SUPPRESSED, JUDGE, "x", 0, "suppress", "intentional: hide and suppress") \
	X(JUDGE_NEW, JUDGE, "n", 0, "new", "not judged: put it back into the queue") \
	X(JUDGE_UNDO, JUDGE, "u", 0, "undo", \
		"undo the last judgement or note; press again for earlier ones") \
	X(WRITE_REPORT, QUEUE, "w", 10, "Write", \
		"write the report to a file; NAME.supp: LeakSanitizer suppressions") \
	X(FOLD_IN, TREE, "h Left", 0, "Fold", "close the branch, or go to its caller") \
	X(FOLD_OUT, TREE, "l Right", 0, "Unfold", "open the branch, or go to its first callee") \
	X(INVERT, TREE, "i", 5, "Invert", "start at the allocating functions, or at main") \
	X(MORE, TREE, "+", 9, "Level", "open one more level everywhere") \
	X(LESS, TREE, "-", 0, "Less", "close one level everywhere") \
	X(EXPAND, TREE, "E", 10, "All", "open everything below the line") \
	X(COLLAPSE, TREE, "C", 0, "Collapse", "close everything below the line") \
	X(HEAVIEST, TREE, "H", 0, "Heaviest", "open the heaviest path") \
	X(CELL_LEFT, ICICLE, "h Left", 0, "Left", "go to the bar on the left") \
	X(CELL_RIGHT, ICICLE, "l Right", 0, "Right", "go to the bar on the right") \
	X(ZOOM, ICICLE, "Enter", 5, "Zoom", "zoom in; at a leaf, open its group") \
	X(UNZOOM, ICICLE, "Backspace", 6, "Unzoom", "undo the last zoom") \
	X(UNZOOM_ALL, ICICLE, "=", 9, "Whole", "show the whole tree again") \
	X(INVERT_ICICLE, ICICLE, "i", 8, "Invert", \
		"start at the allocating functions, or at main") \
	X(HEAVIEST_CELL, ICICLE, "H", 10, "Heaviest", "go to the end of the heaviest path") \
	X(CURSOR_LEFT, TIMELINE, "h Left", 0, "Earlier", "go one step earlier") \
	X(CURSOR_RIGHT, TIMELINE, "l Right", 0, "Later", "go one step later") \
	X(SELECT, TIMELINE, "v Space", 5, "Select", \
		"start a time range at the cursor, or drop it (or drag the mouse)") \
	X(SELECT_FROM, TIMELINE, "[", 0, "From here", "start the range at the cursor") \
	X(SELECT_TO, TIMELINE, "]", 0, "To here", "end the range at the cursor") \
	X(OTHER_END, TIMELINE, "o", 0, "Other end", \
		"go to the other end of the range, to move it") \
	X(APPLY, TIMELINE, "Enter", 7, "Apply", "filter all views by the range (from:, to:)") \
	X(ALIVE_HERE, TIMELINE, "a", 8, "Alive at", \
		"show only blocks that were live at the cursor") \
	X(MEASURE, TIMELINE, "m", 4, "Measure", \
		"switch: live bytes, blocks, rates, growth, resident memory") \
	X(NEXT_MARK, TIMELINE, "n", 0, "Next mark", \
		"go to the next mark: peak, marker, snapshot, pause or loss") \
	X(PREVIOUS_MARK, TIMELINE, "N", 0, "Previous mark", "go to the previous mark") \
	X(ZOOM_IN, TIMELINE, "+", 6, "Zoom", "zoom in at the cursor") \
	X(ZOOM_OUT, TIMELINE, "-", 0, "Zoom out", "zoom out") \
	X(ZOOM_FIT, TIMELINE, "=", 9, "Fit", "show the whole run") \
	X(SWAP, DIFF, "D", 5, "Swap", "swap A and B") \
	X(HIDE_SAME, DIFF, "=", 6, "Same", "show or hide unchanged groups") \
	X(SNAPSHOT, VIEWS, "S", 0, "Snapshot", \
		"save the totals of all groups now, to compare with later") \
	X(BASELINE, VIEWS, "d", 0, "Baseline", \
		"compare with now; in the difference view: with the next snapshot") \
	X(NEXT_GROUP, DETAIL, "}", 5, "Next", "go to the next group of the list") \
	X(PREVIOUS_GROUP, DETAIL, "{", 6, "Previous", "go to the previous group of the list") \
	X(GROUP_BLOCKS, DETAIL, "b", 7, "Blocks", "list the blocks of this group") \
	X(KEYBOARD, PROGRAM, "Enter", 2, "Type", "send keys to the program; ^] returns to memtui") \
	X(FASTER, OVERVIEW, "+", 0, "Faster", "redraw more often") \
	X(SLOWER, OVERVIEW, "-", 0, "Slower", "redraw less often") \
	X(FREEZE, LIVE, "p", 8, "Freeze", "freeze the view; the recording continues") \
	X(LEAK_CHECK, LIVE, "!", 0, "Leak check", \
		"look for blocks to which the program has lost all pointers; it stands still for " \
		"some milliseconds") \
	X(SIGNAL, LIVE, "K", 0, "Signal", \
		"send the program a signal: TERM, INT, HUP, USR1, STOP, CONT, KILL") \
	X(PAUSE, LIVE, "P", 0, "Pause", "pause or resume the recording; frees are still counted") \
	X(EDITOR, OUT, "e", 4, "Editor", "open the selected source line in VISUAL or EDITOR") \
	X(COPY, OUT, "y", 0, "Copy", "copy the selected backtrace to the clipboard (OSC 52)") \
	X(WELCOME, APP, "I", 0, "Intro", "show the keys that lead to a leak, as at the first run") \
	X(THEME, APP, "T", 0, "Theme", \
		"choose a colour theme, with a preview; Esc restores the old one") \
	X(SETUP, APP, "F2", 0, "Setup", "view, change and save settings") \
	X(FRESH, APP, "F5", 0, "Fresh", "reset view, filter, sort order, columns and folds") \
	X(GRAPHS, APP, "B", 0, "Graphs", "draw graphs with braille dots, blocks or ASCII") \
	X(REDRAW, APP, "^L", 0, "Redraw", "redraw the screen") \
	X(SUSPEND, APP, "^Z", 0, "Suspend", "suspend memtui; fg in the shell resumes it") \
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
