#include "core/base/nearest.h"

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
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				rows[(i - 2) % 3][j - 2] + 1 < best)
				best = rows[(i - 2) % 3][j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_len % 3][b_len];
}

const char *mt_nearest(const char *text, const char *(*next)(const void *context, int i), const void *context)
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
