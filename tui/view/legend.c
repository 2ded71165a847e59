#include "tui/view/legend.h"

#include "core/export/report_parts.h"
#include "tui/terminal/fit.h"
#include "tui/terminal/glyphs.h"
#include "tui/terminal/width.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 12 /* columns of a name: what is cut further says nothing */

/* The names of an entry, from the longest to the shortest. */
struct names {
	char *whole;  /* the function as it is, and its line */
	char *folded; /* without arguments */
	char *base;   /* without namespaces and classes */
};

static struct names names_of(const struct mt_backtrace_frame *frame, bool utf8)
{
	char *function = frame ? mt_report_frame_name(frame) : mt_strdup("(no stack)");
	char *folded = mt_name_fold(function, mt_glyph(utf8, MT_GLYPH_ELLIPSIS), true);
	char line[16] = "";
	struct names n;

	if (frame && frame->line)
		snprintf(line, sizeof line, ":%u", frame->line);
	n.whole = mt_format("%.280s%s", function, line);
	n.folded = mt_format("%.280s%s", folded, line);
	n.base = mt_format("%.*s%s", (int)mt_name_base_len(folded), mt_name_base(folded), line);
	free(folded);
	free(function);
	return n;
}

static void names_free(struct names *n)
{
	free(n->whole);
	free(n->folded);
	free(n->base);
}

/* Of a function without a name, what calls it says more than a part of its offset. */
static bool is_named_by_caller(const struct mt_backtrace_frame *frame)
{
	return frame && !*frame->function && frame->caller;
}

static char *text_of(const struct names *n, const struct mt_backtrace_frame *frame, int room,
	bool utf8)
{
	char *caller, *text;

	if (mt_text_width(n->whole) > room && is_named_by_caller(frame) && room > 4) {
		caller = mt_fit_name(frame->caller, room - 3, utf8, false);
		text = mt_format("in %s", caller);
		free(caller);
		return text;
	}
	return mt_fit_source(mt_text_width(n->whole) <= room ? n->whole
			: mt_text_width(n->folded) <= room   ? n->folded
							     : n->base,
		room, utf8);
}

char *mt_legend_text(const struct mt_backtrace_frame *frame, int room, bool utf8)
{
	struct names n = names_of(frame, utf8);
	char *text = text_of(&n, frame, room, utf8);

	names_free(&n);
	return text;
}

/* ---- all entries together ---- */

/* What is given to an entry, if names get so many columns where they need them. */
static int share_of(const struct names *n, int level)
{
	int whole = mt_text_width(n->whole), base = mt_text_width(n->base);
	int least = base < LEAST ? base : LEAST;

	return whole <= level ? whole : level > least ? level : least;
}

static int used_by(const struct mt_legend_entry *entries, const struct names *names, int count,
	int level)
{
	int used = 0;

	for (int i = 0; i < count; i++) {
		used += MT_LEGEND_GAP;
		if (entries[i].same_as == i)
			used += share_of(&names[i], level) + MT_LEGEND_GAP;
	}
	return used;
}

/* Where the two names begin to differ; 0: they never do. */
static size_t difference(const char *a, const char *b)
{
	size_t at = 0;

	while (a[at] && a[at] == b[at])
		at++;
	while (at && (a[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* The name from there on, and as much before it as there is room for. */
static char *text_from(const char *name, size_t at, int room, bool utf8)
{
	char *tail, *text;

	while (at && mt_text_width(name + at) + 1 < room) {
		at--;
		while (at && (name[at] & 0xc0) == 0x80)
			at--;
	}
	tail = mt_format("%s%s", at ? mt_glyph(utf8, MT_GLYPH_ELLIPSIS) : "", name + at);
	text = mt_fit_source(tail, room, utf8);
	free(tail);
	return text;
}

/* Different names that are equal once they are cut are cut again, before what tells them apart. */
static void tell_apart(struct mt_legend_entry *entries, const struct names *names, int count,
	int level, bool utf8)
{
	char **again = mt_alloc((size_t)(count + 1) * sizeof *again);

	for (int i = 0; i < count; i++) {
		size_t from = 0;
		bool equal = false;

		again[i] = NULL;
		for (int k = 0; k < count && entries[i].text; k++) {
			size_t at;

			if (k == i || !entries[k].text || strcmp(entries[k].text, entries[i].text))
				continue;
			equal = true;
			at = difference(names[i].whole, names[k].whole);
			from = at > from ? at : from;
		}
		if (equal)
			again[i] =
				text_from(names[i].whole, from, share_of(&names[i], level), utf8);
	}
	for (int i = 0; i < count; i++)
		if (again[i]) {
			free(entries[i].text);
			entries[i].text = again[i];
		}
	free(again);
}

void mt_legend_fit(struct mt_legend_entry *entries, int count, int columns, bool utf8)
{
	struct names *names = mt_alloc((size_t)(count + 1) * sizeof *names);
	int shown = count, level = columns;

	for (int i = 0; i < count; i++) {
		names[i] = names_of(entries[i].frame, utf8);
		entries[i].text = NULL;
		entries[i].same_as = i;
		for (int k = i; k-- > 0;)
			if (!strcmp(names[k].whole, names[i].whole))
				entries[i].same_as = k;
	}
	while (shown && used_by(entries, names, shown, 0) > columns)
		shown--;
	while (level && used_by(entries, names, shown, level) > columns)
		level--;
	for (int i = 0; i < shown; i++)
		if (entries[i].same_as == i)
			entries[i].text = text_of(&names[i], entries[i].frame,
				share_of(&names[i], level), utf8);
	tell_apart(entries, names, shown, level, utf8);
	for (int i = 0; i < count; i++)
		names_free(&names[i]);
	free(names);
}
