/* Every way of comparing the words of a stack sees each word that differs, and no other. */
#include "preload/base/tracer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define MOST 70

struct words {
	uint64_t *stack; /* of more than MOST words, at the end of what can be read */
	const uint64_t *at[MOST];
	uint64_t was[MOST];
};

static void fill(struct words *w, size_t count)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	memset(w, 0xee, sizeof *w);
	w->stack = (uint64_t *)(void *)pages;
	for (size_t i = 0; i < count; i++) {
		uint64_t *word = (uint64_t *)(void *)(pages + page) - 1 - (i * 37 % 256);

		*word = w->was[i] = (uint64_t)random() << 32 | (uint64_t)random();
		w->at[i] = word;
	}
}

static void unfill(struct words *w)
{
	assert_int_equal(munmap(w->stack, 2 * sysconf(_SC_PAGESIZE)), 0);
}

static void check(mt_arch_differ_way *way)
{
	for (size_t count = 0; count <= MOST; count++) {
		struct words w;

		fill(&w, count);
		assert_true(!way(w.at, w.was, count));
		for (size_t i = 0; i < count; i++) {
			uint64_t *word = (uint64_t *)(uintptr_t)w.at[i];

			*word ^= 1ull << random() % 64;
			assert_false(!way(w.at, w.was, count));
			assert_true(!way(w.at, w.was, i));
			*word = w.was[i];
		}
		unfill(&w);
	}
}

static void ways_agree(void **state)
{
	mt_arch_differ_way *ways[MT_ARCH_DIFFER_WAYS];
	unsigned count = mt_arch_differ_ways(ways);

	(void)state;
	assert_in_range(count, 1, MT_ARCH_DIFFER_WAYS);
	for (unsigned i = 0; i < count; i++)
		check(ways[i]);
}

static void one_is_chosen(void **state)
{
	mt_arch_differ_way *ways[MT_ARCH_DIFFER_WAYS], *before = mt_arch_differ_many;
	unsigned count = mt_arch_differ_ways(ways), found = 0;

	(void)state;
	assert_true(before == ways[0]);
	check(before);
	mt_arch_differ_choose();
	for (unsigned i = 0; i < count; i++)
		found += mt_arch_differ_many == ways[i];
	assert_int_equal(found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_agree),
		cmocka_unit_test(one_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
