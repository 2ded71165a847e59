/* What the completions of the shells share: which values an option or an operand takes. */
#ifndef MT_TUI_COMPLETION_H
#define MT_TUI_COMPLETION_H

#include "tui/command/commands.h"

enum mt_completes {
	MT_COMPLETES_NOTHING, /* numbers, patterns and other text */
	MT_COMPLETES_VALUES,  /* a closed list */
	MT_COMPLETES_THEMES,  /* the names that 'memtui help themes' prints */
	MT_COMPLETES_FILES,
	MT_COMPLETES_PROGRAM, /* a program and its own arguments */
};

struct mt_value {
	char *name;
	const char *words; /* static, may be "" */
};
struct mt_values {
	struct mt_value *items;
	int count, capacity;
};

/* values: zeroed; filled for MT_COMPLETES_VALUES. Free it with mt_values_free. */
enum mt_completes mt_option_completes(const struct mt_option *, struct mt_values *values);
/* index: from 0. MT_COMPLETES_NOTHING: the command takes no such operand, or any text. */
enum mt_completes mt_operand_completes(const struct mt_command *, int index,
	struct mt_values *values);
/* How many operands complete each in its own way. *any: all others as the last one. */
int mt_operands_shown(const struct mt_command *, bool *any);
void mt_values_free(struct mt_values *);

/* Returns true if the next word can be the option's value. Where a value can be left out, it must
 * follow '='. */
bool mt_option_takes_word(const struct mt_option *);
/* Returns true if the option can be given more than once. */
bool mt_option_repeats(const struct mt_option *);
/* Return true if the values are the same; if all that a shell shows of them is the same. */
bool mt_option_same_values(const struct mt_option *, const struct mt_option *);
bool mt_option_same(const struct mt_option *, const struct mt_option *);
/* The command's option of this name; NULL: it has none. */
const struct mt_option *mt_command_option(const struct mt_command *, const char *name);
/* The number of the first command that has an option of this name. */
int mt_option_first(const char *name);
/* Returns true for the first and the last of the filter's fields in a list of options. */
bool mt_option_is_first_field(const struct mt_option *);
bool mt_option_is_last_field(const struct mt_option *);

/* Writes text and puts a backslash before each of the special characters. quote stands for a
 * single quote, since the text lies between single quotes. */
void mt_put_escaped(FILE *out, const char *text, const char *special, const char *quote);

void mt_completion_bash(FILE *out);
void mt_completion_zsh(FILE *out);
void mt_completion_fish(FILE *out);

#endif
