/* Foreign text: whatever the bytes are, no form of it holds what is not safe, or invalid UTF-8. */
#include "core/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check(const char *text)
{
	for (uint32_t code; (code = mt_text_next(&text));)
		if (!mt_text_is_safe(code))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *wild;
	struct mt_buffer out = {0};

	memcpy(text, data, size);
	text[size] = 0;
	for (enum mt_text_form form = 0; form < MT_TEXT_FORMS; form++) {
		out.len = 0;
		mt_text_add(&out, form, text);
		mt_buffer_add(&out, "", 1);
		check((const char *)out.data);
	}
	wild = mt_text_wildcards(text, '?');
	if (strlen(wild) != strlen(text) || mt_text_cut(text, size) > size)
		abort();
	check(wild);
	free(wild);
	mt_buffer_free(&out);
	free(text);
	return 0;
}
