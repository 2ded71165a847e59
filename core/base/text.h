/* Foreign text (names, paths, arguments, notes) made safe for what it is written into. Nothing that
 * these functions write holds a control character, an invisible one that changes how text beside it
 * is shown (such as a bidirectional override), or invalid UTF-8. */
#ifndef MT_BASE_TEXT_H
#define MT_BASE_TEXT_H

#include "core/base/buffer.h"

#include <stdbool.h>
#include <stdio.h>

/* What mt_text_next returns for a byte that is not part of a UTF-8 character (RFC 3629). */
#define MT_TEXT_INVALID UINT32_MAX

/* Returns the character at *text and moves past it; 0: the end, which stays where it is. */
uint32_t mt_text_next(const char **text);
/* Returns true if a terminal, a browser or an editor may get the character as it is. */
bool mt_text_is_safe(uint32_t code);

/* The forms differ in the characters that mean something to the format. A character that is not
 * safe is named: as JSON names it, and as \n, \x1b or \u202e in all other forms. JSON cannot name
 * an invalid byte: it becomes U+FFFD. */
enum mt_text_form {
	MT_TEXT_LINE,     /* a line for people, or of a format without special characters */
	MT_TEXT_JSON,     /* what stands between the quotes of a string */
	MT_TEXT_XML,      /* an element's text or an attribute's value */
	MT_TEXT_MARKDOWN, /* text without markup */
	MT_TEXT_FOLDED,   /* a frame of a collapsed stack: ';' separates frames and becomes ':' */
	MT_TEXT_CSV,      /* use mt_text_put_csv, which adds the quotes */
	MT_TEXT_FORMS,
};
void mt_text_add(struct mt_buffer *, enum mt_text_form, const char *text);
void mt_text_put(FILE *, enum mt_text_form, const char *text);
/* The text as a line for people; caller frees. */
char *mt_text_line(const char *text);
/* A field of CSV (RFC 4180). One that a spreadsheet would run as a formula gets a ' before it. */
void mt_text_put_csv(FILE *, const char *text);
/* A copy of the same length for patterns: a wildcard stands for each byte of characters that are
 * not safe. Caller frees. */
char *mt_text_wildcards(const char *text, char wildcard);
/* Characters as a terminal counts them, wide ones apart. */
uint32_t mt_text_columns(const char *text);
/* The text, or as much of it as fits into so many columns with an ellipsis; caller frees. */
char *mt_text_fitting(const char *text, uint32_t columns);
/* The bytes of the whole characters among the first `most` bytes. */
size_t mt_text_cut(const char *text, size_t most);

#endif
