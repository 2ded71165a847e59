/* The running program: its screen, its data, the views with their state, and what lies on top of
 * them. */
#ifndef MT_TUI_APP_H
#define MT_TUI_APP_H

#include "core/query/pattern.h"
#include "tui/actions.h"
#include "tui/data/data.h"
#include "tui/terminal/keys.h"
#include "tui/terminal/screen.h"
#include "tui/ui.h"
#include "tui/view/list.h"

#include <signal.h>

/* Views with a tab, in the order of the tabs; each has an action of the same name, which turns to
 * it.
 * X(id, name of its struct mt_view) */
#define MT_TABS(X) \
	X(MAIN, main) \
	X(GROUPS, groups) \
	X(TREE, tree) \
	X(ICICLE, icicle) \
	X(TIMELINE, timeline) \
	X(DIFF, diff) \
	X(TRIAGE, triage) \
	X(BLOCKS, blocks) \
	X(PROCESSES, processes) \
	X(LOG, log) \
	X(OVERVIEW, overview) \
	X(OUTPUT, output)

enum mt_view_id {
#define X(id, name) MT_VIEW_##id,
	MT_TABS(X) MT_VIEW_DETAIL,
#undef X
	MT_VIEW_COUNT,
	MT_VIEW_TABS = MT_VIEW_DETAIL,
};

/* ---- state of views ---- */
struct mt_groups_state {
	struct mt_list list;
};

struct mt_tree_row {
	uint32_t node, last; /* last: the end of a folded chain, else node */
	uint32_t chain;      /* frames folded into the row */
	uint32_t depth;      /* rows above it in the tree */
	uint32_t more;       /* > 0: stands for so many small children of node */
	uint64_t more_value;
	uint64_t identity;
	bool open, branch;
	bool folded; /* a branch of which all below are wrappers of malloc */
};
struct mt_tree_state {
	struct mt_list list;
	struct mt_tree_row *rows;
	uint32_t row_count, row_capacity;
	/* identities opened or closed by hand, a set: open addressing, 0 empty */
	uint64_t *toggled;
	uint8_t *opened; /* beside it */
	uint32_t toggled_slots, toggled_count;
	unsigned level;      /* rows above this depth are open by default */
	uint64_t generation; /* of the data when rows were made */
};

struct mt_timeline_state {
	unsigned measure;        /* enum mt_measure: what is drawn */
	uint64_t from_ns, to_ns; /* equal: the whole run */
	uint32_t cursor;         /* column */
	uint32_t columns;        /* of the graph, as drawn last */
	bool selecting;          /* a range that is not applied yet: */
	uint64_t first_ns, last_ns;
	bool extending; /* the cursor moves its end; the other one: */
	uint64_t anchor_ns, anchor_end_ns;
	/* the button is held in the graph, which begins at this column of the screen: */
	bool drag;
	int left;
	uint64_t sent; /* data.asked when the range was applied */
};

#define MT_OVERVIEW_ROWS 32
struct mt_overview_state {
	struct mt_list list; /* growing groups first, then the largest */
	uint32_t growing[MT_OVERVIEW_ROWS], growing_count;
	uint32_t listed; /* of the second list's first groups: they stand in the first one */
	uint64_t generation;
};

struct mt_source_file {
	char *path, *text;
	char **line;
	uint32_t count;
};
struct mt_detail_state {
	struct mt_list list; /* frames */
	uint32_t group;
	uint32_t selected_group; /* whose backtrace it holds, with the data's generation */
	uint64_t generation;
	struct mt_backtrace backtrace;
	struct mt_source_file source;
	uint32_t shown; /* mt_app_follow */
	bool maximised; /* one frame, and its source in all other rows */
};

