/* The subcommands, and what they share. */
#ifndef MT_TUI_COMMANDS_H
#define MT_TUI_COMMANDS_H

#include "core/model/load.h"
#include "core/query/wrappers.h"
#include "core/session/session.h"
#include "tui/command/options.h"
#include "tui/ui.h"

/* In the order in which help shows them. */
#define MT_COMMANDS(X) \
	X(run) \
	X(record) \
	X(open) \
	X(report) \
	X(pack) \
	X(attach) \
	X(info) \
	X(groups) \
	X(allocations) \
	X(tree) \
	X(callers) \
	X(diff) \
	X(chains) \
	X(histogram) \
	X(timeline) \
	X(mmaps) \
	X(mallopts) \
	X(errors) \
	X(check) \
	X(suppress) \
	X(export) \
	X(help)
#define X(name) extern const struct mt_command mt_command_##name;
MT_COMMANDS(X)
#undef X

const struct mt_command *mt_command_at(int i);              /* NULL after the last */
const struct mt_command *mt_command_find(const char *name); /* NULL: none */
/* -EINVAL with "no command ...; did you mean ...". */
int mt_command_unknown(const char *name, struct mt_err *err);

/* A sentence for the person, on stderr. (main.c) */
void mt_command_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Overwrites one line on stderr where that is a terminal; fraction < 0 wipes it. (main.c) */
void mt_command_progress(const char *what, double fraction);

/* ---- a loaded trace (command_load.c) ---- */
struct mt_loaded {
	uint64_t memory_max;            /* --max-memory: set before loading; 0: the default */
	struct mt_trace_reader *reader; /* NULL: a stand-alone recording */
	struct mt_import *import;       /* which is this */
	struct mt_profile profile;
	struct mt_symbols symbols;
	bool damaged;        /* it could not be read to its end */
	uint64_t damaged_at; /* offset from which a trace makes no sense; 0: it is not damaged */
};
/* Opens and loads; says what is missing or damaged. symbols: whether names are wanted. */
int mt_command_load(struct mt_loaded *, const char *path, bool symbols, struct mt_err *);
/* The names that the trace itself holds: its last symbol block. A bad one is as good as none. */
void mt_loaded_read_symbols(struct mt_loaded *);
/* A sentence where files have debug information that cannot be read here. */
void mt_loaded_say_unreadable(const struct mt_loaded *);
/* Of a stand-alone recording, which has no events to go over: loads it anew as a trace, packed into
 * a temporary file. */
int mt_loaded_need_events(struct mt_loaded *, const char *path, bool symbols, struct mt_err *);
/* Reads and checks every block, also those that no view needed, and says what is damaged. */
void mt_loaded_verify(struct mt_loaded *, const char *path);
void mt_loaded_free(struct mt_loaded *);

/* ---- parts (command_parts.c) ---- */
/* The filter that the options ask for. NULL on error. */
struct mt_filter *mt_command_filter(const struct mt_arguments *, struct mt_err *);
/* The wrappers of malloc that the options name, and the usual ones. NULL on error. */
struct mt_wrappers *mt_command_wrappers(const struct mt_arguments *, struct mt_err *);
/* A trace, what the filter leaves of it, and a report on that as the options ask for it. */
struct mt_opened {
	struct mt_loaded loaded;
	bool borrowed; /* it is another's */
	struct mt_filter *filter;
	struct mt_wrappers *wrappers;
	struct mt_source source;
	struct mt_matched matched;
	struct mt_suppressions *rules; /* NULL: leaks are not judged */
	struct mt_suppressed suppressed, suppressed_whole;
	bool judged;
	struct mt_report report;
};
/* symbols: whether names are wanted in any case. To be freed after an error too. */
int mt_opened_load(struct mt_opened *, const struct mt_arguments *, const char *path, bool symbols,
	struct mt_err *);
/* The same trace by two filters on single allocations: loaded once, and gone over as often as for
 * one. */
int mt_opened_load_instants(struct mt_opened *a, const struct mt_arguments *before,
	struct mt_opened *b, const struct mt_arguments *after, const char *path,
	struct mt_err *err);
/* The status of a command whose own is status: 1 with --strict if not all of the trace was there to
 * read. */
int mt_opened_verdict(const struct mt_opened *, const struct mt_arguments *, const char *path,
	int status);
