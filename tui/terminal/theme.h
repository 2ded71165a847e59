/* Themes: what each role of text looks like. A theme is a file of lines
 *   role = foreground [background] [bold] [dim] [underline] [reverse] [italic]
 * with colours as #rrggbb or "default", the terminal's own; without a background it is that of
 * text, which is the screen's. # begins a comment where it is no colour. */
#ifndef MT_TUI_THEME_H
#define MT_TUI_THEME_H

#include "core/base/err.h"

#include <stdbool.h>

/* X(id, name in theme files, attributes where there is no colour) */
#define MT_ROLES(X) \
	X(TEXT, "text", 0) \
	X(DIM, "dim", 0) \
	X(TITLE, "title", MT_STYLE_REVERSE) \
	X(LIVE, "live", MT_STYLE_REVERSE | MT_STYLE_BOLD) \
	X(LOST, "lost", MT_STYLE_REVERSE | MT_STYLE_BOLD) \
	X(TAB, "tab", 0) \
	X(TAB_ACTIVE, "tab_active", MT_STYLE_BOLD) \
	X(HEADING, "heading", MT_STYLE_UNDERLINE) \
	X(SORTED, "sorted", MT_STYLE_UNDERLINE | MT_STYLE_BOLD) \
	X(SELECTED, "selected", MT_STYLE_REVERSE) \
	X(SELECTED_AWAY, "selected_away", MT_STYLE_BOLD) \
	X(NUMBER, "number", 0) \
	X(FUNCTION, "function", 0) \
	X(SOURCE, "source", 0) \
	X(GRAPH, "graph", 0) \
	X(GRAPH_2, "graph_2", 0) \
	X(RANGE, "range", MT_STYLE_BOLD) \
	X(AXIS, "axis", 0) \
	X(RULE, "rule", 0) \
	X(RULE_FOCUS, "rule_focus", MT_STYLE_BOLD) \
	X(PROMPT, "prompt", MT_STYLE_BOLD) \
	X(MATCH, "match", MT_STYLE_UNDERLINE | MT_STYLE_BOLD) \
	X(ERROR, "error", MT_STYLE_BOLD) \
	X(KEY, "key", MT_STYLE_BOLD) \
	X(KEY_NAME, "key_name", MT_STYLE_REVERSE) \
	X(BOX, "box", 0) \
	X(BOX_KEY, "box_key", MT_STYLE_BOLD) \
	X(GROWING, "growing", MT_STYLE_BOLD) \
	X(ICICLE_1, "icicle_1", 0) \
	X(ICICLE_2, "icicle_2", 0) \
	X(GROUP_1, "group_1", 0) \
	X(GROUP_2, "group_2", 0) \
	X(GROUP_3, "group_3", 0) \
	X(GROUP_4, "group_4", 0) \
	X(GROUP_5, "group_5", 0) \
	X(OTHER, "other", 0)

enum mt_role {
#define X(id, name, mono) MT_ROLE_##id,
	MT_ROLES(X) MT_ROLE_COUNT,
#undef X
	/* text on a bar in a group's colour; made of the roles of groups */
	MT_ROLE_BAR_1 = MT_ROLE_COUNT,
	MT_ROLE_ALL = MT_ROLE_BAR_1 + 5,
};

#define MT_STYLE_BOLD 1u
#define MT_STYLE_DIM 2u
#define MT_STYLE_UNDERLINE 4u
#define MT_STYLE_REVERSE 8u
#define MT_STYLE_ITALIC 16u

#define MT_COLOUR_DEFAULT (-1)
/* | 0 to 255: of the terminal's palette, as a program's output asks for it */
#define MT_COLOUR_INDEX 0x1000000
struct mt_style {
	int foreground, background; /* 0xrrggbb, MT_COLOUR_INDEX | number or MT_COLOUR_DEFAULT */
	unsigned attributes;        /* MT_STYLE_* */
};
struct mt_theme {
	struct mt_style style[MT_ROLE_COUNT];
};

/* Without colours: what monochrome terminals show. */
void mt_theme_mono(struct mt_theme *);
/* Errors name file, line and what was expected; the theme is unchanged then. */
int mt_theme_parse(struct mt_theme *, const char *file_name, const char *text, struct mt_err *err);
/* name: a path with a slash, or a name looked for as NAME.theme in $XDG_CONFIG_HOME/memtui/themes,
 * beside the executable and in the install prefix. NULL: dark, or no colours where no theme was
 * installed. */
int mt_theme_load(struct mt_theme *, const char *name, struct mt_err *err);
/* Whether there is one of this name; files are not looked at. */
int mt_theme_check(const char *name, struct mt_err *err);
/* The file that load would read; NULL: there is none. Caller frees. */
char *mt_theme_path(const char *name);
/* Names of the themes that load would find, in the order of the alphabet, separated by separator.
 * Caller frees. */
char *mt_theme_names(const char *separator);
/* The nearest colour of a terminal with so many colours; MT_COLOUR_DEFAULT stays. */
int mt_theme_nearest(int rgb, int colours);
/* Both colours of a role on such a terminal, so that one can be told from the other, and the roles
 * of groups from each other. role: less than MT_ROLE_ALL */
void mt_theme_pair(const struct mt_theme *, enum mt_role, int colours, int *foreground,
	int *background);

#endif
