#include "tui/terminal/fit.h"
#include "core/base/buffer.h"
#include "core/symbol/symbol.h"
#include "tui/terminal/glyphs.h"
#include "tui/terminal/width.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define EXTENSION_MAX 8 /* ".c", ".tcc", ".pxd" */

/* Behind the last character that ends within so many columns. */
static const char *within(const char *text, int columns)
{
	const char *next = text;

	while (*next) {
		columns -= mt_text_step(&next);
		if (columns < 0)
			break;
		text = next;
	}
	return text;
}

/* The first character from which on the text takes no more than so many columns. */
static const char *last_of(const char *text, int columns)
{
	int width = mt_text_width(text);

	while (width > columns)
		width -= mt_text_step(&text);
	return text;
}

static char *joined(const char *head, const char *head_end, const char *tail, bool utf8)
{
	const char *ellipsis = mt_glyph(utf8, MT_GLYPH_ELLIPSIS);
	struct mt_buffer out = {0};

	/* what was folded just there has one already */
	if (!strncmp(tail, ellipsis, strlen(ellipsis)))
		tail += strlen(ellipsis);
	mt_buffer_add(&out, head, (size_t)(head_end - head));
	mt_buffer_add(&out, ellipsis, strlen(ellipsis));
	mt_buffer_add(&out, tail, strlen(tail) + 1);
	return (char *)out.data;
}

char *mt_fit_middle(const char *text, int width, bool utf8)
{
	int head = (width - 1) / 3;

	if (width <= 0 || mt_text_width(text) <= width)
		return mt_strdup(width <= 0 ? "" : text);
	return joined(text, within(text, head), last_of(text, width - 1 - head), utf8);
}

/* Namespaces and classes go before anything of the function's own name does. */
static char *fit_inner(const char *folded, int width, bool utf8)
{
	const char *inner = mt_text_width(folded) > width ? mt_name_inner(folded) : NULL;

	while (inner && mt_text_width(inner) + 1 > width && mt_name_inner(inner))
		inner = mt_name_inner(inner);
	if (!inner)
		return mt_fit_middle(folded, width, utf8);
	if (width > 1
		&& mt_text_width(inner) == width) /* without an ellipsis it would look whole */
		return joined(folded, folded, last_of(inner, width - 1), utf8);
	return mt_text_width(inner) > width ? mt_fit_middle(inner, width, utf8)
					    : joined(folded, folded, inner, utf8);
}

char *mt_fit_name(const char *name, int width, bool utf8, bool whole)
{
	char *folded, *fitting;

	if (whole || mt_text_width(name) <= width)
		return mt_fit_middle(name, width, utf8);
	folded = mt_name_fold(name, mt_glyph(utf8, MT_GLYPH_ELLIPSIS), false);
	if (mt_text_width(folded) > width) {
		free(folded);
		folded = mt_name_fold(name, mt_glyph(utf8, MT_GLYPH_ELLIPSIS), true);
	}
	fitting = fit_inner(folded, width, utf8);
	free(folded);
	return fitting;
}

/* ":12" at the end; NULL: there is none. */
static const char *line_of(const char *source)
{
	const char *colon = strrchr(source, ':');

	return colon && isdigit((unsigned char)colon[1]) ? colon : NULL;
}

char *mt_fit_source(const char *source, int width, bool utf8)
{
	const char *line = line_of(source), *tail = line;

	if (!line || width <= 0 || mt_text_width(source) <= width)
		return mt_fit_middle(source, width, utf8);
	for (const char *at = line; at > source && line - at < EXTENSION_MAX; at--)
		if (at[-1] == '.') {
			tail = at - 1;
			break;
		}
	if (mt_text_width(tail) + 2 > width)
		tail = line;
	if (mt_text_width(tail) + 1 > width)
		return mt_strdup("");
	return joined(source, within(source, width - 1 - mt_text_width(tail)), tail, utf8);
}
