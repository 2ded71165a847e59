#include "core/session/condition.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLEARLY_FALSE 0.9 /* of the amount */

static const struct {
	const char *name;
	enum mt_quantity quantity;
} quantities[] = {
	{"rss", MT_QUANTITY_RSS},
	{"live", MT_QUANTITY_LIVE},
	{"heap", MT_QUANTITY_LIVE},
	{"growth", MT_QUANTITY_GROWTH},
};

/* ---- parsing --------------------------------------------------------------------------------- */

/* Without blanks. False: it does not fit. */
static bool squeeze(char *to, size_t size, const char *text)
{
	size_t len = 0;

	for (; *text; text++) {
		if (isspace((unsigned char)*text))
			continue;
		if (len + 1 >= size)
			return false;
		to[len++] = *text;
	}
	to[len] = '\0';
	return true;
}

/* The amount with its unit, up to the end of the text. False: it is none. */
static bool parse_amount(struct mt_condition *c, const char *text)
{
	static const char units[] = "kmgt";
	char *end;
	const char *unit;

	if (!isdigit((unsigned char)*text))
		return false;
	c->amount = strtod(text, &end);
	if (strspn(text, "0123456789.") != (size_t)(end - text))
		return false;
	c->percent = *end == '%';
	if (c->percent)
		return !end[1] && c->quantity != MT_QUANTITY_GROWTH && c->amount > 0
			&& c->amount <= 100;
	if (*end && (unit = strchr(units, tolower((unsigned char)*end)))) {
		c->amount *= (double)(1ull << 10 * (unit - units + 1));
		end++;
	}
	if (c->quantity == MT_QUANTITY_GROWTH) {
		if (strcmp(end, "/s"))
			return false;
		end += 2;
	}
	return !*end && c->amount >= 1 && c->amount < 1e18;
}

/* Only what any file system takes, and a shell does not. */
static void make_label(struct mt_condition *c, const char *amount)
{
	int len = snprintf(c->label, sizeof c->label, "%.*s-over-%.*s", (int)strcspn(c->text, ">"),
		c->text, (int)strcspn(amount, "%/"), amount);

	snprintf(c->label + len, sizeof c->label - (size_t)len, "%s",
		c->percent                                  ? "-percent"
			: c->quantity == MT_QUANTITY_GROWTH ? "-per-s"
							    : "");
}

int mt_condition_parse(struct mt_condition *c, const char *text, struct mt_err *err)
{
	*c = (struct mt_condition){0};

	bool fits = squeeze(c->text, sizeof c->text, text);
	size_t len = strcspn(c->text, ">"), i = 0;

	if (!fits || !len || c->text[len] != '>')
		return mt_fail(err, -EINVAL,
			"invalid condition '%.60s'; expected rss, live, heap or growth, '>' and an "
			"amount, such as 'rss>2G'",
			text);
	while (i < sizeof quantities / sizeof *quantities
		&& (strlen(quantities[i].name) != len || strncmp(c->text, quantities[i].name, len)))
		i++;
	if (i == sizeof quantities / sizeof *quantities)
		return mt_fail(err, -EINVAL,
			"unknown quantity '%.*s' in '%.60s'; expected rss, live, heap or growth",
			(int)len, c->text, text);
	c->quantity = quantities[i].quantity;
	if (!parse_amount(c, c->text + len + 1))
		return mt_fail(err, -EINVAL, "invalid amount '%.40s' in '%.60s'; expected %s",
			c->text + len + 1, text,
			c->quantity == MT_QUANTITY_GROWTH
				? "bytes per second, such as 10M/s"
				: "a size such as 500M or 2G, or a percentage of the memory limit "
				  "such as 90%");
	make_label(c, c->text + len + 1);
	return 0;
}

/* ---- while a process runs -------------------------------------------------------------------- */

void mt_condition_sample(struct mt_condition_state *s, uint64_t now_ns, uint64_t live_bytes)
{
	if (s->sample_count && now_ns < s->samples[s->sample_count - 1].ns + MT_GROWTH_STEP_NS)
		return;
	if (s->sample_count > MT_GROWTH_SAMPLES) {
		memmove(s->samples, s->samples + 1, MT_GROWTH_SAMPLES * sizeof *s->samples);
		s->sample_count--;
	}
	s->samples[s->sample_count].ns = now_ns;
	s->samples[s->sample_count++].bytes = live_bytes;
}

/* Bytes per second from the oldest sample to the latest one; 0 until there are enough. */
static double growth(const struct mt_condition_state *s)
{
	uint32_t last = MT_GROWTH_SAMPLES;

	if (s->sample_count <= last)
		return 0;
	return ((double)s->samples[last].bytes - (double)s->samples[0].bytes)
		/ ((double)(s->samples[last].ns - s->samples[0].ns) / 1e9);
}

bool mt_condition_crossed(struct mt_condition_state *s, const struct mt_condition *c,
	uint32_t number, const struct mt_condition_values *v)
{
	uint32_t bit = 1u << number;
	double amount = c->percent ? c->amount / 100 * (double)v->limit_bytes : c->amount;
	double value = c->quantity == MT_QUANTITY_RSS ? (double)v->rss_bytes
		: c->quantity == MT_QUANTITY_LIVE
		? (double)v->live_bytes
		: growth(s);

	if (s->held & bit) {
		if (value < CLEARLY_FALSE * amount)
			s->held &= ~bit;
		return false;
	}
	if (!(amount > 0) || !(value > amount))
		return false;
	s->held |= bit;
	return true;
}