/* How much is suppressed, where the report does not say so itself. */
void mt_opened_say_suppressed(const struct mt_opened *, const struct mt_arguments *);
void mt_opened_free(struct mt_opened *);
/* Whether all of the result could be written. */
int mt_command_finish(const struct mt_arguments *, struct mt_err *);
/* Loads the trace (the first operand), reports on it to stdout. */
int mt_command_view(const struct mt_arguments *,
	int (*report)(const struct mt_report *, struct mt_err *), bool symbols, struct mt_err *);
/* The rules of the files that the options name; NULL where none are applied. */
int mt_command_suppressions(struct mt_suppressions **, const struct mt_arguments *,
	struct mt_err *);
/* Reads these files, and says what of them is no rule. */
int mt_command_check_suppressions(const struct mt_arguments *, struct mt_err *);
/* Those of the program and the built-in ones behind them, unless the options say otherwise. */
void mt_command_own_suppressions(struct mt_suppressions *, const struct mt_arguments *,
	const struct mt_symbols *);
/* Fills the terminal interface's options. filter: the text that they borrow, which the caller
 * frees. */
int mt_command_ui_options(struct mt_ui_options *, char **filter, const struct mt_arguments *,
	struct mt_err *);
/* Fills a session's options. library: the path that they borrow, which the caller frees. */
void mt_command_session_options(struct mt_session_options *, char **library,
	const struct mt_arguments *);
/* Records without a terminal interface: record, and run --headless. (command_record.c) */
int mt_command_record_program(const struct mt_arguments *, struct mt_err *);
/* What can be said of the options of the screen before anything is opened or started. live: of a
 * program that runs. */
int mt_command_check_ui(const struct mt_arguments *, bool live, struct mt_err *);
/* Of the options of record and run that do not go together. */
int mt_command_check_recording(const struct mt_arguments *, struct mt_err *err);
/* What is said when a session has ended: what was written and what is missing. 1: the root's trace
 * can be read again. */
int mt_command_close_session(struct mt_session *, const char *output, int wait_status,
	struct mt_err *);
/* libmemtui.so: beside the executable, in ../lib/memtui, in the install prefix; NULL: nowhere.
 * Caller frees. */
char *mt_command_library(void);

/* ---- help (command_help.c, command_manual.c, completion*.c) ---- */
void mt_help_print(FILE *out, const struct mt_command *); /* NULL: memtui itself */
void mt_manual_print(FILE *out, const struct mt_command *);
void mt_manual_print_config(FILE *out); /* memtui-config(5) */
void mt_manual_print_keys(FILE *out);   /* memtui-keys(5) */
/* shell: "bash", "zsh" or "fish" */
void mt_completion_print(FILE *out, const char *shell);
/* What help explains beside the commands. */
struct mt_topic {
	const char *name, *words;
	bool has_manual; /* a manual page of its own */
};
const struct mt_topic *mt_help_topic_at(int i); /* NULL after the last */
/* Whether it has an option of this kind, whose values help then lists. */
bool mt_command_takes(const struct mt_command *, enum mt_option_kind);
/* paragraphs on filters, where it has them; else NULL */
const char *mt_command_filters(const struct mt_command *);
extern const char mt_help_about[], mt_help_exit[], mt_help_keys[], mt_help_keys_examples[];

/* clang-format off */
#define MT_OPTIONS_KEYMAP \
	{0, "keymap", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(keymap), \
		"read key bindings from this file, not from $XDG_CONFIG_HOME/memtui/keys; " \
		"'memtui help keys' says how", NULL}
#define MT_OPTIONS_UI \
	MT_OPTIONS_FILTER, \
	MT_OPTIONS_SORT, \
	{0, "theme", "NAME", MT_OPTION_TEXT, MT_OPTION_AT(theme), \
		"colours: a theme's name or file", NULL}, \
	MT_OPTIONS_KEYMAP, \
	{0, "ascii", "WHEN", MT_OPTION_CHOICE, MT_OPTION_AT(ascii), \
		"draw with ASCII alone: auto (the default), always or never", \
		"auto|always|never"}, \
	{0, "triage", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(triage), \
		"keep what is said about leaks in FILE; MEMTUI_TRIAGE, or a file of the " \
		"program's name in ~/.local/state/memtui/triage by default; " \
		"nowhere where FILE is empty", NULL}, \
	{0, "fresh", NULL, MT_OPTION_FLAG, MT_OPTION_AT(fresh), \
		"not with the view, filter and order that were left for this program", NULL}, \
	{0, "fps", "N", MT_OPTION_NUMBER, MT_OPTION_AT(fps), \
		"pictures of new data per second, 60 at the most; 4 by default, 1 over SSH", \
		"1..60"}
