#include "core/session/before.h"

#include "core/base/buffer.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD ".exec"

/* Length of the name without the .execN at its end. */
static size_t stem_of(const char *path)
{
	size_t len = strlen(path), at = len, word = strlen(WORD);

	while (at && isdigit((unsigned char)path[at - 1]))
		at--;
	return at < len && at > word && !strncmp(path + at - word, WORD, word) ? at - word : len;
}

char *mt_before_name(const char *path)
{
	return mt_format("%.*s", (int)stem_of(path), path);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* NAME.execN as the recorder writes N, below expected. */
static bool has_number(uint32_t *number, const char *entry, const char *name, uint32_t expected)
{
	size_t len = strlen(name), word = strlen(WORD);
	const char *digits = entry + len + word;
	char again[16];

	if (strncmp(entry, name, len) || strncmp(entry + len, WORD, word) || strlen(digits) > 10)
		return false;
	unsigned long long value = strtoull(digits, NULL, 10);

	snprintf(again, sizeof again, "%llu", value);
	*number = (uint32_t)value;
	return !strcmp(again, digits) && value < expected;
}

static uint32_t *list_numbers(const char *path, uint32_t expected, uint32_t *count)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? mt_format("%.*s", (int)(slash - path + 1), path) : mt_strdup(".");
	uint32_t *numbers = NULL, capacity = 0, number;
	DIR *d = opendir(directory);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (has_number(&number, entry->d_name, slash ? slash + 1 : path, expected)) {
			MT_GROW(numbers, *count, capacity);
			numbers[(*count)++] = number;
		}
	if (d)
		closedir(d);
	free(directory);
	if (*count)
		qsort(numbers, *count, sizeof *numbers, by_number);
	return numbers;
}

/* Where a name is a symbolic link, the others stand beside the file itself. */
static void find_beside(struct mt_before *b, const char *path, uint32_t expected)
{
	uint32_t next = 0, *numbers = list_numbers(path, expected, &b->count);

	b->paths = mt_alloc((b->count + 1u) * sizeof *b->paths);
	for (uint32_t i = 0; i < b->count; i++) {
		b->paths[i] = mt_format("%s" WORD "%u", path, numbers[i]);
		next += numbers[i] == next;
	}
	b->missing = expected - b->count;
	if (b->missing)
		b->first_missing = mt_format("%s" WORD "%u", path, next);
	free(numbers);
}

void mt_before_find(struct mt_before *b, const char *path, uint32_t expected)
{
	char *real;

	*b = (struct mt_before){0};
	if (!expected || stem_of(path) < strlen(path))
		return;
	find_beside(b, path, expected);
	real = b->count ? NULL : realpath(path, NULL);
	if (real && strcmp(real, path)) {
		struct mt_before other = {0};

		find_beside(&other, real, expected);
		if (other.count) {
			struct mt_before none = *b;

			*b = other;
			other = none;
		}
		mt_before_free(&other);
	}
	free(real);
}

void mt_before_free(struct mt_before *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		free(b->paths[i]);
	free(b->paths);
	free(b->first_missing);
	*b = (struct mt_before){0};
}