struct mt_program_state;   /* program.h */
struct mt_log_state;       /* view/log.c */
struct mt_processes_state; /* view/processes_parts.h */
struct mt_jobs;            /* job.c */
struct mt_triage_ui;       /* triage.h */
struct mt_difference;      /* difference.h */
struct mt_themes;          /* theme_menu.c */
struct mt_icicle_state;    /* view/icicle.c */
struct mt_blocks_state;    /* view/blocks.c */

struct mt_config;  /* config.h */
struct mt_restore; /* restore.c */
struct mt_history; /* history.h */

struct mt_chosen_columns {
	uint8_t metric[MT_METRICS_MAX];
	uint32_t count;
};

/* ---- what lies on top ---- */
/* X(id, name) */
#define MT_PROMPTS(X) \
	X(SEARCH, search) \
	X(FILTER, filter) \
	X(NOTE, note) \
	X(WRITE, write)

enum mt_prompt_kind {
	MT_PROMPT_NONE,
#define X(id, name) MT_PROMPT_##id,
	MT_PROMPTS(X)
#undef X
};
struct mt_prompt {
	enum mt_prompt_kind kind;
	char text[1024];
	uint32_t len, cursor;
	uint32_t origin; /* selected line to go back to */
	uint32_t matches;
	char error[512];
	int caret;    /* column of the error's place, as it was drawn; -1: it has none */
	bool refused; /* Enter was pressed, and the text is wrong: until it is changed */
	/* how far back in the history the text is, and what was typed before; 0: it is typed */
	uint32_t back;
	char draft[1024];
	struct mt_history *history;           /* NULL: not asked for yet */
	struct mt_filter_functions functions; /* of as many groups and names as these: */
	uint32_t function_groups;
	uint64_t function_names;
	char search[1024];                      /* last search that was accepted */
	struct mt_filter_candidates candidates; /* what the filter could go on with */
	/* one of them stands in the text; UINT32_MAX: none, they are those at the cursor */
	uint32_t chosen;
	struct mt_pattern *pattern; /* of what is typed, or of the last search */
};

struct mt_app;
/* What lies on top of the view and takes keys and clicks first; one at a time. X(id, name of its
 * struct mt_overlay) */
#define MT_OVERLAYS(X) \
	X(HELP, help) \
	X(PALETTE, palette) \
	X(SORT, sort) \
	X(COLUMNS, columns) \
	X(THEMES, themes) \
	X(SETUP, setup) \
	X(SIGNALS, signals) \
	X(JUDGE, judge) \
	X(QUIT, quit) \
	X(WELCOME, welcome)

struct mt_overlay {
	void (*draw)(struct mt_app *);
	void (*key)(struct mt_app *, const struct mt_input *);
	struct mt_list *(*list)(struct mt_app *);       /* that the wheel moves; NULL: none */
	void (*moved)(struct mt_app *);                 /* by the wheel; NULL: nothing else to do */
	void (*click)(struct mt_app *, uint32_t value); /* on one of its hits; NULL: it has none */
};
#define X(id, name) extern const struct mt_overlay mt_overlay_##name;
MT_OVERLAYS(X)
#undef X

/* ---- mouse ---- */
enum mt_hit_kind {
	MT_HIT_ACTION,
	MT_HIT_LINE,
	MT_HIT_AREA,
	MT_HIT_COLUMN,
	MT_HIT_SORT,
	MT_HIT_PANE,
	MT_HIT_TIME,
	MT_HIT_MEASURE,
	MT_HIT_OVERLAY
};
struct mt_hit {
	struct mt_rect rect;
	enum mt_hit_kind kind;
	enum mt_view_id view;
	/* action, index of the line, metric, what the overlay means by it; of the time and an area:
	 * none */
	uint32_t value;
};
#define MT_HITS 256

/* An instant with a name, on the timeline's axis: snapshots. */
#define MT_MARKS 64
struct mt_time_mark {
	uint64_t ns;
	char name[16];
};

