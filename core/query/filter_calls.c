/* A verdict per group by what the program called: the allocator function, and its domain. */
#include "core/query/filter_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *function_at(const void *context, int i)
{
	const struct mt_profile *p = context;

	for (uint32_t f = 0; f < p->function_count; f++)
		if (mt_profile_allocates(p, f) && !i--)
			return mt_profile_function_name(p, f);
	return NULL;
}

static const char *domain_at(const void *context, int i)
{
	const struct mt_profile *p = context;

	for (uint32_t d = 0; d < p->domain_count; d++)
		if (mt_profile_has_domain(p, d) && !i--)
			return mt_profile_domain_name(p, d);
	return NULL;
}

/* Sets named[id] of each id below count with this name, of which there may be several. */
static bool name_all(bool *named, uint32_t count, const char *word, const struct mt_profile *p,
	const char *(*name)(const struct mt_profile *, uint32_t))
{
	bool found = false;

	for (uint32_t id = 0; id < count; id++)
		if (!strcmp(name(p, id), word)) {
			named[id] = true;
			found = true;
		}
	return found;
}

/* The ids that a list names; NULL: a name of it is of none. The caller frees them. */
static bool *read_list(const struct mt_filter *filter, enum mt_filter_field field,
	const struct mt_profile *p, struct mt_err *err)
{
	bool functions = field == MT_FILTER_ALLOCATED_BY;
	uint32_t count = functions ? p->function_count : p->domain_count;
	bool *named = mt_alloc(count * sizeof *named);
	char *list = mt_strdup(filter->fields[field].text), *word;

	for (char *rest = list; named && (word = strsep(&rest, ","));) {
		if (name_all(named, count, word, p,
			    functions ? mt_profile_function_name : mt_profile_domain_name))
			continue;
		if (mt_filter_fail_absent(err, filter, field, word,
			    functions ? "allocator function" : "domain",
			    functions ? function_at : domain_at, p)
			< 0) {
			free(named);
			named = NULL;
		}
	}
	free(list);
	return named;
}

int mt_filter_match_calls(const struct mt_filter *filter, const struct mt_profile *p,
	uint8_t *matches, struct mt_err *err)
{
	static const enum mt_filter_field fields[] = {MT_FILTER_ALLOCATED_BY, MT_FILTER_DOMAIN};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (!filter->fields[fields[i]].text)
			continue;
		bool *named = read_list(filter, fields[i], p, err);

		if (!named)
			return -EINVAL;
		for (uint32_t g = 0; g < p->group_count; g++) {
			uint32_t function = mt_profile_group_function(p, g);
			uint32_t id = fields[i] == MT_FILTER_DOMAIN ? mt_profile_group_domain(p, g)
				: function < p->function_count      ? function
								    : MT_FUNCTION_NONE;

			matches[g] &= named[id];
		}
		free(named);
	}
	return 0;
}

/* Each completes the list's last name; of functions those that groups name. */
void mt_filter_add_calls(struct mt_filter_candidates *out, enum mt_filter_field field,
	const char *typed, const struct mt_profile *p,
	void (*add)(struct mt_filter_candidates *, const char *typed, const char *value,
		const char *words))
{
	const char *comma = strrchr(typed, ',');
	int before = comma ? (int)(comma + 1 - typed) : 0;
	bool functions = field == MT_FILTER_ALLOCATED_BY;
	bool *used = mt_alloc((functions ? p->function_count : p->domain_count) * sizeof *used);

	for (uint32_t g = 0; g < p->group_count; g++) {
		uint32_t function = mt_profile_group_function(p, g);

		if (!functions)
			used[mt_profile_group_domain(p, g)] = true;
		else if (function < p->function_count)
			used[function] = true;
	}
	for (uint32_t i = 0; i < (functions ? p->function_count : p->domain_count); i++) {
		if (!used[i])
			continue;
		char *value = mt_format("%.*s%s", before, typed,
			functions ? mt_profile_function_name(p, i) : mt_profile_domain_name(p, i));

		add(out, typed, value, "");
		free(value);
	}
	free(used);
}
