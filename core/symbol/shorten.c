/* Names without what stands between brackets and without what a template returns:
 * std::map<…>::insert(…). Only brackets of templates
 * are taken out: operator<, operator<<, operator->, operator<=> and the like stay, and so do
 * brackets that do not close. Rust's <T as Trait>::f keeps its first bracket, since nothing would
 * be left. */
#include "core/symbol/symbol.h"

#include "core/base/buffer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"
#define OPERATOR "operator"

static bool operator_begins(const char *name, const char *text)
{
	return !strncmp(text, OPERATOR, sizeof OPERATOR - 1)
		&& (text == name || (!isalnum((unsigned char)text[-1]) && text[-1] != '_'));
}

/* Length of an operator's name at text: "operator<<", "operator->"; 0: none begins here. */
static size_t operator_len(const char *name, const char *text)
{
	size_t len = sizeof OPERATOR - 1;

	if (!operator_begins(name, text))
		return 0;
	size_t signs = strspn(text + len, "<>=-");

	/* operator<<int>: the last of two or more '<' before a type opens a template's
	 * arguments. */
	if (signs > 1 && text[len + signs - 1] == '<'
		&& !(signs == 2 && (!text[len + 2] || text[len + 2] == '(')))
		signs--;
	return signs ? len + signs : 0;
}

/* Fills in, for each bracket that opens and is closed, what stands behind the one that closes it;
 * 0: nothing closes it. In one pass, since names can be of any length. */
static void pair_brackets(const char *name, size_t *behind)
{
	size_t *open = mt_alloc((strlen(name) + 1) * sizeof *open), depth = 0, skip;

	for (size_t at = 0; name[at]; at += skip ? skip : 1) {
		skip = operator_len(name, name + at);
		if (!skip && name[at] == '-' && name[at + 1] == '>') /* a Rust function's result */
			skip = 2;
		if (skip)
			continue;
		if (name[at] == '<')
			open[depth++] = at;
		else if (name[at] == '>' && depth)
			behind[open[--depth]] = at + 1;
	}
	free(open);
}

static char *fold_templates(const char *name, const char *ellipsis)
{
	size_t *behind = mt_alloc((strlen(name) + 1) * sizeof *behind);
	struct mt_buffer out = {0};

	pair_brackets(name, behind);
	for (size_t at = 0; name[at];) {
		size_t skip = operator_len(name, name + at);

		if (skip) {
			mt_buffer_add(&out, name + at, skip);
			at += skip;
		} else if (at && behind[at]) {
			mt_buffer_add(&out, "<", 1);
			mt_buffer_add(&out, ellipsis, strlen(ellipsis));
			mt_buffer_add(&out, ">", 1);
			at = behind[at];
		} else {
			mt_buffer_add(&out, name + at++, 1);
		}
	}
	mt_buffer_add(&out, "", 1);
	free(behind);
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

/* A name of folded templates without what the function returns, which C++ names say of templates
 * alone: the blank before "f<…>" that stands in no brackets. "operator new" and "operator<< <…>"
 * are names themselves. */
static void drop_type(char *name)
{
	size_t depth = 0, start = 0, at = 0;
	bool is_operator = false;

	for (; name[at] && !is_operator; at++) {
		if (name[at] == '(' && !depth && at > start && name[at - 1] != ':')
			break;
		is_operator = !depth && operator_begins(name, name + at);
		if (strchr("(<{[", name[at]))
			depth++;
		else if (strchr(")>}]", name[at]) && depth)
			depth--;
		else if (name[at] == ' ' && !depth)
			start = at + 1;
	}
	if (start && name[start] != '<' && (is_operator || memchr(name + start, '<', at - start)))
		memmove(name, name + start, strlen(name + start) + 1);
}

char *mt_name_fold(const char *name, const char *ellipsis, bool with_parameters)
{
	char *out = fold_templates(name, ellipsis);

	drop_type(out);
	if (with_parameters)
		fold_parameters(&out, ellipsis);
	return out;
}

const char *mt_name_inner(const char *folded)
{
	size_t depth = 0;

	for (const char *at = folded; *at && (depth || !operator_begins(folded, at)); at++) {
		if (strchr("<({[", *at) && (depth || at > folded))
			depth++;
		else if (strchr(">)}]", *at) && depth)
			depth--;
		else if (!depth && !strncmp(at, "::", 2) && at[2] && !strchr("<({[", at[2]))
			return at + 2;
	}
	return NULL;
}

const char *mt_name_base(const char *folded)
{
	for (const char *inner = folded; inner; inner = mt_name_inner(folded))
		folded = inner;
	return folded;
}

size_t mt_name_base_len(const char *folded)
{
	const char *base = mt_name_base(folded);
	size_t len = strcspn(base, "<({[");

	return len && !operator_begins(folded, base) ? len : strlen(base);
}

char *mt_name_shorten(const char *name)
{
	return mt_name_fold(name, ELLIPSIS, false);
}
