/* The command line: one list of options per command feeds parser, --help, manual pages and
 * completion. */
#ifndef MT_TUI_OPTIONS_H
#define MT_TUI_OPTIONS_H

#include "core/base/err.h"
#include "core/export/check.h"
#include "core/export/export.h"

#define MT_TEXTS_MAX 32
struct mt_percent {
	double value; /* 0 to 100 */
	bool given;
};
struct mt_texts {
	const char *items[MT_TEXTS_MAX];
	int count;
};

/* Everything that an option of some command can say. Strings are borrowed from argv. */
struct mt_arguments {
	const char *program; /* "memtui" as it was called */
	const char *output, *theme, *keymap, *ascii, *on_full, *complete, *man, *what, *over_size,
		*triage;
	const char *by, *metric, *normalise, *function; /* function: of callers */
	const char *allocation_sort, *allocation_direction, *histogram;
	enum mt_allocation_order allocation_order;
	const char *cache; /* of the recorder's names; NULL: none is to be had */
	const char *tty;
	bool fresh, no_cache, no_follow, no_patch, force, disabled, free_stacks, slack,
		check_stacks, headless, exact, help, short_names;
	uint64_t pid; /* a process that runs already; 0: none */
	uint64_t depth, sample, duration_ns, max_size, top, count, skip, levels, columns, stacked,
		fps;
	/* of_log, of_blocks: the filter is asked of the log alone, or of single blocks */
	bool inverted, ascending, sort_given, history, events, max_size_given, sample_given, of_log,
		of_blocks;
	struct mt_percent threshold, min_percent;
	enum mt_metric sort;
	const char *sort_name; /* no built-in column: the recording must have it; or NULL */
	bool sort_matched;     /* by what matches the filter alone: only_matched.METRIC */
	enum mt_format format;
	const struct mt_export_kind *kind;
	const char *signals[3];                              /* by enum mt_signal_use */
	const char *owner;                                   /* of output files: UID:GID */
	const char *report, *outfile, *ignore, *flame_graph; /* at the end of a recording */
	const char *baseline;
	struct mt_texts suppressions, wrappers, filter_texts, snapshot_when, processes;
	/* of_set: the recording is one of several, and totals are asked of their sums; of_rows:
	 * with --by process, one row for each */
	bool of_set, of_rows, together;
	bool absent_in_set;  /* the same of all that a set has */
	bool each_member;    /* the members of a set are to be known, too */
	bool absent_allowed; /* a trace may lack the thread or marker that is asked for */
	/* applies_suppressions: the command takes options of suppressions, so it shows leaks
	 * without what is suppressed; names_suppressed: its output says how much that is */
	bool no_builtin_suppressions, applies_suppressions, names_suppressed;
	bool for_programs; /* lines are read back: they stay as they are on a terminal, too */
	uint64_t max_memory;
	bool strict;
	struct mt_limit record_min, record_max; /* sizes of blocks that are recorded */
	uint64_t every;                         /* one of so many allocations is recorded */
	/* leaks: as memleak has them */
	uint64_t older_ms;
	const char *program_line, *object, *symbols_prefix, *min_size, *block_max_size;
	const char *allocator_functions; /* of another allocator: core/session/named.h */
	bool all;                        /* sessions remove */
	uint64_t older_than_ns;
	bool show_blocks, show_calls, combined, missing_frees;
	const char *verdicts; /* leak-check: which are shown */
	bool no_copy, leak_check;
	uint64_t error_exitcode; /* 0: what is lost does not matter */
	bool unverified; /* what no total needs may be damaged: a line of many is to come soon */
	struct mt_check check;
	FILE *out; /* where a view goes; NULL: standard output */
	const char *fields[MT_FILTER_COUNT];
	/* further values of fields: what is given twice must hold both times */
	struct mt_field_text {
		enum mt_filter_field field;
		const char *text;
	} again[MT_TEXTS_MAX];
	int again_count;
	char *const *operands; /* what is left: TRACE, PROG ARGS; NULL-terminated */
	int operand_count;
	int program_at; /* which operand follows '--', plus 1; 0: there is no '--' */
};

