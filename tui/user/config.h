/* The user's settings: lines NAME = VALUE of $XDG_CONFIG_HOME/memtui/config; # begins a comment.
 * One list feeds the parser, the setup screen, 'memtui help config' and the manual page. Options of
 * the command line win. */
#ifndef MT_TUI_CONFIG_H
#define MT_TUI_CONFIG_H

#include "tui/user/user_files.h"

#include <stdbool.h>
#include <stdio.h>

/* X(id, name, kind, default, choices, words). Kinds: CHOICE "a|b|c"; NUMBER "least..most" or auto;
 * METRIC a name; METRICS several, separated by blanks; THEME a name or file; REGEX; TEXT
 * anything. */
#define MT_SETTINGS(X) \
	X(THEME, "theme", THEME, "dark", NULL, "colours: a theme's name or file") \
	X(ASCII, "ascii", CHOICE, "auto", "auto|always|never", \
		"only ASCII; auto: if the locale is not UTF-8") \
	X(SORT, "sort", METRIC, "leaked_size", NULL, "metric by which groups are first sorted") \
	X(ORDER, "order", CHOICE, "desc", "desc|asc", "largest or smallest first") \
	X(COLUMNS, "columns", METRICS, "", NULL, \
		"columns of the group list; empty: those that fit") \
	X(REFRESH, "refresh", NUMBER, "auto", "50..60000", \
		"ms between redraws; auto: 250, over SSH 1000") \
	X(MOUSE, "mouse", CHOICE, "on", "on|off", "clicks and wheel; off: the terminal selects") \
	X(EDITOR, "editor", TEXT, "", NULL, "editor command; empty: VISUAL, EDITOR, or vi") \
	X(SUSPEND, "suspend", CHOICE, "on", "on|off", \
		"^Z suspends memtui, fg in the shell resumes it") \
	X(RESTORE, "restore", CHOICE, "on", "on|off", \
		"restore the last view, filter, order and folds") \
	X(WRAPPER, "wrapper", REGEX, "", NULL, \
		"regex of your malloc wrappers: lists show their callers instead; empty: only " \
		"the usual ones") \
	X(GRAPHS, "graphs", CHOICE, "braille", "braille|blocks|ascii", \
		"how graphs are drawn if the locale is UTF-8")

enum mt_setting {
#define X(id, name, kind, preset, choices, words) MT_SETTING_##id,
	MT_SETTINGS(X) MT_SETTING_COUNT,
#undef X
};
enum mt_setting_kind {
	MT_SETTING_KIND_CHOICE,
	MT_SETTING_KIND_NUMBER,
	MT_SETTING_KIND_METRIC,
	MT_SETTING_KIND_METRICS,
	MT_SETTING_KIND_THEME,
	MT_SETTING_KIND_REGEX,
	MT_SETTING_KIND_TEXT,
};
struct mt_setting_info {
	const char *name, *preset, *choices, *words;
	enum mt_setting_kind kind;
};
const struct mt_setting_info *mt_setting_info(enum mt_setting);

struct mt_config {
	char value[MT_SETTING_COUNT][256];
	bool given[MT_SETTING_COUNT];   /* in the file, or changed since */
	bool changed[MT_SETTING_COUNT]; /* since it was read or saved */
};
void mt_config_init(struct mt_config *);
/* -EINVAL: err says what was expected, and the value stays. */
int mt_config_set(struct mt_config *, enum mt_setting, const char *value, struct mt_err *err);
bool mt_config_is(const struct mt_config *, enum mt_setting, const char *value);
unsigned mt_config_number(const struct mt_config *, enum mt_setting); /* 0: auto */
/* The next or previous of a list's values; other kinds: false. */
bool mt_config_step(struct mt_config *, enum mt_setting, int by);

void mt_config_read(struct mt_config *, const char *file_name, char *text, struct mt_faults *);
/* The user's own file, which need not be there. Negative: err says why it could not be read. */
int mt_config_load(struct mt_config *, struct mt_faults *, struct mt_err *err);
/* Writes what was changed into the user's file as it is now, which another memtui may have written
 * meanwhile; comments, other lines and their order stay. path: where; caller frees. */
int mt_config_save(struct mt_config *, char **path, struct mt_err *err);
/* what is set, as lines of the file with their words */
void mt_config_print(FILE *out, const struct mt_config *);

#endif
