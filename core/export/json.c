#include "core/export/json.h"

#include "core/export/number.h"

static void before_value(struct mt_json *json)
{
	if (json->comma)
		putc(',', json->out);
	json->comma = true;
}

void mt_json_line(struct mt_json *json)
{
	if (json->comma)
		putc(',', json->out);
	json->comma = false;
	putc('\n', json->out);
}

void mt_json_open(struct mt_json *json, char bracket)
{
	before_value(json);
	putc(bracket, json->out);
	json->comma = false;
}

void mt_json_close(struct mt_json *json, char bracket)
{
	putc(bracket, json->out);
	json->comma = true;
}

/* RFC 3629: shortest form, no surrogates, up to U+10FFFF. */
unsigned mt_utf8_len(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	unsigned len = c[0] < 0x80 ? 1
		: c[0] < 0xc2      ? 0
		: c[0] < 0xe0      ? 2
		: c[0] < 0xf0      ? 3
		: c[0] < 0xf5      ? 4
				   : 0;

	for (unsigned i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)
		|| (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return len;
}

static void put_quoted(FILE *out, const char *text)
{
	putc('"', out);
	while (*text) {
		unsigned char c = (unsigned char)*text;
		unsigned len = mt_utf8_len(text);

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else if (!len)
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(text, 1, len, out);
		text += len ? len : 1;
	}
	putc('"', out);
}

void mt_json_key(struct mt_json *json, const char *name)
{
	before_value(json);
	put_quoted(json->out, name);
	putc(':', json->out);
	json->comma = false;
}

void mt_json_string(struct mt_json *json, const char *text)
{
	before_value(json);
	put_quoted(json->out, text);
}

void mt_json_number(struct mt_json *json, uint64_t number)
{
	before_value(json);
	fprintf(json->out, "%llu", (unsigned long long)number);
}

void mt_json_integer(struct mt_json *json, int64_t number)
{
	before_value(json);
	fprintf(json->out, "%lld", (long long)number);
}

void mt_json_seconds(struct mt_json *json, uint64_t ns)
{
	char text[MT_NUMBER_EXACT_LEN];

	before_value(json);
	mt_number_seconds(text, ns);
	fputs(text, json->out);
}

void mt_json_bool(struct mt_json *json, bool value)
{
	before_value(json);
	fputs(value ? "true" : "false", json->out);
}

void mt_json_null(struct mt_json *json)
{
	before_value(json);
	fputs("null", json->out);
}