enum mt_option_kind {
	MT_OPTION_FLAG,        /* bool */
	MT_OPTION_TEXT,        /* const char *, not empty */
	MT_OPTION_ANY_TEXT,    /* const char * */
	MT_OPTION_CHOICE,      /* const char *: one of choices */
	MT_OPTION_NUMBER,      /* uint64_t */
	MT_OPTION_TIME,        /* uint64_t, ns */
	MT_OPTION_SIZE,        /* uint64_t, bytes */
	MT_OPTION_SORT,        /* metric with an optional prefix */
	MT_OPTION_ORDER,       /* bool: ascending */
	MT_OPTION_FORMAT,      /* enum mt_format */
	MT_OPTION_TEXTS,       /* struct mt_texts: can be repeated */
	MT_OPTION_LIMIT_SIZE,  /* struct mt_limit: bytes, with k, M, G */
	MT_OPTION_LIMIT_COUNT, /* the same: a number, with k, M, G of 1000 */
	MT_OPTION_PERCENT,     /* struct mt_percent */
	MT_OPTION_EXPORT,      /* const struct mt_export_kind * */
};

struct mt_option {
	char letter;          /* or 0 */
	const char *name;     /* without dashes; NULL ends a list */
	const char *argument; /* in help, or NULL */
	enum mt_option_kind kind;
	size_t place;      /* in struct mt_arguments */
	const char *words; /* without a final full stop */
	/* CHOICE: "a|b|c"; NUMBER: "least..most"; TEXT: checked elsewhere; or NULL */
	const char *choices;
};
#define MT_OPTION_AT(field) offsetof(struct mt_arguments, field)

/* clang-format off */
#define MT_OPTIONS_END {0, NULL, NULL, MT_OPTION_FLAG, 0, NULL, NULL}

/* Options that several commands share. */
#define MT_OPTIONS_HELP \
	{'h', "help", NULL, MT_OPTION_FLAG, MT_OPTION_AT(help), "show this help", NULL}
#define MT_OPTION_FILTER_FIELD(id, field, kind, scope, choices, words) \
	{0, field, MT_ARGUMENT_##kind, MT_OPTION_TEXT, MT_OPTION_AT(fields[MT_FILTER_##id]), \
		words, choices},
#define MT_ARGUMENT_REGEX "REGEX"
#define MT_ARGUMENT_TIME "TIME"
#define MT_ARGUMENT_SPAN "TIME"
#define MT_ARGUMENT_BYTES "SIZE"
#define MT_ARGUMENT_COUNT "N"
#define MT_ARGUMENT_COUNT_OR_PERCENT "N"
#define MT_ARGUMENT_SPAN_OR_PERCENT "TIME"
#define MT_ARGUMENT_CHOICE "WHAT"
#define MT_ARGUMENT_THREAD "THREAD"
#define MT_ARGUMENT_MARKER "TEXT"
#define MT_ARGUMENT_ADDRESS "ADDRESS"
#define MT_ARGUMENT_FUNCTIONS "NAMES"
#define MT_ARGUMENT_DOMAINS "NAMES"
#define MT_OPTIONS_FILTER \
	MT_FILTER_FIELDS(MT_OPTION_FILTER_FIELD) \
	{0, "filter", "WORDS", MT_OPTION_TEXTS, MT_OPTION_AT(filter_texts), \
		"filters in one text, as in the prompt: 'parse !module:libc size>=1k from:20%'", NULL}
#define MT_OPTIONS_SORT \
	{'s', "sort", "METRIC", MT_OPTION_SORT, MT_OPTION_AT(sort), \
		"sort by this metric (default: leaked_size); only_matched.METRIC counts only " \
		"the allocations that the filters select", NULL}
#define MT_OPTIONS_ROWS \
	{0, "order", "ORDER", MT_OPTION_ORDER, MT_OPTION_AT(ascending), \
		"asc: smallest first; desc: largest first, the default", "asc|desc|dsc"}, \
	{0, "skip", "N", MT_OPTION_NUMBER, MT_OPTION_AT(skip), "skip the first N rows", NULL}
#define MT_OPTIONS_BY \
	{0, "by", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(by), \
		"one row per backtrace (the default), or per function, line, source file or " \
		"module of the innermost frame, kind of call, thread, or process", \
		MT_ROWS_BY_CHOICES}
#define MT_OPTION_BY_PROCESS \
	{0, "by", "process", MT_OPTION_CHOICE, MT_OPTION_AT(by), \
		"the process that a backtrace is from is its outermost frame", "process"}
#define MT_OPTION_PROCESS \
	{0, "process", "PID|NAME", MT_OPTION_TEXTS, MT_OPTION_AT(processes), \
		"of several traces only those of this process, or of programs of this name ('cc*')", \
		NULL}
#define MT_OPTIONS_MIN_PERCENT \
	{0, "min_percent", "P", MT_OPTION_PERCENT, MT_OPTION_AT(min_percent), \
		"tree: leave out functions with less than P percent of the total (default: 0.5), " \
		"and in text what leads from the program's own functions to malloc; 0 shows all", \
		NULL}
