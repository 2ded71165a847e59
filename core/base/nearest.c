#include "core/base/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NAME_MAX_LEN 64

/* Edits (insert, delete, replace, swap neighbours) between two short words. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][NAME_MAX_LEN + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
		return NAME_MAX_LEN;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);

			best = above[j] + 1 < best ? above[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
				&& rows[(i - 2) % 3][j - 2] + 1 < best)
				best = rows[(i - 2) % 3][j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_len % 3][b_len];
}

const char *mt_nearest(const char *text, const char *(*next)(const void *context, int i),
	const void *context)
{
	unsigned least = (unsigned)strlen(text) / 3 + 1;
	const char *nearest = NULL, *name;

	for (int i = 0; (name = next(context, i)); i++) {
		unsigned edits = distance(text, name);

		if (edits < least || (edits == least && !nearest)) {
			least = edits;
			nearest = name;
		}
	}
	return nearest;
}

/* Or one that begins with it. */
static bool has_word(const char *text, const char *word, size_t len)
{
	for (const char *at = text; at; at = strchr(at, '_')) {
		at += *at == '_';
		if ((len > 2 || strcspn(at, "_") == len) && !strncmp(word, at, len))
			return true;
	}
	return false;
}

/* Each word that both have counts more than all edits. */
static unsigned farness(const char *text, const char *name)
{
	unsigned far = distance(text, name) + 8 * NAME_MAX_LEN;

	for (const char *word = text; word && far >= NAME_MAX_LEN; word = strchr(word, '_')) {
		word += *word == '_';
		size_t len = strcspn(word, "_");

		far -= len && has_word(name, word, len) ? NAME_MAX_LEN : 0;
	}
	return far;
}

unsigned mt_nearest_names(const char *text, const char *(*next)(const void *context, int i),
	const void *context, const char **nearest, unsigned most)
{
	const char *name;
	unsigned count = 0;

	for (int i = 0; (name = next(context, i)); i++) {
		unsigned far = farness(text, name), at = count;

		while (at > 0 && farness(text, nearest[at - 1]) > far)
			at--;
		if (at == most)
			continue;
		count += count < most;
		memmove(nearest + at + 1, nearest + at, (count - at - 1) * sizeof *nearest);
		nearest[at] = name;
	}
	return count;
}
