/* What the tests of screens share. A test is NAME_test.c with a main of its own: tests_begin,
 * checks, t.failed != 0. */
#ifndef MT_TESTS_SCREENS_SCREENS_H
#define MT_TESTS_SCREENS_SCREENS_H

#include "harness.h"

#include <stdbool.h>

struct tests {
	char *memtui, *themes, *trace, *golden, *source, *scratch, *demo;
	bool generate;
	int failed;
	char *second; /* operand of open, behind the trace; NULL: none */
	bool frames;  /* as of struct settings */
};

struct golden {
	const char *name;
	int columns, rows;
	const char *keys;
	const char *term, *locale, *theme; /* NULL: xterm-256color, C.UTF-8, dark */
	bool no_color;
	const char *then;      /* keys typed when the first ones were answered */
	const char *filtering; /* where filters stop */
	bool totals;           /* of the trace without events */
};
/* clang-format off */
#define GOLDEN(name, columns, rows, keys) {name, columns, rows, keys, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

struct tests tests_begin(int argc, char **argv);
bool wanted(const char *name); /* among the words of the environment's ONLY, or there is none */
/* An 'ok' or 'not ok' line. */
void tell(struct tests *t, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Opens the made trace as the golden says; g may be NULL. */
void open_trace(struct tests *t, struct terminal *terminal, int rows, int columns,
	const struct golden *g);
/* Compares the screen with the file of its name, or writes that with GENERATE. ONLY=golden: all,
 * ONLY=NAME: that one. */
void check_golden(struct tests *t, const struct golden *g);
/* The same of any text; what ONLY says is up to the caller. */
void check_text(struct tests *t, const char *name, const char *seen);
void check_file(struct tests *t, const char *path, const char *kind, const char *name,
	const char *seen);
char *read_text(const char *path); /* empty where there is none; caller frees */

/* Through many sizes, the last of which is 100x30; false: there was no answer. */
bool walk_sizes(struct terminal *);
/* After that walk the screen is as one that was opened at the last; keys: typed before.
 * ONLY=resize. */
void check_walks(struct tests *t, const char *where, const char *const *keys, size_t count);
/* One after another: what is typed or clicked, and what then has to be on the screen, or must not
 * (or NULL). g: what to open, of its size or else at 100x30; or NULL. ONLY=steps. */
struct step {
	const char *name, *keys, *there, *gone;
};
void check_steps(struct tests *t, const char *where, const struct golden *g,
	const struct step *steps, size_t count);

/* These keys bring these words to the screen. */
void check_answer(struct tests *, struct terminal *, const char *keys, const char *words,
	const char *name);

#endif
