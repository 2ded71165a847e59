/* Suppression files, and both matchers. Input: a file, whose first line is a name to match too. */
#include "core/query/suppress.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_suppressions *s = mt_suppressions_new();
	struct mt_err err = {0};
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = 0;
	if (mt_suppressions_parse(s, text, size, "input", &err) < 0 && !*err.text)
		abort();
	text[strcspn(text, "\n")] = 0;
	for (uint32_t i = 0; i < mt_suppressions_count(s) && i < 8 && strlen(text) < 200; i++) {
		const char *pattern = mt_suppressions_at(s, i)->text;

		if (strlen(pattern) > 200)
			continue;
		mt_suppress_match_lsan(pattern, text);
		mt_suppress_match_glob(pattern, text);
	}
	free(text);
	mt_suppressions_free(s);
	return 0;
}
