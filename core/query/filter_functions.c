/* Completion of function names: in how many groups each function occurs. */
#include "core/query/filter_names.h"
#include "core/query/frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define OFFERED 50 /* names; nobody reads more */

void mt_filter_functions_make(struct mt_filter_functions *f, const struct mt_profile *profile,
	const struct mt_symbols *symbols)
{
	uint32_t *last, first;

	mt_filter_functions_free(f);
	f->symbols = symbols;
	f->count = symbols->strings.count;
	f->groups = mt_resize(NULL, ((size_t)f->count + 1) * sizeof *f->groups);
	last = mt_resize(NULL, ((size_t)f->count + 1) * sizeof *last);
	memset(f->groups, 0, ((size_t)f->count + 1) * sizeof *f->groups);
	memset(last, 0xff, ((size_t)f->count + 1) * sizeof *last);
	for (uint32_t g = 0; g < profile->group_count; g++)
		for (uint32_t node = profile->groups[g].node; node;
			node = profile->nodes[node].parent) {
			uint32_t frames = mt_pc_frames(symbols, profile->nodes[node].pc, &first);

			for (uint32_t i = 0; i < frames; i++) {
				uint32_t name = symbols->frames[first + i].function;

				/* a recursion counts once */
				if (name >= f->count || last[name] == g)
					continue;
				last[name] = g;
				f->groups[name]++;
			}
		}
	free(last);
}

void mt_filter_functions_free(struct mt_filter_functions *f)
{
	free(f->groups);
	*f = (struct mt_filter_functions){0};
}

/* Smart case, as regexes have it: a capital in what is typed asks for the same case. */
static bool begins(const char *name, const char *typed)
{
	size_t len = strlen(typed);

	for (const char *c = typed; *c; c++)
		if (isupper((unsigned char)*c))
			return !strncmp(name, typed, len);
	return !strncasecmp(name, typed, len);
}

/* The regex that matches this name alone. */
static char *exact(const char *name)
{
	struct mt_buffer pattern = {0}, value = {0};

	mt_buffer_add(&pattern, "^", 1);
	for (; *name; name++) {
		if (strchr("\\^$.|?*+()[]{}", *name))
			mt_buffer_add(&pattern, "\\", 1);
		mt_buffer_add(&pattern, name, 1);
	}
	mt_buffer_add(&pattern, "$", 2);
	mt_filter_add_value(&value, (char *)pattern.data);
	mt_buffer_add(&value, " ", 2);
	mt_buffer_free(&pattern);
	return (char *)value.data;
}

static int by_groups(const void *a, const void *b)
{
	const struct mt_filter_candidate *x = a, *y = b;

	return x->groups != y->groups ? (x->groups < y->groups ? 1 : -1) : strcmp(x->text, y->text);
}

void mt_filter_add_functions(struct mt_filter_candidates *out, const char *typed,
	const struct mt_filter_functions *f)
{
	uint32_t before = out->count;

	typed += *typed == '^';
	if (!*typed)
		return;
	for (uint32_t i = 0; i < f->count; i++) {
		const char *name = f->groups[i] ? mt_strings_get(&f->symbols->strings, i) : "";

		if (!*name || !begins(name, typed))
			continue;
		MT_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct mt_filter_candidate){exact(name), "", f->groups[i]};
	}
	if (out->count - before)
		qsort(out->items + before, out->count - before, sizeof *out->items, by_groups);
	while (out->count > before + OFFERED)
		free(out->items[--out->count].text);
}
