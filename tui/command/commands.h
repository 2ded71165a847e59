/* The subcommands, and what they share. */
#ifndef MT_TUI_COMMANDS_H
#define MT_TUI_COMMANDS_H

#include "core/query/wrappers.h"
#include "core/recording/recording.h"
#include "core/session/session.h"
#include "core/set/set.h"
#include "core/wire.h"
#include "tui/command/options.h"
#include "tui/ui.h"

/* In the order in which help shows them. */
#define MT_COMMANDS(X) \
	X(run) \
	X(record) \
	X(open) \
	X(report) \
	X(leaks) \
	X(leak_check) \
	X(holders) \
	X(memory) \
	X(pack) \
	X(attach) \
	X(detach) \
	X(sessions) \
	X(ctl) \
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

/* The index of a verb in a command's list. -EINVAL: there is none; err lists them. (verbs.c) */
int mt_verb_find(const struct mt_verb *, const char *name, struct mt_err *err);

/* What is outstanding is older by default: see leaks. */
#define MT_OLDER_MS 500

/* A sentence for the person, on stderr. (main.c) */
void mt_command_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Overwrites one line on stderr where that is a terminal; fraction < 0 wipes it. (main.c) */
void mt_command_progress(const char *what, double fraction);
/* The same as the progress of an opening, which it does not cancel. (main.c) */
int mt_command_tell(void *unused, const char *what, double fraction);

/* ---- a recording (load.c) ---- */
/* Opens it, or what is recorded of a process now; says what is missing or damaged. path: of a file,
 * or the number of a process. names: whether they are wanted. NULL on error. */
struct mt_recording *mt_command_open_recording(const char *path, const struct mt_open_options *,
	bool names, struct mt_err *);
/* A sentence where files have debug information that cannot be read here. */
void mt_command_say_unreadable(const struct mt_recording *);
/* Reads and checks every block, also those that no view needed, and says what is damaged. Unless
 * `all`, a large file is not read, and that is said. */
void mt_command_verify(struct mt_recording *, const char *path, bool all);

/* ---- parts (command_parts.c) ---- */
/* The filter that the options ask for. NULL on error. */
/* profile: whose columns it may name; NULL: they are known later (mt_filter_pass_over). */
extern const struct mt_profile mt_no_columns; /* beside the built-in ones */
struct mt_filter *mt_command_filter(const struct mt_arguments *, const struct mt_profile *,
	struct mt_err *);
/* The wrappers of malloc that the options name, and the usual ones. NULL on error. */
struct mt_wrappers *mt_command_wrappers(const struct mt_arguments *, struct mt_err *);
/* A trace, what the filter leaves of it, and a report on that as the options ask for it. */
struct mt_opened {
	struct mt_recording *recording;
	const struct mt_generation *now;
	bool borrowed; /* they are another's */
	struct mt_filter *filter;
	struct mt_wrappers *wrappers;
	struct mt_source source;
	struct mt_matched matched;
	struct mt_suppressions *rules;                     /* NULL: leaks are not judged */
	struct mt_profile lost, lost_whole;                /* with --leak-check; else empty */
	struct mt_suppressed suppressed, suppressed_whole; /* of a set: sums alone */
	bool judged;
	struct mt_set *set; /* several recordings; NULL: one */
	struct mt_generation set_now;
	struct mt_facts set_facts;
	char *set_paths;     /* for a person who is to type them */
	uint32_t set_unread; /* of its members */
	uint64_t set_unanswered_ns;
	bool set_answers; /* some member has what the filter names */
	int set_status;   /* 1: some member was not read, or --strict refuses one */
	struct mt_report report;
};
/* symbols: whether names are wanted in any case. To be freed after an error too. */
int mt_opened_load(struct mt_opened *, const struct mt_arguments *, const char *path, bool symbols,
	struct mt_err *);
/* The same of several recordings, or of one whose processes are asked for: as one (doc/sets.md). If
 * some could not be read, which was said, mt_opened_verdict returns 1. */
int mt_opened_load_set(struct mt_opened *, const struct mt_arguments *, char *const *paths,
	int count, bool symbols, struct mt_err *);
/* Parts of both: the filter as far as it can be read without columns; with them; the report. */
int mt_opened_read_filter(struct mt_opened *, const struct mt_arguments *, struct mt_err *);
int mt_opened_reread_filter(struct mt_opened *, const struct mt_arguments *, struct mt_err *);
int mt_opened_conclude(struct mt_opened *, const struct mt_arguments *, struct mt_err *);
/* Those of the paths that --process selects (all without it), in a list that the caller frees; NULL
 * if there are none. */
