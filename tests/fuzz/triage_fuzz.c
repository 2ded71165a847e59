/* The file of what people said about leaks: it is written as it was read. */
#include "core/triage/internal.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_triage_lines lines = {0}, again = {0};
	struct mt_buffer once = {0}, twice = {0};

	mt_triage_lines_parse(&lines, (const char *)data, size);
	mt_triage_lines_write(&lines, &once);
	mt_triage_lines_parse(&again, (const char *)once.data, once.len);
	mt_triage_lines_write(&again, &twice);
	if (once.len != twice.len || memcmp(once.data, twice.data, once.len))
		abort();
	mt_buffer_free(&once);
	mt_buffer_free(&twice);
	mt_triage_lines_free(&lines);
	mt_triage_lines_free(&again);
	return 0;
}