enum mt_outcome { MT_OUTCOME_NONE, MT_OUTCOME_QUIT, MT_OUTCOME_LEAVE, MT_OUTCOME_END };
/* What becomes of an unsaved recording. NONE: it stays where it is. SAVE: that of the process that
 * is shown. */
enum mt_fate { MT_FATE_NONE, MT_FATE_SAVE, MT_FATE_SAVE_ALL, MT_FATE_DISCARD };

struct mt_app {
	struct mt_screen *screen;
	struct mt_data data;
	struct mt_session *session; /* NULL: not started by us */
	char *unsaved; /* directory of a recording that has no name of the user's; or NULL */
	char *part_of; /* the same where one process is watched of a session that goes on */
	enum mt_fate fate;
	char *shown_trace; /* of the process that was shown when the screen was left */
	char *home_trace;  /* of the process that memtui was started with */
	unsigned frame_ms;
	enum mt_view_id view, back[8];
	uint32_t back_count;
	enum mt_view_id pane; /* of the main screen: GROUPS or TREE */
	bool maximised;
	struct mt_themes *themes;
	struct mt_wrappers *wrappers; /* the user's own, of the settings */
	struct mt_config *config;
	struct mt_restore *restore; /* NULL: before the first data */
	char wrapper
		[256]; /* what many lines of the groups name, if it may be a wrapper; or empty */
	struct mt_chosen_columns columns; /* of the list of groups; none: the first that fit */
	bool whole_names;                 /* template arguments are not folded */
	struct mt_groups_state groups;
	struct mt_tree_state tree;
	struct mt_timeline_state timeline;
	struct mt_time_mark marks[MT_MARKS];
	uint32_t mark_count;
	struct mt_overview_state overview;
	struct mt_detail_state detail;
	struct mt_program_state *program;
	struct mt_triage_ui *triage;
	struct mt_log_state *log; /* NULL: not seen yet, and nothing was said */
	struct mt_icicle_state *icicle;
	struct mt_processes_state *processes;
	struct mt_jobs *jobs;
	struct mt_difference *difference; /* NULL: not seen yet, and nothing to compare with */
	/* what memtui was started with, while another process of its session is seen; or NULL */
	struct mt_data *home;
	enum mt_view_id before; /* the tab that was seen before this one */
	struct mt_blocks_state *blocks;
	struct mt_prompt prompt;
	const struct mt_overlay *overlay; /* NULL: none is open */
	void *overlay_state;
	struct mt_hit hits[MT_HITS];
	uint32_t hit_count;
	char message[256]; /* shown in the status line until the next key */
	bool filtering;    /* a filter takes long: its progress is shown */
	int percent;       /* of it */
	bool dirty;        /* draw at once */
	bool data_dirty;   /* draw when the next frame is due */
	bool rested;       /* no key came for a moment */
	bool follows;      /* something on the screen waits for that */
	/* of mt_app_follow, in this frame and the one before */
	const uint32_t *following, *followed;
	bool program_ended;
	uint32_t lives_on;            /* mt_app_lives_on, as it was told last */
	bool stop_said, trouble_said; /* what loop.c tells once */
	int wait_status;
	int signal; /* that ended memtui, or 0 */
	enum mt_outcome outcome;
};

/* What is selected, for what can be done with it. */
struct mt_pick {
	uint32_t group; /* or MT_NO_GROUP */
	/* of its backtrace; UINT32_MAX: the one that a list shows */
	uint32_t frame;
	struct mt_backtrace_frame branch; /* a branch of the tree; function NULL: none */
	uint32_t node;                    /* the groups are all below it; or MT_NO_NODE */
	const char *why;                  /* nothing is, for the status line; NULL: the usual */
};

