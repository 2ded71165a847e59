#include "core/export/verdict_words.h"
#include "core/export/report_parts.h"

bool mt_verdict_sentence(char out[MT_VERDICT_WORDS_LEN], const struct mt_report *report)
{
	static const char *const words[MT_VERDICT_COUNT] = {"definitely lost", "indirectly",
		"possibly", "still reachable"};
	const struct mt_verdicts *v = mt_report_whole(report)->verdicts;
	char bytes[MT_NUMBER_EXACT_LEN], count[MT_NUMBER_EXACT_LEN];
	int len = 0;

	*out = '\0';
	if (!v)
		return false;
	for (int i = 0; i < MT_VERDICT_COUNT; i++) {
		mt_report_number(bytes, report, MT_UNIT_BYTES, v->sums[i].bytes);
		mt_report_number(count, report, MT_UNIT_COUNT, v->sums[i].count);
		len += snprintf(out + len, MT_VERDICT_WORDS_LEN - (size_t)len, "%s%s %s in %s%s%s",
			i ? ", " : "", words[i], bytes, count, i ? "" : " ",
			i ? "" : MT_PLURAL(count, "block"));
	}
	mt_report_number(count, report, MT_UNIT_TIME, v->moment_ns);
	snprintf(out + len, MT_VERDICT_WORDS_LEN - (size_t)len,
		v->at_end ? "; at its end" : "; after %s", count);
	return true;
}

void mt_verdict_json_sum(struct mt_json *json, enum mt_verdict verdict,
	const struct mt_verdict_sum *sum)
{
	char name[32], *at;

	snprintf(name, sizeof name, "%s", mt_verdict_words(verdict));
	for (at = name; *at; at++)
		if (*at == ' ')
			*at = '_';
	mt_json_key(json, name);
	mt_json_open(json, '{');
	mt_json_put_number(json, "count", sum->count);
	mt_json_put_number(json, "bytes", sum->bytes);
	mt_json_close(json, '}');
}

void mt_verdict_json_moment(struct mt_json *json, const struct mt_verdicts *v)
{
	mt_json_put_bool(json, "at_end", v->at_end);
	mt_json_put_seconds(json, "timestamp", v->moment_ns);
}

void mt_verdict_json(struct mt_json *json, const struct mt_verdicts *v)
{
	mt_json_key(json, "leak_check");
	if (!v) {
		mt_json_null(json);
		return;
	}
	mt_json_open(json, '{');
	for (int i = 0; i < MT_VERDICT_COUNT; i++)
		mt_verdict_json_sum(json, (enum mt_verdict)i, &v->sums[i]);
	mt_verdict_json_moment(json, v);
	mt_json_close(json, '}');
}
