#include "core/base/text.h"

#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"
#define PIECE 16 /* bytes that the longest form of a character takes */

uint32_t mt_text_next(const char **text)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	const uint8_t *b = (const uint8_t *)*text;
	uint32_t code = b[0];
	uint32_t more = code < 0x80 ? 0
		: code < 0xc2       ? 4
		: code < 0xe0       ? 1
		: code < 0xf0       ? 2
		: code < 0xf5       ? 3
				    : 4;

	if (!code)
		return 0;
	*text += 1;
	if (more > 3)
		return MT_TEXT_INVALID;
	if (more)
		code &= 0x3fu >> more;
	for (uint32_t i = 1; i <= more; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return MT_TEXT_INVALID;
		code = code << 6 | (b[i] & 0x3f);
	}
	if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return MT_TEXT_INVALID;
	*text += more;
	return code;
}

bool mt_text_is_safe(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} unsafe[] = {
		{0, 0x1f}, /* controls */
		{0x7f, 0x9f},
		{0xad, 0xad}, /* invisible ones: soft hyphen, marks of direction, joiners, ... */
		{0x61c, 0x61c},
		{0x180e, 0x180e},
		{0x200b, 0x200f},
		{0x2028, 0x202e}, /* separators of lines, bidirectional embeddings and overrides */
		{0x2060, 0x206f}, /* isolates among them */
		{0xfeff, 0xfeff},
		{0xfff9, 0xfffb},
		{0xfffe, 0xffff}, /* no characters, also to XML */
		{0xe0000, 0xe007f},
	};

	for (size_t i = 0; code >= 0x7f && i < sizeof unsafe / sizeof *unsafe; i++)
		if (code >= unsafe[i].first && code <= unsafe[i].last)
			return false;
	return code >= 0x20 && code <= 0x10ffff;
}

static const char *const special[MT_TEXT_FORMS] = {
	[MT_TEXT_LINE] = "",
	[MT_TEXT_JSON] = "\"\\",
	[MT_TEXT_XML] = "&<>\"'",
	[MT_TEXT_MARKDOWN] = "\\`*_[]<>#|",
	[MT_TEXT_FOLDED] = ";",
	[MT_TEXT_CSV] = "\"",
};

static bool is_special(enum mt_text_form form, char c)
{
	return c && strchr(special[form], c);
}

static int put_special(char out[PIECE], enum mt_text_form form, char c)
{
	if (form == MT_TEXT_XML)
		return snprintf(out, PIECE, "%s",
			c == '&'           ? "&amp;"
				: c == '<' ? "&lt;"
				: c == '>' ? "&gt;"
				: c == '"' ? "&quot;"
					   : "&apos;");
	if (form == MT_TEXT_FOLDED)
		return snprintf(out, PIECE, ":");
	return snprintf(out, PIECE, "%c%c", form == MT_TEXT_CSV ? '"' : '\\', c);
}

static int put_named(char out[PIECE], enum mt_text_form form, uint32_t code)
{
	bool json = form == MT_TEXT_JSON;

	if (code == '\n' || code == '\r' || code == '\t')
		return snprintf(out, PIECE, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
	if (json && code > 0xffff) /* a pair of surrogates */
		return snprintf(out, PIECE, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
			0xdc00 + (code & 0x3ff));
	return snprintf(out, PIECE,
		code > 0xffff                  ? "\\U%08x"
			: json || code >= 0x80 ? "\\u%04x"
					       : "\\x%02x",
		code);
}

/* The character at *text in its form, and past it. Returns how many bytes of out it takes. */
static size_t take(char out[PIECE], enum mt_text_form form, const char **text)
{
	const char *begin = *text;
	uint32_t code = mt_text_next(text);
	size_t len = (size_t)(*text - begin);

	if (code == MT_TEXT_INVALID && form == MT_TEXT_JSON)
		return (size_t)snprintf(out, PIECE, "\xef\xbf\xbd");
	if (code == MT_TEXT_INVALID)
		return (size_t)snprintf(out, PIECE, "\\x%02x", (unsigned)(uint8_t)*begin);
	if (!mt_text_is_safe(code))
		return (size_t)put_named(out, form, code);
	if (is_special(form, *begin))
		return (size_t)put_special(out, form, *begin);
	memcpy(out, begin, len);
	return len;
}

/* Bytes at text that stand for themselves: most names hold nothing else. */
static size_t plain_length(enum mt_text_form form, const char *text)
{
	size_t len = 0;

	while (text[len] >= 0x20 && text[len] < 0x7f && !is_special(form, text[len]))
		len++;
	return len;
}

void mt_text_add(struct mt_buffer *out, enum mt_text_form form, const char *text)
{
	char piece[PIECE];

	while (*text) {
		size_t plain = plain_length(form, text);

		mt_buffer_add(out, text, plain);
		text += plain;
		if (*text) {
			size_t len = take(piece, form, &text);

			mt_buffer_add(out, piece, len);
		}
	}
}

void mt_text_put(FILE *out, enum mt_text_form form, const char *text)
{
	char piece[PIECE];

	while (*text) {
		size_t plain = plain_length(form, text);

		fwrite(text, 1, plain, out);
		text += plain;
		if (*text) {
			size_t len = take(piece, form, &text);

			fwrite(piece, 1, len, out);
		}
	}
}

char *mt_text_line(const char *text)
{
	struct mt_buffer line = {0};

	mt_text_add(&line, MT_TEXT_LINE, text);
	mt_buffer_add(&line, "", 1);
	return (char *)line.data;
}

uint32_t mt_text_columns(const char *text)
{
	uint32_t columns = 0;

	while (mt_text_next(&text))
		columns++;
	return columns;
}

char *mt_text_fitting(const char *text, uint32_t columns)
{
	struct mt_buffer out = {0};
	const char *end = text;

	if (mt_text_columns(text) <= columns)
		return mt_strdup(text);
	for (uint32_t i = 1; i < columns; i++) /* each is there: the text is longer */
		mt_text_next(&end);
	mt_buffer_add(&out, text, (size_t)(end - text));
	mt_buffer_add(&out, ELLIPSIS, sizeof ELLIPSIS);
	return (char *)out.data;
}

/* Spreadsheets look past blanks; some take the wide signs of East Asian text too. */
static bool is_formula(const char *text)
{
	static const uint32_t signs[] = {'=', '+', '-', '@', 0xff1d, 0xff0b, 0xff0d, 0xff20};

	text += strspn(text, " ");
	uint32_t first = mt_text_next(&text);

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (first == signs[i])
			return true;
	return false;
}

void mt_text_put_csv(FILE *out, const char *text)
{
	const char *guard = is_formula(text) ? "'" : "";

	if (!strpbrk(text, ",\"\r\n")) {
		fputs(guard, out);
		mt_text_put(out, MT_TEXT_CSV, text);
		return;
	}
	fprintf(out, "\"%s", guard);
	mt_text_put(out, MT_TEXT_CSV, text);
	putc('"', out);
}

char *mt_text_wildcards(const char *text, char wildcard)
{
	char *copy = mt_strdup(text);

	for (const char *at = text; *at;) {
		const char *begin = at;

		if (!mt_text_is_safe(mt_text_next(&at)))
			memset(copy + (begin - text), wildcard, (size_t)(at - begin));
	}
	return copy;
}

size_t mt_text_cut(const char *text, size_t most)
{
	const char *at = text, *end = text;

	while (mt_text_next(&at) && (size_t)(at - text) <= most)
		end = at;
	return (size_t)(end - text);
}
