/* Lines for a terminal: one that is wider than the terminal is broken between words, and what
 * follows is indented, so that it does not look like a line of its own. */
#ifndef MT_BASE_WRAP_H
#define MT_BASE_WRAP_H

#include <stdint.h>
#include <stdio.h>

/* The columns of the terminal behind a descriptor; 0: it is none, and nothing is to be broken.
 * Leaves errno as it is. */
uint32_t mt_wrap_columns(int fd);
/* Writes a line, which has no newline, and a newline. columns 0: as it is. Words that are wider
 * than a line stay whole. */
void mt_wrap_line(FILE *, const char *line, uint32_t columns, uint32_t indent);
/* A stream that writes the lines that it gets to out, wrapped. They continue below the second
 * column of a table ("peak       12.5M at …"), else two columns further in. */
FILE *mt_wrap_open(FILE *out, uint32_t columns);

#endif