#define MT_OPTIONS_RECORD \
	{'o', "output", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(output), \
		"trace file; %e program, %t Unix time, %p process, %n a number that makes it " \
		"unique; - is standard output; your own symbolic links are followed, others' " \
		"are refused", NULL}, \
	{'f', "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force), \
		"replace an existing trace file, and with it those of its other processes", NULL}, \
	{0, "depth", "N", MT_OPTION_NUMBER, MT_OPTION_AT(depth), \
		"record at most N frames of a stack, the innermost ones. Of deeper stacks the " \
		"outer frames are lost, with main: 'callers' does not find them, and stacks of " \
		"different callers can be one group. 4096 by default", "4..65536"}, \
	{0, "free_stacks", NULL, MT_OPTION_FLAG, MT_OPTION_AT(free_stacks), \
		"record the stacks of frees too", NULL}, \
	{0, "slack", NULL, MT_OPTION_FLAG, MT_OPTION_AT(slack), \
		"ask allocators other than glibc's what they round " \
		"each size up to; glibc's are known at no cost", NULL}, \
	{0, "check_stacks", NULL, MT_OPTION_FLAG, MT_OPTION_AT(check_stacks), \
		"compare every stack with a full unwind, " \
		"many with libgcc's too (slow); so does MEMTUI_CHECK=1", NULL}, \
	{0, "on_full", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(on_full), \
		"when the recorder cannot keep up: block (the default) waits for it, but 0.2 s " \
		"at most while it stands still; drop counts what is lost and never waits", \
		"block|drop"}, \
	{0, "no_follow", NULL, MT_OPTION_FLAG, MT_OPTION_AT(no_follow), \
		"give each executed program the environment that its parent gave it, even if it " \
		"is then not recorded; otherwise memtui puts LD_PRELOAD and MEMTUI_SESSION back " \
		"where a program such as env -i removes them", NULL}, \
	{0, "disabled", NULL, MT_OPTION_FLAG, MT_OPTION_AT(disabled), \
		"start paused: nothing new is recorded " \
		"until the program asks for it, by memtui.h", NULL}, \
	{0, "no_cache", NULL, MT_OPTION_FLAG, MT_OPTION_AT(no_cache), \
		"look up all names anew, and keep none in MEMTUI_CACHE for the next recording", \
		NULL}, \
	{0, "duration", "TIME", MT_OPTION_TIME, MT_OPTION_AT(duration_ns), \
		"stop recording after this time", NULL}, \
	{0, "max_size", "SIZE", MT_OPTION_SIZE, MT_OPTION_AT(max_size), \
		"keep each trace below this size, such as 256M, however long the program runs: " \
		"the oldest events go, while the totals of every stack and what lives stay " \
		"exact; at least 256K. The history that is kept takes a quarter to a half of it: " \
		"while an old file is exchanged for a new one, both together stay below it", \
		NULL}, \
	{0, "over_size", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(over_size), \
		"where the stacks and the live blocks alone do not fit into --max-size: exceed " \
		"(the default) lets the file grow with them, " \
		"but not with time; stop ends the recording", "exceed|stop"}, \
	{0, "report", "[size|count]", MT_OPTION_CHOICE, MT_OPTION_AT(report), \
		"when the program has ended, print what it has not freed, stack by stack, the " \
		"largest first (size, the default) or the most blocks; " \
		"nothing when all was freed", "size|count"}, \
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top), \
		"with --report: show N stacks, 10 by default", NULL}, \
	{0, "outfile", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(outfile), \
		"with --report: write it into this file", NULL}, \
	{0, "ignore", "REGEX", MT_OPTION_TEXT, MT_OPTION_AT(ignore), \
		"with --report: leave out stacks with a frame " \
		"whose function, source file or module matches", NULL}
/* clang-format on */

#endif