char **mt_command_choose_processes(const struct mt_arguments *, char *const *paths, int *count,
	struct mt_err *);
/* The traces that are operands from this one on: one, or a set. */
int mt_opened_load_operands(struct mt_opened *, const struct mt_arguments *, int first,
	bool symbols, struct mt_err *);
/* The same trace by two filters on single allocations: loaded once, and gone over as often as for
 * one. */
int mt_opened_load_instants(struct mt_opened *a, const struct mt_arguments *before,
	struct mt_opened *b, const struct mt_arguments *after, const char *path,
	struct mt_err *err);
/* The same of a recording that is open, which it takes, at what is known of it now. */
int mt_opened_take(struct mt_opened *, const struct mt_arguments *, struct mt_recording *,
	struct mt_err *);
/* The status of a command whose own is status: 1 with --strict if not all of the trace was there to
 * read. */
int mt_opened_verdict(const struct mt_opened *, const struct mt_arguments *, const char *path,
	int status);
/* How much is suppressed, where the report does not say so itself. path: of which of several
 * traces; or NULL. */
void mt_opened_say_suppressed(const struct mt_opened *, const struct mt_arguments *,
	const char *path);
void mt_opened_free(struct mt_opened *);
/* Where a result goes: standard output, unless the options say otherwise. A terminal gets lines
 * that do not wrap. */
FILE *mt_command_out(const struct mt_arguments *);
/* Whether all of the result could be written. */
int mt_command_finish(const struct mt_arguments *, struct mt_err *);
/* Loads the trace (the first operand), reports on it to stdout. */
/* Returns -EBADRQC if the values of several groups do not add up, as the format needs. */
int mt_command_check_sums(const struct mt_export_kind *, const struct mt_profile *, enum mt_metric,
	struct mt_err *err);
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
/* Fills the terminal interface's options, which borrow the arguments. */
void mt_command_ui_options(struct mt_ui_options *, const struct mt_arguments *);
/* Fills a session's options. library: the path that they borrow, which the caller frees. */
void mt_command_session_options(struct mt_session_options *, char **library,
	const struct mt_arguments *);
/* Records without a terminal interface: record, and run --headless. (command_record.c) */
int mt_command_record_program(const struct mt_arguments *, struct mt_err *);
/* What can be said of the options of the screen before anything is opened or started. live: of a
 * program that runs. */
int mt_command_check_ui(const struct mt_arguments *, bool live, struct mt_err *);
/* ---- recordings in progress (recorded.c) ---- */
#define MT_COMMAND_INHERITED \
	"process %d has not allocated since it was forked; its recording begins with its first " \
	"allocation or free"
/* Whether what a command is to read is the number of a process, and no file of that name. */
bool mt_command_is_process(const char *word, pid_t *);
/* The session that records this process, or whose recorder or front it is. NULL: none. process: 0
 * if it is the session's first one, the recorder or the front. */
const struct mt_session_entry *mt_command_recording_of(const struct mt_session_entry *, int count,
	pid_t, pid_t *process);
/* The same where one must be there and answer: a copy of its entry. Else err says what is the
 * matter. */
int mt_command_find_recording(struct mt_session_entry *, pid_t, pid_t *process, struct mt_err *);
/* 0, or why a process that is in no recording may be in one that we cannot see. */
int mt_command_check_others(const struct mt_session_entry *, int count, pid_t, struct mt_err *);
/* Fails in words unless the session was attached, so that it can be detached. */
int mt_command_check_detach(const struct mt_session_entry *, pid_t, struct mt_err *);
/* Ends it; complete: so is its trace. (detach.c) */
int mt_command_detach_session(const struct mt_session_entry *, bool *complete, struct mt_err *);
/* Fails in words if the process is recorded already. */
int mt_command_check_unrecorded(pid_t, struct mt_err *);
/* Which option of a recording was given, for a sentence; NULL: none. */
const char *mt_command_recording_option(const struct mt_arguments *);
/* Of the options of record and run that do not go together. */
int mt_command_check_recording(const struct mt_arguments *, bool attaches, struct mt_err *err);
/* Of --record-min and --record-max: whether they leave out anything, and make sense. */
bool mt_command_is_gated(const struct mt_arguments *);
int mt_command_check_gates(const struct mt_arguments *, struct mt_err *);
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
void mt_manual_print_config(FILE *out);  /* memtui-config(5) */
void mt_manual_print_keys(FILE *out);    /* memtui-keys(5) */
void mt_manual_print_filters(FILE *out); /* memtui-filters(7) */
/* shell: "bash", "zsh" or "fish" */
void mt_completion_print(FILE *out, const char *shell);
/* What help explains beside the commands. */
struct mt_topic {
	const char *name, *words;
	bool has_manual; /* a manual page of its own */
};
const struct mt_topic *mt_help_topic_at(int i); /* NULL after the last */
/* What of its operands does not speak for itself; NULL: nothing. */
const char *mt_command_operand_words(const struct mt_command *);
/* Whether it has an option of this kind, whose values help then lists. */
bool mt_command_takes(const struct mt_command *, enum mt_option_kind);
/* ---- filters and metrics, which help and manual tell once (filters.c) ---- */
extern const struct mt_option mt_filter_options[];
extern const char mt_filters_words[], mt_filters_about[], mt_filters_language[];
extern const char mt_metrics_about[];
bool mt_option_is_filter(const struct mt_option *);
/* Returns true if the command takes filters. */
bool mt_command_filters(const struct mt_command *);
extern const char mt_help_about[], mt_help_exit[], mt_help_keys[], mt_help_keys_examples[];

