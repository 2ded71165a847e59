#include "core/export/blind.h"

#include "core/export/number.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *words_of(const struct mt_blind *b)
{
	static const char *const words[MT_BLIND_COUNT] = {
#define X(id, name, words) words,
		MT_BLIND_REASONS(X)
#undef X
	};

	return b->reason < MT_BLIND_COUNT
		? words[b->reason]
		: "was not seen; this version of memtui does not know the reason";
}

static char *about_processes(const char *path, const struct mt_blind *b)
{
	char count[MT_NUMBER_OF_LEN];

	mt_number_of(count, b->count, "process");
	if (!*path)
		return mt_format("%s %s", count,
			b->count == 1 || b->reason != MT_BLIND_UNTRACED ? words_of(b)
									: "ran without the tracer");
	if (b->count == 1 && b->pid)
		return mt_format("%s %s (process %u)", path, words_of(b), b->pid);
	return mt_format("%s %s (%s)", path, words_of(b), count);
}

static char *about_sizes(const struct mt_info *info, const struct mt_blind *b)
{
	char count[MT_NUMBER_EXACT_LEN], bytes[MT_NUMBER_LEN], least[MT_NUMBER_LEN],
		most[MT_NUMBER_LEN];

	mt_number_exact(count, info->left_out);
	mt_number_size(bytes, info->left_out_bytes);
	mt_number_size(least, info->record_min);
	mt_number_size(most, info->record_max);
	return mt_format("%s %s (%s) of sizes %s%s%s%s%s, %s", count,
		MT_PLURAL(count, "allocation"), bytes, info->record_min ? "below " : "",
		info->record_min ? least : "", info->record_min && info->record_max ? " or " : "",
		info->record_max ? "above " : "", info->record_max ? most : "", words_of(b));
}

char *mt_blind_sentence(const struct mt_profile *p, const struct mt_blind *b, bool brief)
{
	const char *path = mt_strings_get(&p->strings, b->path);
	const char *slash = brief ? strrchr(path, '/') : NULL;
	char count[MT_NUMBER_OF_LEN], bytes[MT_NUMBER_LEN];

	path = slash ? slash + 1 : path;
	if (!mt_blind_is_own(b))
		return about_processes(path, b);
	if (b->reason == MT_BLIND_LIBRARY)
		return mt_format("%s, %s", mt_number_of(count, b->count, "library"), words_of(b));
	if (b->reason == MT_BLIND_SIZES)
		return about_sizes(&p->info, b);
	if (b->reason == MT_BLIND_GROWTH) {
		mt_number_size(bytes, b->bytes);
		return mt_format("%s %s (~%s more)", *path ? path : "the program", words_of(b),
			bytes);
	}
	if (b->reason == MT_BLIND_BUNDLED_ALLOCATOR)
		return mt_format("%s contains %s, %s", *path ? path : "the program",
			b->detail ? mt_strings_get(&p->strings, b->detail) : "an allocator",
			words_of(b));
	return mt_format("%s %s", *path ? path : "the program", words_of(b));
}

char *mt_blind_summary(const struct mt_profile *p, bool brief)
{
	const struct mt_blind *first = mt_blind_own(p);
	uint32_t others = 0;
	char *sentence, *all;

	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].count && !first)
			first = &p->blind[i];
		else if (p->blind[i].count && first != &p->blind[i])
			others++;
	if (!first)
		return NULL;
	sentence = mt_blind_sentence(p, first, brief);
	if (!others)
		return sentence;
	all = mt_format("%s; and %u more", sentence, others);
	free(sentence);
	return all;
}

bool mt_blind_matches(const struct mt_profile *p, const struct mt_blind *b, const char *patterns)
{
	const char *path = mt_strings_get(&p->strings, b->path), *slash = strrchr(path, '/');
	bool matches = false;

	for (const char *at = patterns; at && !matches;) {
		const char *end = strchrnul(at, ',');
		char *pattern = mt_format("%.*s", (int)(end - at), at);

		matches = !fnmatch(pattern, path, 0) || (slash && !fnmatch(pattern, slash + 1, 0))
			|| !fnmatch(pattern, mt_blind_reason_name(b->reason), 0);
		free(pattern);
		at = *end ? end + 1 : NULL;
	}
	return matches;
}

void mt_blind_json(struct mt_json *json, const struct mt_profile *p)
{
	mt_json_key(json, "blind");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < p->blind_count; i++) {
		const struct mt_blind *b = &p->blind[i];

		if (!b->count)
			continue;
		mt_json_open(json, '{');
		mt_json_put_number(json, "process", b->pid);
		mt_json_put_string(json, "path", mt_strings_get(&p->strings, b->path));
		mt_json_put_string(json, "reason", mt_blind_reason_name(b->reason));
		mt_json_put_string(json, "detail", mt_strings_get(&p->strings, b->detail));
		mt_json_put_number(json, "count", b->count);
		mt_json_key(json, "bytes");
		if (b->reason == MT_BLIND_GROWTH)
			mt_json_number(json, b->bytes);
		else
			mt_json_null(json);
		mt_json_close(json, '}');
	}
	mt_json_close(json, ']');
}
