/* What is said when the heap is not where the memory is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/export/resident.h"

#define MB (1ull << 20)

static void words_are(uint64_t rss, uint64_t heap, bool live, const char *wanted)
{
	struct mt_sample sample = {.memory.rss_bytes = rss};
	struct mt_profile p = {.samples = &sample, .sample_count = 1, .step_ns = 1};
	char words[MT_RESIDENT_LEN];

	p.info.pid = 4194304;
	p.info.leaked_bytes = p.info.peak_bytes = heap;
	assert_int_equal(mt_resident_words(words, &p, live), *wanted != 0);
	assert_string_equal(words, wanted);
}

static void test_words(void **state)
{
	(void)state;
	words_are(540 * MB, 15 * MB, true,
		"The heap holds 15.0M of 540M resident; 'memtui memory 4194304' shows the rest.");
	words_are(540 * MB, 15 * MB, false,
		"The heap held at most 15.0M of 540M resident; most of the memory is not in "
		"malloc.");
	words_are(540 * MB, 400 * MB, true, "");
	words_are(10 * MB, 1 * MB, true, "");
	words_are(0, 0, true, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
