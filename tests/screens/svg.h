/* A screen as a picture: what is in the cells of the terminal, in its colours. */
#ifndef MT_TESTS_SCREENS_SVG_H
#define MT_TESTS_SCREENS_SVG_H

#include "harness.h"

/* foreground, background: what the terminal's own colours are, 0xrrggbb. Caller frees. */
char *terminal_svg(struct terminal *, unsigned foreground, unsigned background);

/* Screens of one size that follow one another for ever, as one picture: style sheets do it, there
 * is no script. What is not animated (a printer, a reader who wants no motion) shows the first. */
struct film *film_new(unsigned foreground, unsigned background);
/* Shows the terminal as it is now for some seconds, with a line of text below it: the key that is
 * pressed next, and what it does. */
void film_add(struct film *, struct terminal *, unsigned seconds, const char *key,
	const char *caption);
char *film_svg(struct film *); /* frees the film; caller frees the text */

#endif
