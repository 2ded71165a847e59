/* What a test program expects the recorder to have seen, one line each in the form that drain -e
 * prints. The program must not allocate for it, so the lines are kept and written at the end. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char truth_text[1 << 16];
static size_t truth_len;

static inline void truth(const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	truth_len += (size_t)vsnprintf(truth_text + truth_len, sizeof truth_text - truth_len,
		format, rest);
	va_end(rest);
	truth_text[truth_len++] = '\n';
}

static inline void truth_write(void)
{
	if (write(1, truth_text, truth_len) != (ssize_t)truth_len)
		abort();
}

#define must(condition) \
	do { \
		if (!(condition)) { \
			dprintf(2, "line %d: %s\n", __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

#endif
