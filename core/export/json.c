#include "core/export/json.h"

#include "core/base/text.h"
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

static void put_quoted(FILE *out, const char *text)
{
	putc('"', out);
	mt_text_put(out, MT_TEXT_JSON, text);
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

void mt_json_real(struct mt_json *json, double value)
{
	before_value(json);
	fprintf(json->out, "%g", value);
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

void mt_json_put_string(struct mt_json *json, const char *name, const char *text)
{
	mt_json_key(json, name);
	mt_json_string(json, text);
}

void mt_json_put_number(struct mt_json *json, const char *name, uint64_t number)
{
	mt_json_key(json, name);
	mt_json_number(json, number);
}

void mt_json_put_seconds(struct mt_json *json, const char *name, uint64_t ns)
{
	mt_json_key(json, name);
	mt_json_seconds(json, ns);
}

void mt_json_put_bool(struct mt_json *json, const char *name, bool value)
{
	mt_json_key(json, name);
	mt_json_bool(json, value);
}
