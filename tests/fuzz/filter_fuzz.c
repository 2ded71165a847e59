/* The prompt's filter language, and its completion. */
#include "core/query/query.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_filter *filter = mt_filter_new(), *again = mt_filter_new();
	char *text = malloc(size + 1);
	struct mt_err err = {0};

	memcpy(text, data, size);
	text[size] = 0;
	if (mt_filter_parse(filter, text, &err) >= 0) {
		char *said = mt_filter_text(filter);

		/* what it says of itself is the same filter */
		if (mt_filter_parse(again, said, &err) < 0)
			abort();
		char *twice = mt_filter_text(again);

		if (strcmp(said, twice))
			abort();
		free(said);
		free(twice);
	} else if (!*err.text) {
		abort();
	}
	free(text);
	mt_filter_free(filter);
	mt_filter_free(again);
	return 0;
}
