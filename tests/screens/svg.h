/* A screen as a picture: what is in the cells of the terminal, in its colours. */
#ifndef MT_TESTS_SCREENS_SVG_H
#define MT_TESTS_SCREENS_SVG_H

#include "harness.h"

/* foreground, background: what the terminal's own colours are, 0xrrggbb. Caller frees. */
char *terminal_svg(struct terminal *, unsigned foreground, unsigned background);

#endif