/* clang-format off */
#define MT_OPTIONS_KEYMAP \
	{0, "keymap", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(keymap), \
		"read key bindings from FILE, not from $XDG_CONFIG_HOME/memtui/keys; see 'memtui " \
		"help keys'", NULL}
#define MT_OPTIONS_UI \
	MT_OPTIONS_FILTER, \
	MT_OPTIONS_SORT, \
	{0, "theme", "NAME", MT_OPTION_TEXT, MT_OPTION_AT(theme), \
		"colour theme: its name or file", NULL}, \
	MT_OPTIONS_KEYMAP, \
	{0, "ascii", "WHEN", MT_OPTION_CHOICE, MT_OPTION_AT(ascii), \
		"draw with ASCII characters only: auto (the default), always or never", \
		"auto|always|never"}, \
	{0, "triage", "FILE", MT_OPTION_ANY_TEXT, MT_OPTION_AT(triage), \
		"keep judgements and notes about leaks in FILE (default: $MEMTUI_TRIAGE, else " \
		"~/.local/state/memtui/triage/PROGRAM); empty: keep none", NULL}, \
	{0, "fresh", NULL, MT_OPTION_FLAG, MT_OPTION_AT(fresh), \
		"ignore the saved view of this program, and do not replace it", NULL}, \
	{0, "fps", "N", MT_OPTION_NUMBER, MT_OPTION_AT(fps), \
		"redraw new data N times per second (default: 4, over SSH 1)", \
		"1..60"}
#define MT_OPTION_NO_COPY \
	{0, "no_copy", NULL, MT_OPTION_FLAG, MT_OPTION_AT(no_copy), \
		"read the process itself, whose threads stand still meanwhile, and not a copy of " \
		"it", NULL}
#define MT_OPTION_FUNCTIONS \
	{0, "allocator_functions", "LIST", MT_OPTION_TEXT, MT_OPTION_AT(allocator_functions), \
		"also record an allocator's functions: 'malloc=NAME free=NAME calloc=NAME', " \
		"'prefix=je_', 'object=LIB'", NULL}
#define MT_OPTIONS_SIGNALS \
	{0, "signal_report", "SIGNAL", MT_OPTION_CHOICE, MT_OPTION_AT(signals[0]), \
		"write a report, most bytes first, at this signal to the program, unless the " \
		"program handles it", MT_SIGNAL_CHOICES}, \
	{0, "signal_report_count", "SIGNAL", MT_OPTION_CHOICE, MT_OPTION_AT(signals[1]), \
		"the same, most blocks first", MT_SIGNAL_CHOICES}, \
	{0, "signal_toggle", "SIGNAL", MT_OPTION_CHOICE, MT_OPTION_AT(signals[2]), \
		"pause or resume at this signal", MT_SIGNAL_CHOICES}
#define MT_OPTIONS_GATES \
	{0, "record_min", "SIZE", MT_OPTION_LIMIT_SIZE, MT_OPTION_AT(record_min), \
		"record no blocks smaller than this", NULL}, \
	{0, "record_max", "SIZE", MT_OPTION_LIMIT_SIZE, MT_OPTION_AT(record_max), \
		"record no blocks larger than this", NULL}
