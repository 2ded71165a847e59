/* Names without what stands between brackets: std::map<…>::insert(…). Only brackets of templates
 * are taken out: operator<, operator<<, operator->, operator<=> and the like stay, and so do
 * brackets that do not close. Rust's <T as Trait>::f keeps its first bracket, since nothing would
 * be left. */
#include "core/symbol/symbol.h"

#include "core/base/buffer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

/* Length of an operator's name at text: "operator<<", "operator->"; 0: none begins here. */
static size_t operator_len(const char *name, const char *text)
{
	size_t len = sizeof "operator" - 1;

	if (strncmp(text, "operator", len)
		|| (text > name && (isalnum((unsigned char)text[-1]) || text[-1] == '_')))
		return 0;
	size_t signs = strspn(text + len, "<>=-");

	/* operator<<int>: the last of two or more '<' before a type opens a template's
	 * arguments. */
	if (signs > 1 && text[len + signs - 1] == '<'
		&& !(signs == 2 && (!text[len + 2] || text[len + 2] == '(')))
		signs--;
	return signs ? len + signs : 0;
}

/* Behind the bracket that closes the one at text; NULL: none does. */
static const char *closing(const char *name, const char *text)
{
	int depth = 0;

	while (*text) {
		size_t skip = operator_len(name, text);

		if (skip) {
			text += skip;
			continue;
		}
		if (*text == '-' && text[1] == '>') { /* a Rust function's result */
			text += 2;
			continue;
		}
		depth += (*text == '<') - (*text == '>');
		text++;
		if (!depth)
			return text;
	}
	return NULL;
}

static char *fold_templates(const char *name, const char *ellipsis)
{
	struct mt_buffer out = {0};

	for (const char *at = name; *at;) {
		size_t skip = operator_len(name, at);
		const char *end = !skip && *at == '<' && at > name ? closing(name, at) : NULL;

		if (skip) {
			mt_buffer_add(&out, at, skip);
			at += skip;
		} else if (end) {
			mt_buffer_add(&out, "<", 1);
			mt_buffer_add(&out, ellipsis, strlen(ellipsis));
			mt_buffer_add(&out, ">", 1);
			at = end;
		} else {
			mt_buffer_add(&out, at++, 1);
		}
	}
	mt_buffer_add(&out, "", 1);
	return (char *)out.data;
}

/* The bracket that opens the list of parameters, which is the last one but for "const" and the
 * like; NULL: there is no list, or it is empty. What follows a "::" or a blank is no list:
 * (anonymous namespace). */
static char *parameters(char *name)
{
	char *end = strrchr(name, ')'), *at = end;
	int depth = 0;

	if (!end || end == name || end[-1] == '(' || strchr(end, ':'))
		return NULL;
	for (; at >= name; at--) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			break;
	}
	return at <= name || at[-1] == ':' || at[-1] == ' ' ? NULL : at;
}

static void fold_parameters(char **name, const char *ellipsis)
{
	struct mt_buffer out = {0};
	char *open = parameters(*name), *close = open ? strrchr(open, ')') : NULL;

	if (!open)
		return;
	mt_buffer_add(&out, *name, (size_t)(open - *name) + 1);
	mt_buffer_add(&out, ellipsis, strlen(ellipsis));
	mt_buffer_add(&out, close, strlen(close) + 1);
	free(*name);
	*name = (char *)out.data;
}

char *mt_name_fold(const char *name, const char *ellipsis, bool with_parameters)
{
	char *out = fold_templates(name, ellipsis);

	if (with_parameters)
		fold_parameters(&out, ellipsis);
	return out;
}

char *mt_name_shorten(const char *name)
{
	return mt_name_fold(name, ELLIPSIS, false);
}
