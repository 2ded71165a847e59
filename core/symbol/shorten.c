/* Names without what stands between angle brackets: std::map<…>::insert. Only brackets of templates
 * are taken out: operator<, operator<<, operator->, operator<=> and the like stay, and so do
 * brackets that do not close. Rust's <T as Trait>::f keeps its first bracket, since nothing would
 * be left. */
#include "core/symbol/symbol.h"

#include "core/base/buffer.h"

#include <ctype.h>
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

char *mt_name_shorten(const char *name)
{
	struct mt_buffer out = {0};

	for (const char *at = name; *at;) {
		size_t skip = operator_len(name, at);
		const char *end = !skip && *at == '<' && at > name ? closing(name, at) : NULL;

		if (skip) {
			mt_buffer_add(&out, at, skip);
			at += skip;
		} else if (end) {
			mt_buffer_add(&out, "<" ELLIPSIS ">", sizeof "<" ELLIPSIS ">" - 1);
			at = end;
		} else {
			mt_buffer_add(&out, at++, 1);
		}
	}
	mt_buffer_add(&out, "", 1);
	return (char *)out.data;
}