struct mt_view {
	/* of its tab, and where not all names have room; NULL: the same */
	const char *name, *brief;
	uint32_t scopes; /* beside those of all views */
	void (*draw)(struct mt_app *, struct mt_rect, bool focus);
	bool (*action)(struct mt_app *, enum mt_action); /* false: not mine */
	struct mt_list *(*list)(struct mt_app *);        /* brought up to date; NULL: none */
	/* the line becomes the selected one and stays it */
	void (*choose)(struct mt_app *, uint32_t index);
	void (*line)(struct mt_app *, uint32_t index, char *out, size_t len); /* text to search */
	/* of its area on the screen: the line there; UINT32_MAX: none */
	uint32_t (*at)(struct mt_app *, int row, int column);
	void (*sort)(struct mt_app *, uint32_t column); /* its heading was clicked */
	/* fills in what is selected; NULL: nothing is */
	void (*pick)(struct mt_app *, struct mt_pick *);
	/* another recording will be shown: forgets groups, ends threads; NULL: nothing to do */
	void (*leave)(struct mt_app *);
};
#define X(id, name) extern const struct mt_view mt_view_##name;
MT_TABS(X)
#undef X
extern const struct mt_view mt_view_detail;

/* ---- app.c ---- */
const struct mt_view *mt_app_view(enum mt_view_id);
enum mt_action mt_app_tab(enum mt_view_id); /* the action that turns to a view with a tab */
bool mt_app_has(const struct mt_app *, enum mt_view_id); /* there is something to turn to */
const struct mt_view *mt_app_focus(struct mt_app *); /* the view, or the pane of the main screen */
void mt_app_go(struct mt_app *, enum mt_view_id);    /* remembers the way back */
void mt_app_back(struct mt_app *);
void mt_app_act(struct mt_app *, enum mt_action);
/* also what another view can do: turns to that first */
void mt_app_run(struct mt_app *, enum mt_action);
void mt_app_input(struct mt_app *, const struct mt_input *);
uint32_t mt_app_scopes(struct mt_app *);
/* In the status line until the next key, and in the log. {action} in the format is the key of that
 * action. */
