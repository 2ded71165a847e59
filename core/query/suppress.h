/* Suppressions: rules that say which leaks are known. They act on leaks alone: a group whose stack
 * a rule matches leaks nothing, and what it would have leaked is summed up beside. Rules come from
 * LeakSanitizer's files, from valgrind's memcheck files, from the program itself
 * (__lsan_default_suppressions) and from a list of our own. */
#ifndef MT_QUERY_SUPPRESS_H
#define MT_QUERY_SUPPRESS_H

#include "core/query/query.h"

/* A rule, and what it was used for in the last profile that rules were applied to. */
struct mt_suppression {
	const char *text;   /* "leak:pattern", or the name of a block of valgrind's */
	const char *source; /* the file, "built-in" or "program" */
	uint32_t line;      /* in it, from 1 */
	bool builtin;
	uint64_t groups, blocks, bytes;
};

struct mt_suppressions;
struct mt_suppressions *mt_suppressions_new(void);
void mt_suppressions_free(struct mt_suppressions *);
/* Adds the rules of a text: '{' begins one of valgrind's, 'leak:' one of LeakSanitizer's. A line
 * that is no rule is skipped, a block with such a line as a whole; a fault names source, line,
 * column and what was expected. A text with faults and without any rule is an error: it is some
 * other file, and err is its first fault. */
int mt_suppressions_parse(struct mt_suppressions *, const char *text, size_t len,
	const char *source, struct mt_err *err);
int mt_suppressions_read(struct mt_suppressions *, const char *path, struct mt_err *err);
/* The number of faults, and the sentence about one of them; NULL: none is kept. */
uint32_t mt_suppressions_fault_count(const struct mt_suppressions *);
const char *mt_suppressions_fault(const struct mt_suppressions *, uint32_t i);
void mt_suppressions_add_builtin(struct mt_suppressions *);
/* The rules that the program has itself (__lsan_default_suppressions), as far as its names tell.
 * Negative: they are ignored, and err says why. */
int mt_suppressions_add_own(struct mt_suppressions *, const struct mt_symbols *,
	struct mt_err *err);
uint32_t mt_suppressions_count(const struct mt_suppressions *);
const struct mt_suppression *mt_suppressions_at(const struct mt_suppressions *, uint32_t rule);

/* A profile without the leaks that rules match. */
struct mt_suppressed {
	struct mt_profile profile; /* groups are own, all else is borrowed */
	uint32_t *verdicts;        /* by group: rule + 1; 0: none; or MT_SUPPRESS_UNDECIDED */
	uint64_t *blocks, *bytes;  /* by group: what was taken off */
	uint64_t all_blocks, all_bytes;
	uint32_t rules_used;
	uint64_t undecided_groups, undecided_blocks, undecided_bytes;
};
/* The group leaks, and a rule that is not built-in might match a frame whose name is not known. */
#define MT_SUPPRESS_UNDECIDED 0xffffffffu
/* The first rule that matches counts, in the order in which they were added. */
void mt_suppress(struct mt_suppressed *, struct mt_suppressions *, const struct mt_profile *,
	const struct mt_symbols *);
void mt_suppressed_free(struct mt_suppressed *);

enum mt_suppress_syntax { MT_SUPPRESS_LSAN, MT_SUPPRESS_VALGRIND };
/* Rules for these groups, as text without a NUL at its end. Valgrind's name the whole stack, so
 * that they match groups with the same functions alone; LeakSanitizer's can name one frame, and a
 * comment says how many others it takes. */
void mt_suppress_write(struct mt_buffer *out, enum mt_suppress_syntax, const struct mt_profile *,
	const struct mt_symbols *, const uint32_t *groups, uint32_t count);

/* LeakSanitizer's rule for each of these groups, without a line's end; NULL: none can mean it. The
 * caller frees each and all. */
char **mt_suppress_lines(const struct mt_profile *, const struct mt_symbols *,
	const uint32_t *groups, uint32_t count);

/* ---- the matchers themselves ---- */
/* LeakSanitizer's: a part of text matches unless '^' or '$' say otherwise; '*' is any text. Nothing
 * matches "". */
bool mt_suppress_match_lsan(const char *pattern, const char *text);
/* Valgrind's: all of text; '*' any text, '?' any character, a backslash takes the next as it is. */
bool mt_suppress_match_glob(const char *pattern, const char *text);

#endif