#define MT_OPTIONS_RECORD \
	{'o', "output", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(output), \
		"trace file; %e: program, %t: Unix time, %p: process, %h: host, %n: unique number; " \
		"'-': standard output; your own symbolic links are followed, others' are refused", \
		NULL}, \
	{'f', "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force), \
		"replace an existing trace, including those of its other processes", NULL}, \
	{0, "chown", "UID:GID", MT_OPTION_TEXT, MT_OPTION_AT(owner), \
		"owner of traces and snapshots, by numbers", NULL}, \
	{0, "depth", "N", MT_OPTION_NUMBER, MT_OPTION_AT(depth), \
		"record only the innermost N frames of a stack (default: 4096); deeper stacks " \
		"lose main", "4..65536"}, \
	{0, "leak_check", NULL, MT_OPTION_FLAG, MT_OPTION_AT(leak_check), \
		"judge at the end which blocks are lost", NULL}, \
	{0, "free_stacks", NULL, MT_OPTION_FLAG, MT_OPTION_AT(free_stacks), \
		"also record the backtraces of frees", NULL}, \
	{0, "slack", NULL, MT_OPTION_FLAG, MT_OPTION_AT(slack), \
		"ask allocators other than glibc's for the usable size of each block; glibc's is " \
		"known at no cost", NULL}, \
	{0, "check_stacks", NULL, MT_OPTION_FLAG, MT_OPTION_AT(check_stacks), \
		"check every stack with a full unwind, and many with libgcc's (slow)", NULL}, \
	{0, "on_full", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(on_full), \
		"when the recorder cannot keep up: block (the default) makes the program wait a " \
		"while, wait for as long as it takes; drop loses events and counts them", \
		"block|wait|drop"}, \
	{0, "no_follow", NULL, MT_OPTION_FLAG, MT_OPTION_AT(no_follow), \
		"do not record what is started without LD_PRELOAD, as by env -i", NULL}, \
	{0, "no_patch", NULL, MT_OPTION_FLAG, MT_OPTION_AT(no_patch), \
		"leave allocators inside programs and libraries alone", NULL}, \
	MT_OPTION_FUNCTIONS, \
	{0, "disabled", NULL, MT_OPTION_FLAG, MT_OPTION_AT(disabled), \
		"start paused, until memtui_resume (memtui.h) is called", NULL}, \
	{0, "no_cache", NULL, MT_OPTION_FLAG, MT_OPTION_AT(no_cache), \
		"keep and read no names of functions in MEMTUI_CACHE", NULL}, \
	{0, "sample", "SIZE", MT_OPTION_SIZE, MT_OPTION_AT(sample), \
		"keep one block in SIZE bytes (512K): cheap estimates", \
		NULL}, \
	{0, "every", "N", MT_OPTION_NUMBER, MT_OPTION_AT(every), \
		"keep one of N allocations, at random: cheap estimates", "1..1000000"}, \
	MT_OPTIONS_GATES, \
	{0, "duration", "TIME", MT_OPTION_TIME, MT_OPTION_AT(duration_ns), \
		"stop recording after this time", NULL}, \
	{0, "max_size", "SIZE", MT_OPTION_SIZE, MT_OPTION_AT(max_size), \
		"keep each trace below SIZE (256M; at least 256K) by dropping the oldest events", \
		NULL}, \
	{0, "over_size", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(over_size), \
		"if stacks and live blocks alone need more than --max-size: exceed it (the " \
		"default), or stop recording", "exceed|stop"}, \
	{0, "snapshot_when", "CONDITION", MT_OPTION_TEXTS, MT_OPTION_AT(snapshot_when), \
		"write a snapshot (a trace up to then) each time this becomes true: 'rss>2G', " \
		"'live>500M', 'live>90%' of the container's limit, 'growth>10M/s'; can be " \
		"repeated", NULL}, \
	{0, "report", "[size|count]", MT_OPTION_CHOICE, MT_OPTION_AT(report), \
		"at the end, print what was not freed by backtrace, most bytes (size, the " \
		"default) or most blocks first", "size|count"}, \
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top), \
		"with --report: show N backtraces (default: 10)", NULL}, \
	{0, "outfile", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(outfile), \
		"with --report: write the report to FILE", NULL}, \
	{0, "flame_graph", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(flame_graph), \
		"at the end, write a flame graph (SVG) of the peak", \
		NULL}, \
	{0, "ignore", "REGEX", MT_OPTION_TEXT, MT_OPTION_AT(ignore), \
		"with --report: leave out backtraces in which a function, source file or module " \
		"matches", NULL}
/* clang-format on */

#endif