void mt_app_say(struct mt_app *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whose particulars are drawn beside a list: the selected line's, once the cursor rests there;
 * until then those of the line that was shown, so that a move of the cursor costs little. shown:
 * the view's own, kept from frame to frame. */
uint32_t mt_app_follow(struct mt_app *, uint32_t *shown, uint32_t selected, uint32_t count);
void mt_app_open_group(struct mt_app *, uint32_t group);
bool mt_app_live(const struct mt_app *); /* a session, not a trace */
/* The recording has ended before the program, which runs on: its time is over, the disk is full. */
bool mt_app_stopped(const struct mt_app *);
/* It ran before memtui came to it, so nobody here ends it. */
bool mt_app_attached(const struct mt_app *);
bool mt_app_runs(const struct mt_app *); /* the program does, recorded or not */
/* How many other processes of the session go on, although the program itself has ended. */
uint32_t mt_app_lives_on(const struct mt_app *);
/* what is selected; false, with a message: nothing is */
bool mt_app_pick(struct mt_app *, struct mt_pick *);

/* ---- frame.c: title, tabs, status line, key bar, and all on top ---- */
size_t mt_frame_draw(struct mt_app *); /* returns the bytes that it sent */
void mt_frame_hit(struct mt_app *, struct mt_rect, enum mt_hit_kind, enum mt_view_id,
	uint32_t value);
/* One line of a list, filled in its role, with the cursor where it is the selected one. */
struct mt_line {
	struct mt_rect r;
	uint32_t index;
	bool selected, focus;
	enum mt_role role; /* of its text */
};
/* The lines of a view's list that fit into r, each by the function, with the context as it is; a
 * click means its index. Gives how many they are. */
int mt_frame_list(struct mt_app *, enum mt_view_id, struct mt_rect r, struct mt_list *, bool focus,
	void (*draw)(struct mt_app *, const struct mt_line *, void *context), void *context);
/* The line alone: for lists whose lines do not follow one another. */
struct mt_line mt_frame_line(struct mt_app *, enum mt_view_id, struct mt_rect r, uint32_t index,
	bool selected, bool focus);
/* Behind the name of an inlined function, as in flame graphs; the help says what it means. */
#define MT_FRAME_INLINED " [i]"
/* A name, or a chain of them that ends in an inlined one: the mark stays where the name is cut. */
void mt_frame_name(struct mt_app *, int row, int column, int width, enum mt_role, const char *name,
	bool inlined);
/* Where a name of so many columns and its source are put; what is too long is folded
 * (tui/terminal/fit.h). source "": there is none. */
struct mt_frame_place {
	int name;          /* columns, with the mark of an inlined one */
	int source_column; /* from where the name begins */
	int source_width;
};
struct mt_frame_place mt_frame_lay_out(int width, int name_width, const char *source);
void mt_frame_put(struct mt_app *, int row, int column, const struct mt_frame_place *, enum mt_role,
	enum mt_role source_role, const char *name, bool inlined, const char *source);
/* Both for a frame of a line that may be selected. */
void mt_frame_where(struct mt_app *, int row, int column, int width, bool selected, bool focus,
	const struct mt_backtrace_frame *);
/* The function, or its place in its module as long as its name is being looked up. */
const char *mt_frame_function(char *out, size_t len, const struct mt_backtrace_frame *);
/* source:line, or module, as people read it. */
void mt_frame_source(char *out, size_t len, const struct mt_backtrace_frame *, bool full_path);
/* A group's own frame as text: its function and where that is; "" without a stack. */
void mt_group_text(struct mt_app *, uint32_t group, char *out, size_t len);

/* ---- loop.c ---- */
/* Signals that the loop waits for; blocked before any thread starts, and given back at the end. */
void mt_loop_block(sigset_t *old);
void mt_loop_unblock(void); /* in a program that is about to be started */
/* Until app->outcome says something. */
int mt_loop_run(struct mt_app *, struct mt_err *err);

/* ---- prompt.c ---- */
void mt_prompt_open(struct mt_app *, enum mt_prompt_kind);
void mt_prompt_key(struct mt_app *, uint32_t code);
void mt_prompt_draw(struct mt_app *, int row, int columns);
/* The row below the prompt: candidates, the place of an error, or what could be typed. False: the
 * prompt has nothing to show there. */
bool mt_prompt_draw_below(struct mt_app *, int row, int columns);
void mt_prompt_next(struct mt_app *, int direction);
void mt_prompt_free(struct mt_prompt *);
bool mt_prompt_matches(struct mt_app *, const char *text); /* the search on screen, if any */

/* ---- view/help.c ---- */
void mt_help_open(struct mt_app *);

/* ---- view/overview.c: the heap's graph, shared with the main screen ---- */
void mt_overview_heap(struct mt_app *, struct mt_rect);

/* ---- overlay.c ---- */

/* takes state, which free() ends */
void mt_overlay_open(struct mt_app *, const struct mt_overlay *, void *state);
void mt_overlay_close(struct mt_app *);
bool mt_overlay_closes(const struct mt_input *); /* Esc or ^C */
/* A box in the middle for so many lines and columns of text, as far as there is room. */
struct mt_rect mt_box_middle(struct mt_app *, int rows, int columns);
void mt_box_draw(struct mt_app *, struct mt_rect, const char *head, const char *foot);
/* The lines of a list below the first rows of a box; each is filled in its role, and a click on it
 * means its index. height: the rows that a line of so many columns needs; NULL: one. */
void mt_box_list(struct mt_app *, struct mt_rect box, int first, struct mt_list *,
	void (*line)(struct mt_app *, struct mt_rect, uint32_t index, enum mt_role),
	int (*height)(struct mt_app *, uint32_t index, int columns));
int mt_box_width(const struct mt_app *, struct mt_rect box); /* of its lines */

/* ---- question.c ---- */
/* Ends memtui, after the question what becomes of the program and the recording where there is
 * something to decide. */
void mt_quit(struct mt_app *);

/* ---- sort.c ---- */
void mt_sort_open(struct mt_app *);

/* ---- palette.c ---- */
void mt_palette_open(struct mt_app *);

/* ---- user/setup.c ---- */
void mt_setup_open(struct mt_app *);
void mt_setup_wrappers(struct mt_app *);                       /* takes them from the settings */
void mt_setup_refresh(struct mt_app *, unsigned milliseconds); /* between pictures of new data */

void mt_setup_faster(struct mt_app *, int by); /* by steps: 1 more often, -1 less */

/* ---- welcome.c ---- */
/* At the first run of all: how to go on; the key that closes it does what it does. */
void mt_welcome(struct mt_app *);

/* ---- signals.c ---- */
void mt_signals_open(struct mt_app *);

/* ---- user/columns.c ---- */
void mt_columns_open(struct mt_app *);
/* From and to names of metrics, separated by blanks. */
void mt_chosen_columns_parse(struct mt_app *, const char *text);
/* NULL for the profile: without the columns of the recording, which another one lacks. */
void mt_chosen_columns_text(const struct mt_chosen_columns *, const struct mt_profile *,
	char out[256]);

/* ---- editor.c ---- */
void mt_editor_open(struct mt_app *); /* at what is selected; comes back when it has ended */
/* The file that a source path of a module's debug information means: as it is, else beside the
 * module and in the directories above it; NULL: not here. The caller frees. */
char *mt_editor_source(const char *path, const char *module);

/* ---- view/timeline_range.c ---- */
void mt_timeline_alive_here(struct mt_app *);
void mt_timeline_alive_at_peak(struct mt_app *);
void mt_timeline_all_times(struct mt_app *);
/* of the graph */
void mt_timeline_mouse(struct mt_app *, const struct mt_input *, int first_column);

/* ---- view/tree.c ---- */
void mt_tree_state_free(struct mt_tree_state *);
/* The group that ends at the node, of a tree there is; or, inverted, whose function it begins
 * with. */
uint32_t mt_tree_group(struct mt_app *, uint32_t node);
enum mt_metric mt_tree_companion(enum mt_metric); /* blocks beside bytes, bytes beside blocks */
/* ---- view/icicle.c ---- */
void mt_icicle_state_free(struct mt_icicle_state *);
/* ---- view/blocks.c ---- */
void mt_blocks_of_group(struct mt_app *, uint32_t group); /* turns to them; MT_NO_GROUP: of all */
const char *mt_blocks_order_words(struct mt_app *);
bool mt_blocks_asked(const struct mt_app *); /* a list that is not there yet */
void mt_blocks_collect(struct mt_app *);
bool mt_blocks_progress(struct mt_app *, int percent); /* to be told; whether that is news */
void mt_blocks_state_free(struct mt_blocks_state *);
/* ---- view/detail.c ---- */
void mt_detail_free(struct mt_detail_state *);
/* ---- view/processes_asking.c ---- */
/* Asks for the list again where it is seen and may have changed; when it wants to be asked next, or
 * UINT64_MAX. */
uint64_t mt_processes_tend(struct mt_app *, uint64_t now_ms);
void mt_processes_free(struct mt_processes_state *);
/* ---- view/log.c ---- */
void mt_log_note(struct mt_app *, const char *text); /* what memtui said */
void mt_log_free(struct mt_log_state *);
/* ---- program_terminal.c, view/program.c ---- */
void mt_program_open(struct mt_app *);
void mt_program_read(struct mt_app *);         /* takes over new output */
bool mt_program_typing(const struct mt_app *); /* the program has the keyboard */
/* false: it is not for the program */
bool mt_program_type(struct mt_app *, const struct mt_input *);
/* its title, or which lines are seen */
void mt_program_words(struct mt_app *, char *out, size_t len);
void mt_program_resize(struct mt_app *);
void mt_program_free(struct mt_program_state *);

#endif