#define MT_PERCENT_OF_TREE 0.5
#define MT_OPTIONS_NAMES \
	{0, "short_names", NULL, MT_OPTION_FLAG, MT_OPTION_AT(short_names), \
		"in text: shorten names, without template arguments, as a terminal gets them", \
		NULL}
#define MT_OPTIONS_SUPPRESS \
	{0, "suppressions", "FILE", MT_OPTION_TEXTS, MT_OPTION_AT(suppressions), \
		"hide the leaks that FILE names, in the syntax of LeakSanitizer or valgrind; " \
		"can be repeated", NULL}, \
	{0, "no_builtin_suppressions", NULL, MT_OPTION_FLAG, \
		MT_OPTION_AT(no_builtin_suppressions), \
		"also show the leaks that are hidden by the built-in suppressions and by those " \
		"in the program (__lsan_default_suppressions)", NULL}
#define MT_OPTIONS_WRAPPER \
	{0, "wrapper", "REGEX", MT_OPTION_TEXTS, MT_OPTION_AT(wrappers), \
		"treat matching functions as wrappers of malloc, like xmalloc, operator new or " \
		"g_malloc: the allocation site is their caller; can be repeated", NULL}
#define MT_OPTIONS_COUNT \
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count), "show at most N rows", NULL}
#define MT_OPTIONS_FORMAT \
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format), \
		"text (the default), json or csv", "text|json|csv"}, \
	MT_OPTIONS_EXACT
#define MT_OPTIONS_READING \
	{0, "max_memory", "SIZE", MT_OPTION_SIZE, MT_OPTION_AT(max_memory), \
		"use at most SIZE bytes of memory for a heaptrack file or compressed debug " \
		"information (default: 64 times the file, from 256M to 4G)", NULL}, \
	{0, "strict", NULL, MT_OPTION_FLAG, MT_OPTION_AT(strict), \
		"read the whole trace; exit with status 1 if it is damaged or incomplete", NULL}
#define MT_OPTIONS_EXACT \
	{0, "exact", NULL, MT_OPTION_FLAG, MT_OPTION_AT(exact), \
		"print numbers in full: 50463211, not 48.1M", NULL}
/* clang-format on */

/* What a command is asked to do, by its operand VERB. */
struct mt_verb {
	const char *name;     /* NULL ends a list */
	const char *argument; /* in help; in brackets if it can be left out; NULL: takes none */
	const char *words;    /* without a final full stop */
};

/* One subcommand. */
struct mt_command {
	const char *name, *operands, *words; /* words: one line, without a full stop */
	const char *description;             /* paragraphs, separated by empty lines */
	const char *details;                 /* the same, only in the manual page; NULL: none */
	const char *examples;                /* lines "command\twhat it does" */
	const struct mt_option *options;
	const struct mt_verb *verbs;    /* NULL: it has none */
	int operands_min, operands_max; /* max -1: any number */
	const char *hint;               /* said where an operand is missing; NULL: nothing */
	bool takes_set;                 /* several traces are one recording */
	/* operands begin with the first word that is no option */
	bool runs_program;
	/* begins recordings of processes that run: names are cached as for a program */
	bool records_process;
	/* of options that do not go together; may be NULL */
	int (*check)(const struct mt_arguments *, struct mt_err *);
	/* exit status, or a negative errno */
	int (*run)(const struct mt_arguments *, struct mt_err *);
};

/* Parses argv (after the command's name). Names with '_' may be written with '-' and the other way
 * round; unambiguous prefixes do. -EINVAL: err says what was wrong and what was expected. operands:
 * room for argc + 1 pointers, which the caller owns. */
int mt_options_parse(struct mt_arguments *, const struct mt_command *, int argc, char *const *argv,
	char **operands, struct mt_err *err);
/* Sets an option from elsewhere than the command line: source names it in the error. */
int mt_options_set(struct mt_arguments *, const struct mt_option *, const char *value,
	const char *source, struct mt_err *err);
/* The option's name as it is shown: dashes. */
void mt_option_name(char *out, size_t size, const struct mt_option *option);
/* Its words for help and manual, of a number with its range; caller frees. */
char *mt_option_words(const struct mt_option *option);
/* A time in ns: 500ms, 10s, 2m, 1h, 7d; seconds without a unit. */
int mt_options_time(uint64_t *ns, const char *text);
/* A column of the profile by its name (NULL: a built-in one). -EBADRQC: there is none; err says
 * which are near. */
int mt_options_metric(enum mt_metric *, const struct mt_profile *, const char *text,
	struct mt_err *err);

#endif
