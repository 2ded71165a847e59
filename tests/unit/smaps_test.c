/* The list of a process's mappings: real text, and text that is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/account/smaps.h"

static const char real[] =
	"55d0c7a00000-55d0c7a02000 r--p 00001000 fe:00 247278                     /usr/bin/a b\n"
	"Size:                  8 kB\nKernelPageSize:        4 kB\nRss:                   4 kB\n"
	"Pss:                   2 kB\nShared_Clean:          4 kB\nPrivate_Clean:         0 kB\n"
	"VmFlags: rd mr mw me \n"
	"7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
	"Rss:                6144 kB\nPrivate_Dirty:      6144 kB\nAnonHugePages:      4096 kB\n"
	"Swap:                128 kB\nSwapPss:             128 kB\nTHPeligible:           1\n"
	"7f0000800000-7f0000a00000 rw-s 00000000 00:0f 1234                       "
	"/anon_hugepage (deleted)\n"
	"Rss:                   0 kB\nPrivate_Hugetlb:    2048 kB\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
	"Rss:                   0 kB\n";

static struct mt_smaps parsed(const char *text)
{
	struct mt_smaps s = {0};

	mt_smaps_parse(&s, text, strlen(text));
	return s;
}

static void test_real(void **state)
{
	struct mt_smaps s = parsed(real);
	const struct mt_smap *m = s.items;

	(void)state;
	assert_int_equal(s.count, 4);
	assert_int_equal(s.passed_over, 0);
	assert_true(m[0].low == 0x55d0c7a00000 && m[0].high == 0x55d0c7a02000);
	assert_true(m[0].is_readable && !m[0].is_writable && !m[0].is_code && !m[0].is_shared);
	assert_int_equal(m[0].offset, 0x1000);
	assert_int_equal(m[0].inode, 247278);
	assert_string_equal(mt_smap_path(&s, &m[0]), "/usr/bin/a b");
	assert_int_equal(m[0].rss, 4096);
	assert_int_equal(m[0].shared_clean, 4096);
	assert_string_equal(mt_smap_path(&s, &m[1]), "");
	assert_int_equal(m[1].rss, 6144 * 1024);
	assert_int_equal(m[1].private_dirty, 6144 * 1024);
	assert_int_equal(m[1].huge, 4096 * 1024);
	assert_int_equal(m[1].swap, 128 * 1024);
	assert_true(m[2].is_shared && !m[2].rss);
	assert_int_equal(m[2].hugetlb, 2048 * 1024);
	assert_string_equal(mt_smap_path(&s, &m[2]), "/anon_hugepage (deleted)");
	assert_true(m[3].is_code && !m[3].is_readable && m[3].high == 0xffffffffff601000);
	mt_smaps_free(&s);
}

/* What is wrong is passed over; what stands behind it still counts. */
static void test_hostile(void **state)
{
	static const struct {
		const char *text;
		uint32_t count, passed_over;
		uint64_t rss; /* of all */
	} cases[] = {
		{"", 0, 0, 0},
		{"\n\n", 0, 2, 0},
		{"Rss: 4 kB\n", 0, 1, 0},
		{"1000-2000 rw-p 0 0:0 0\nRss: 4 kB", 1, 0, 4096},
		{"1000-2000 rw-p 0 0:0 0\nRss: 8 kB\n", 1, 1, 0},
		{"1000-2000 rw-p 0 0:0 0\nRss: 4 kB\nRss: 4 kB\n", 1, 0, 4096},
		{"1000-2000 rw-p 0 0:0 0\nRss: -4 kB\nRss\nRss:\n", 1, 3, 0},
		{"1000-2000 rw-p 0 0:0 0\nRss: 18014398509481988 kB\n", 1, 1, 0},
		{"1000-2000 rw-p 0 0:0 0\nRss: 99999999999999999999999 kB\n", 1, 1, 0},
		{"2000-1000 rw-p 0 0:0 0\nRss: 4 kB\n", 0, 2, 0},
		{"1000-1000 rw-p 0 0:0 0\nRss: 4 kB\n", 0, 2, 0},
		{"10000000000000000-20000000000000000 rw-p 0 0:0 0\n", 0, 1, 0},
		{"1000-3000 rw-p 0 0:0 0\nRss: 4 kB\n2000-4000 rw-p 0 0:0 0\nRss: 8 kB\n", 1, 2,
			4096},
		{"1000-2000 rwp 0 0:0 0\n1000-2000 rw-q 0 0:0 0\n1000-2000 r\n1000-2000\n1000-\n",
			0, 5, 0},
		{"0-ffffffffffffffff rw-p 0 0:0 0\nRss: 18014398509481983 kB\n", 1, 0,
			18446744073709550592u},
		{"1000-2000 rw-p 0 0:0 0 \x1b[31m\xff\nRss:\t4 kB\nPss: x\nRssX: 9 kB\n", 1, 0,
			4096},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mt_smaps s = parsed(cases[i].text);
		uint64_t rss = 0;

		for (uint32_t m = 0; m < s.count; m++)
			rss += s.items[m].rss;
		if (s.count != cases[i].count || s.passed_over != cases[i].passed_over
			|| rss != cases[i].rss)
			fail_msg("case %zu: %u mappings, %u lines passed over, %llu resident", i,
				s.count, s.passed_over, (unsigned long long)rss);
		mt_smaps_free(&s);
	}
}

/* Every end of the real text: no read goes beyond it. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof real; len++) {
		char *text = malloc(len ? len : 1);
		struct mt_smaps s = {0};

		memcpy(text, real, len);
		mt_smaps_parse(&s, text, len);
		assert_true(s.count <= 4);
		mt_smaps_free(&s);
		free(text);
	}
}

static void test_own(void **state)
{
	size_t len = 64 * 4096;
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* nothing else that has the same rights lies beside it */
	char *hole = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mt_smaps s = {0};
	struct mt_err err;
	uint64_t found = 0;

	(void)state;
	(void)hole;
	memset(map, 1, len / 2);
	assert_int_equal(mt_smaps_read(&s, getpid(), &err), 0);
	assert_int_equal(s.passed_over, 0);
	for (uint32_t i = 0; i < s.count; i++)
		if (s.items[i].low <= (uint64_t)map && s.items[i].high >= (uint64_t)map + len)
			found = s.items[i].rss;
	assert_true(found >= len / 2);
	mt_smaps_free(&s);
}

static void test_none(void **state)
{
	struct mt_smaps s = {0};
	struct mt_err err = {0};

	(void)state;
	assert_int_equal(mt_smaps_read(&s, 1 << 29, &err), -ESRCH);
	assert_string_equal(err.text, "process 536870912 does not exist");
	mt_smaps_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_real),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_own), cmocka_unit_test(test_none)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
