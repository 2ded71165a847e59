#include "core/export/number.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* One decimal below 100, none above; a value that rounds up to the next unit is shown in it. */
static void scaled(char out[MT_NUMBER_LEN], uint64_t number, uint64_t step, const char *units)
{
	unsigned __int128 unit = step;

	for (; units[1]; units++, unit *= step)
		if ((number + unit / 2) / unit < step)
			break;
	uint64_t tenths = (uint64_t)(((unsigned __int128)number * 10 + unit / 2) / unit);

	if (tenths < 1000)
		snprintf(out, MT_NUMBER_LEN, "%u.%u%c", (unsigned)(tenths / 10),
			(unsigned)(tenths % 10), *units);
	else
		snprintf(out, MT_NUMBER_LEN, "%llu%c",
			(unsigned long long)((number + unit / 2) / unit), *units);
}

void mt_number_size(char out[MT_NUMBER_LEN], uint64_t bytes)
{
	if (bytes < 1024)
		snprintf(out, MT_NUMBER_LEN, "%uB", (unsigned)bytes);
	else
		scaled(out, bytes, 1024, "kMGTPE");
}

void mt_number_count(char out[MT_NUMBER_LEN], uint64_t count)
{
	if (count < 10000)
		snprintf(out, MT_NUMBER_LEN, "%u", (unsigned)count);
	else
		scaled(out, count, 1000, "kMGTPE");
}

const char *mt_plural(char out[MT_PLURAL_LEN], const char *number, const char *one)
{
	size_t len = strlen(one);
	bool hisses = len > 1
		&& (one[len - 1] == 's' || one[len - 1] == 'x' || !strcmp(one + len - 2, "ch"));
	bool single = !strcmp(number + (*number == '~'), "1");

	snprintf(out, MT_PLURAL_LEN, "%.24s%s", one, single ? "" : hisses ? "es" : "s");
	return out;
}

const char *mt_number_of(char out[MT_NUMBER_OF_LEN], uint64_t count, const char *one)
{
	char number[MT_NUMBER_LEN];

	mt_number_count(number, count);
	snprintf(out, MT_NUMBER_OF_LEN, "%s %s", number, MT_PLURAL(number, one));
	return out;
}

void mt_number_words(char *out, size_t len, uint64_t count, const char *words)
{
	enum { BOTH, ONE, MANY } of = BOTH;
	size_t used = 0;

	for (; *words && used + 1 < len; words++) {
		if (*words == '[')
			of = ONE;
		else if (*words == '|')
			of = MANY;
		else if (*words == ']')
			of = BOTH;
		else if (of == BOTH || (of == ONE) == (count == 1))
			out[used++] = *words;
	}
	out[used] = '\0';
}

/* A number of parts of a unit, rounded to so many decimals; no locale changes the point. */
static void decimals(char out[MT_NUMBER_LEN], uint64_t ns, uint64_t unit, unsigned parts,
	const char *name)
{
	uint64_t rounded = (ns * parts + unit / 2) / unit;

	snprintf(out, MT_NUMBER_LEN, parts == 100 ? "%u.%02u%s" : "%u.%u%s",
		(unsigned)(rounded / parts), (unsigned)(rounded % parts), name);
}

void mt_number_time(char out[MT_NUMBER_LEN], uint64_t ns)
{
	uint64_t s = ns / 1000000000 + (ns % 1000000000 >= 500000000);

	if (ns < 1000)
		snprintf(out, MT_NUMBER_LEN, "%uns", (unsigned)ns);
	else if (ns < 999950)
		decimals(out, ns, 1000, 10, "us");
	else if (ns < 999950000)
		decimals(out, ns, 1000000, 10, "ms");
	else if (ns < 59995000000)
		decimals(out, ns, 1000000000, 100, "s");
	else if (s < 3600)
		snprintf(out, MT_NUMBER_LEN, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 86400)
		snprintf(out, MT_NUMBER_LEN, "%uh%02um", (unsigned)(s / 3600),
			(unsigned)(s / 60 % 60));
	else
		snprintf(out, MT_NUMBER_LEN, "%llud%02uh", (unsigned long long)(s / 86400),
			(unsigned)(s / 3600 % 24));
}

void mt_number_exact(char out[MT_NUMBER_EXACT_LEN], uint64_t number)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
}

void mt_number_seconds(char out[MT_NUMBER_EXACT_LEN], uint64_t ns)
{
	int len = snprintf(out, MT_NUMBER_EXACT_LEN, "%llu.%09u",
		(unsigned long long)(ns / 1000000000u), (unsigned)(ns % 1000000000u));

	while (out[len - 1] == '0' && out[len - 2] != '.')
		out[--len] = 0;
}
