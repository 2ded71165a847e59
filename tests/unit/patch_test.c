/* Entries of functions, assembled by hand: what is moved, and what is refused with which words.
 * tests/patch executes such patches. */
#include "core/patch/patch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define AT 0x7f0000001000ull /* the function */
#define STUB 0x7effffff0000ull
#define HOOK 0x123456789abcull
#define REST "48 89 e5 48 89 e5 c3" /* what follows the first bytes */
#define ENDBR "f3 0f 1e fa "

static size_t bytes_of(const char *hex, uint8_t *to)
{
	size_t n = 0;
	int used;

	for (unsigned value; sscanf(hex, "%2x%n", &value, &used) == 1; hex += used)
		to[n++] = (uint8_t)value;
	return n;
}

/* A function with its bytes; the file is that of `meant`, or not known. */
struct made {
	struct mt_patch patch;
	struct mt_err err;
	uint8_t memory[256], file[256];
	int code;
};

static bool stays; /* of the functions that make_at is asked for */

static struct made *make_at(uint64_t address, const char *hex, const char *meant, uint64_t stub)
{
	static struct made m;
	struct mt_patch_function f = {"malloc", address, 0, m.memory, NULL, 0x7f0000000000,
		0x7f0000200000, .stays = stays};

	memset(&m, 0, sizeof m);
	f.len = bytes_of(hex, m.memory);
	if (meant) {
		assert_int_equal(bytes_of(meant, m.file), f.len);
		f.file = m.file;
	}
	m.code = mt_patch_make(&m.patch, &f, stub, HOOK, &m.err);
	return &m;
}

static struct made *make(const char *hex)
{
	return make_at(AT, hex, NULL, STUB);
}

static void equal_bytes(const uint8_t *have, const char *hex)
{
	uint8_t wanted[256];
	size_t n = bytes_of(hex, wanted);

	for (size_t i = 0; i < n; i++)
		if (have[i] != wanted[i])
			fail_msg("byte %zu is %02x, not as in '%s'", i, have[i], hex);
}

/* The stub repeats `first` as `moved`, and jumps back to behind `first`. The same with an endbr64
 * before the entry. */
static void moves(const char *first, const char *moved)
{
	for (unsigned endbr = 0; endbr <= 4; endbr += 4) {
		char hex[256];
		uint8_t scratch[256];
		uint32_t first_len = (uint32_t)bytes_of(first, scratch);
		uint32_t moved_len = (uint32_t)bytes_of(moved, scratch);
		int32_t distance;
		const struct mt_patch *p;
		struct made *m;

		snprintf(hex, sizeof hex, "%s%s" REST, endbr ? ENDBR : "", first);
		/* At another place, so that relative operands stay where they were. */
		m = make_at(AT - endbr, hex, hex, STUB);
		p = &m->patch;
		if (m->code)
			fail_msg("'%s' is refused: %s", hex, m->err.text);
		assert_int_equal(p->entry, AT);
		assert_int_equal(p->size, 5);
		assert_int_equal(p->moved, first_len);
		assert_int_equal(p->stub_address, STUB);
		assert_int_equal(p->original, STUB + 16);
		assert_int_equal(p->stub_size, 16 + 4 + moved_len + 5);
		snprintf(hex, sizeof hex, "%.14s", first);
		equal_bytes(p->before, hex);
		equal_bytes(p->after, "e9 fb ef fe ff"); /* STUB - AT - 5 */
		equal_bytes(p->stub, "ff 25 02 00 00 00 cc cc bc 9a 78 56 34 12 00 00 " ENDBR);
		equal_bytes(p->stub + 20, moved);
		assert_int_equal(p->stub[20 + moved_len], 0xe9);
		memcpy(&distance, p->stub + 21 + moved_len, 4);
		assert_int_equal(STUB + p->stub_size + (uint64_t)(int64_t)distance, AT + first_len);
		for (uint32_t i = p->stub_size; i < MT_PATCH_STUB; i++)
			assert_int_equal(p->stub[i], 0xcc);
	}
}

static void refused(struct made *m, enum mt_patch_refusal refusal, int code, const char *words)
{
	assert_int_equal(m->code, code);
	if (!strstr(m->err.text, words) || strncmp(m->err.text, "malloc ", 7))
		fail_msg("'%s' does not say '%s'", m->err.text, words);
	assert_int_equal(m->patch.refusal, refusal);
}

static void pushes(void **unused)
{
	(void)unused;
	moves("41 54 55 53 90 ", "41 54 55 53 90");
	moves("55 53 48 83 ec 18 ", "55 53 48 83 ec 18");
	moves("48 b8 01 02 03 04 05 06 07 08 ", "48 b8 01 02 03 04 05 06 07 08");
	moves("55 53 50 51 48 b8 01 02 03 04 05 06 07 08 ",
		"55 53 50 51 48 b8 01 02 03 04 05 06 07 08");
}

static void short_branches(void **unused)
{
	(void)unused;
	/* free of glibc: test rdi, rdi; je, in both forms */
	moves("48 85 ff 74 60 ", "48 85 ff 0f 84 48 10 01 00");
	moves("48 85 ff 0f 84 5c 00 00 00 ", "48 85 ff 0f 84 48 10 01 00");
	/* a hint (3e) stays */
	moves("48 85 ff 3e 74 5f ", "48 85 ff 3e 0f 84 47 10 01 00");
	/* cmp edi, 5; ja; and two short branches, backwards, before a long instruction */
	moves("83 ff 05 77 60 ", "83 ff 05 0f 87 48 10 01 00");
	moves("74 f0 75 f0 48 b8 01 02 03 04 05 06 07 08 ",
		"0f 84 d8 0f 01 00 0f 85 d4 0f 01 00 48 b8 01 02 03 04 05 06 07 08");
}

static void relative_operands(void **unused)
{
	(void)unused;
	/* memalign: cmpb $0, 0x1000(%rip) */
	moves("80 3d 00 10 00 00 00 ", "80 3d ec 1f 01 00 00");
	/* cmp 0x1000(%rip), rdi: the field ends the instruction */
	moves("48 3b 3d 00 10 00 00 ", "48 3b 3d ec 1f 01 00");
	/* jemalloc: cmp edi, 8; lea 0x1000(%rip), rax */
	moves("83 ff 08 48 8d 05 00 10 00 00 ", "83 ff 08 48 8d 05 ec 1f 01 00");
	/* cmp; ja; lea: what follows the widened branch is moved by as much */
	moves("48 39 f7 48 8d 05 00 10 00 00 ", "48 39 f7 48 8d 05 ec 1f 01 00");
	moves("77 60 48 8d 05 00 10 00 00 ", "0f 87 48 10 01 00 48 8d 05 e8 1f 01 00");
	/* mimalloc: mov 0x1000(%rip), rax; mov fs:0, rax */
	moves("48 8b 05 00 10 00 00 ", "48 8b 05 ec 1f 01 00");
	moves("64 48 8b 04 25 00 00 00 00 ", "64 48 8b 04 25 00 00 00 00");
	/* vmovdqu 0x1000(%rip), ymm0; the same of 512 bits */
	moves("c5 fe 6f 05 00 10 00 00 ", "c5 fe 6f 05 ec 1f 01 00");
	moves("62 f1 fe 48 6f 05 00 10 00 00 ", "62 f1 fe 48 6f 05 ec 1f 01 00");
}

/* Nothing is reached behind these, so no jump leads back. */
static void ends(void **unused)
{
	struct made *m;

	(void)unused;
	m = make("31 c0 c3 66 90");
	assert_int_equal(m->code, 0);
	assert_int_equal(m->patch.moved, 3);
	assert_int_equal(m->patch.stub_size, 16 + 4 + 3);
	equal_bytes(m->patch.stub + 20, "31 c0 c3 cc");
	equal_bytes(m->patch.before, "31 c0 c3 66 90");
	assert_int_equal(make("c3 cc cc cc cc")->code, 0);
	assert_int_equal(make("c3 0f 1f 80 00 00 00 00")->code, 0);
	/* jmp *0x1000(%rip): through a pointer of the module */
	m = make("ff 25 00 10 00 00");
	assert_int_equal(m->code, 0);
	equal_bytes(m->patch.stub + 20, "ff 25 ec 1f 01 00 cc");
	/* test rax, rax; jmp to a place in the function */
	m = make("48 85 c0 eb 01 90 c3");
	assert_int_equal(m->code, 0);
	equal_bytes(m->patch.stub + 20, "48 85 c0 e9 ea 0f 01 00 cc");
}

static void not_moved(void **unused)
{
	(void)unused;
	refused(make(ENDBR "53 ff d0 48 89 e5 c3"), MT_PATCH_REFUSED_CALL, -ENOTSUP,
		"call at +0x5");
	/* behind the first five bytes it may stand */
	assert_int_equal(make("48 83 ec 08 90 e8 00 01 00 00 c3")->code, 0);
	refused(make("90 e2 40 " REST), MT_PATCH_REFUSED_NARROW, -ENOTSUP, "+0x1");
	refused(make("e3 40 " REST), MT_PATCH_REFUSED_NARROW, -ENOTSUP, "+0x0");
	refused(make("67 e3 40 " REST), MT_PATCH_REFUSED_NARROW, -ENOTSUP, "+0x0");
	refused(make("c7 f8 00 01 00 00 " REST), MT_PATCH_REFUSED_NARROW, -ENOTSUP, "+0x0");
	/* mov 0x1000(%eip), rax */
	refused(make("67 48 8b 05 00 10 00 00 " REST), MT_PATCH_REFUSED_NARROW, -ENOTSUP, "+0x0");
	refused(make("31 c0 0f 05 " REST), MT_PATCH_REFUSED_TRAP, -ENOTSUP, "+0x2");
	refused(make("0f 0b " REST), MT_PATCH_REFUSED_TRAP, -ENOTSUP, "+0x0");
	refused(make("90 06 90 90 90 90"), MT_PATCH_REFUSED_UNDECODED, -ENOTSUP, "+0x1");
	/* not among the first bytes, but its branches are unknown */
	refused(make("48 83 ec 08 90 06 c3"), MT_PATCH_REFUSED_UNDECODED, -ENOTSUP, "+0x5");
}

static void too_short(void **unused)
{
	(void)unused;
	refused(make(""), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at +0x0");
	refused(make("31 c0 c3"), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at +0x3");
	refused(make("31 c0 c3 90"), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at +0x4");
	refused(make(ENDBR "31 c0 c3 55 53"), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at +0x7");
	refused(make("31 c0 c3 0f 1f 44"), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at +0x3");
	refused(make("53 eb 06 " REST), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at +0x3");
	refused(make("48 85 ff 0f 84"), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at");
}

static void branches_into(void **unused)
{
	struct made *m;

	(void)unused;
	/* xor eax, eax; inc rdi; cmpb $0, (%rdi); jne to the inc */
	refused(make("31 c0 48 ff c7 80 3f 00 75 f8 c3"), MT_PATCH_REFUSED_BRANCH, -ENOTSUP,
		"+0x8 leads to +0x2");
	/* a loop to the very entry */
	refused(make("48 ff c7 80 3f 00 75 f8 c3"), MT_PATCH_REFUSED_BRANCH, -ENOTSUP, "+0x6");
	/* to the endbr64 before the entry: the function calls itself */
	assert_int_equal(make(ENDBR "48 ff c7 80 3f 00 75 f4 c3")->code, 0);
	refused(make(ENDBR "48 ff c7 80 3f 00 75 f8 c3"), MT_PATCH_REFUSED_BRANCH, -ENOTSUP,
		"+0xa");
	/* call of the entry; call into it; lea of a place in it */
	assert_int_equal(make("55 53 90 90 90 e8 f6 ff ff ff c3")->code, 0);
	refused(make("55 53 90 90 90 e8 f7 ff ff ff c3"), MT_PATCH_REFUSED_BRANCH, -ENOTSUP,
		"+0x5");
	refused(make("55 53 90 90 90 48 8d 05 f6 ff ff ff c3"), MT_PATCH_REFUSED_BRANCH, -ENOTSUP,
		"+0x5");
	/* to behind the bytes that change, in the middle of what has moved: lock is skipped */
	assert_int_equal(make("90 90 90 74 01 f0 0f b1 0f c3")->code, 0);
	m = make("85 f6 74 01 f0 0f b1 0f c3");
	assert_int_equal(m->code, 0);
	assert_int_equal(m->patch.moved, 8);
	refused(make("55 " ENDBR "c3"), MT_PATCH_REFUSED_BRANCH, -ENOTSUP, "+0x1");
}

/* The rest of the module: a byte that is no instruction, then a jump. */
static void branches_from_elsewhere(void **unused)
{
	uint8_t bytes[6] = {0x06, 0xe9};
	struct mt_patch_function text = {.name = "libc.so.6",
		.address = AT + 0x200,
		.len = 6,
		.memory = bytes};
	struct mt_patch patches[2];
	struct mt_err err = {0};

	(void)unused;
	patches[0] = make_at(AT + 0x100, "55 53 90 90 90 " REST, NULL, STUB)->patch;
	for (int target = -1; target < 7; target++) {
		int32_t distance = target - 0x206;
		unsigned inside = target > 0 && target < 5;

		patches[1] = make("55 53 90 90 90 " REST)->patch;
		memcpy(bytes + 2, &distance, 4);
		assert_int_equal(mt_patch_check(patches, 2, &text, &err), inside);
		assert_int_equal(patches[0].refusal, MT_PATCH_REFUSED_NOT);
		assert_int_equal(patches[1].refusal, inside ? MT_PATCH_REFUSED_BRANCH : 0);
		if (inside)
			assert_non_null(strstr(err.text,
				"malloc cannot be patched: the instruction at "
				"libc.so.6+0x1 leads to"));
	}
}

static void pages(void **unused)
{
	(void)unused;
	assert_int_equal(make_at(AT + 0xffb, "55 53 90 90 90 c3", NULL, STUB)->code, 0);
	for (uint64_t offset = 0xffc; offset < 0x1000; offset++)
		refused(make_at(AT + offset, "55 53 90 90 90 c3", NULL, STUB),
			MT_PATCH_REFUSED_PAGE, -ENOTSUP, "+0x0 lie in two pages");
	/* the endbr64 in one page, the entry in the next */
	assert_int_equal(make_at(AT + 0xffc, ENDBR "55 53 90 90 90 c3", NULL, STUB)->code, 0);
}

static void reach(void **unused)
{
	(void)unused;
	refused(make_at(AT, "55 53 90 90 90 c3", NULL, AT - 0x80000000), MT_PATCH_REFUSED_REACH,
		-ERANGE, "too far away");
	assert_int_equal(make_at(AT, "55 53 90 90 90 c3", NULL, AT - 0x7ffff000)->code, 0);
	refused(make_at(AT, "48 8b 05 00 00 00 7f " REST, NULL, AT - 0x7ffff000),
		MT_PATCH_REFUSED_REACH, -ERANGE, "+0x0 is too far from the stub");
	refused(make_at(AT, "0f 84 00 00 00 7f " REST, NULL, AT - 0x7ffff000),
		MT_PATCH_REFUSED_REACH, -ERANGE, "+0x0 is too far from the stub");
	assert_int_equal(make_at(AT, REST, NULL, STUB + 8)->code, -EINVAL);
	assert_int_equal(make_at(UINT64_MAX - 2, REST, NULL, STUB)->code, -EINVAL);
}

static void followed(void **unused)
{
	struct made *m;

	(void)unused;
	m = make("e9 fb 0f 00 00");
	assert_int_equal(m->code, -EAGAIN);
	assert_int_equal(m->patch.next, AT + 0x1000);
	m = make(ENDBR "eb 7a");
	assert_int_equal(m->code, -EAGAIN);
	assert_int_equal(m->patch.next, AT + 0x80);
	stays = true;
	m = make("e9 fb 0f 00 00");
	assert_int_equal(m->code, 0);
	equal_bytes(m->patch.stub + 20, "e9 e7 1f 01 00 cc");
	refused(make("eb 7a"), MT_PATCH_REFUSED_SHORT, -ENOTSUP, "ends at +0x2");
	refused(make("e9 fb ef 1f 00"), MT_PATCH_REFUSED_LEAVES, -EBUSY, "to 0x7f0000200000");
	stays = false;
	/* the module ends at AT + 0x1ff000 */
	m = make("e9 fa ef 1f 00");
	assert_int_equal(m->code, -EAGAIN);
	refused(make("e9 fb ef 1f 00"), MT_PATCH_REFUSED_LEAVES, -EBUSY, "to 0x7f0000200000");
	refused(make("e9 fa ef ff ff"), MT_PATCH_REFUSED_LEAVES, -EBUSY, "to 0x7effffffffff");
}

static void others(void **unused)
{
	const char *fine = ENDBR "41 54 55 53 90 48 89 e5 c3";

	(void)unused;
	assert_int_equal(make_at(AT, fine, fine, STUB)->code, 0);
	refused(make("cc 48 89 e5 90 c3"), MT_PATCH_REFUSED_BREAKPOINT, -EBUSY,
		"breakpoint at +0x0");
	refused(make_at(AT, "cc 0f 1e fa 41 54 55 53 90 48 89 e5 c3", fine, STUB),
		MT_PATCH_REFUSED_BREAKPOINT, -EBUSY, "breakpoint at +0x0 that its file has not");
	refused(make_at(AT, ENDBR "41 54 cc 53 90 48 89 e5 c3", fine, STUB),
		MT_PATCH_REFUSED_BREAKPOINT, -EBUSY, "breakpoint at +0x6 that its file has not");
	refused(make_at(AT, ENDBR "e9 00 00 00 10 48 89 e5 c3", fine, STUB),
		MT_PATCH_REFUSED_DIFFERS, -EBUSY,
		"jump to 0x7f0010001009 at +0x4 that its file has not");
	refused(make_at(AT, ENDBR "41 54 55 53 91 48 89 e5 c3", fine, STUB),
		MT_PATCH_REFUSED_DIFFERS, -EBUSY, "differs from its file at +0x8");
	refused(make_at(AT, "e9 fb 0f 00 00", "e9 fc 0f 00 00", STUB), MT_PATCH_REFUSED_DIFFERS,
		-EBUSY, "differs from its file at +0x1");
	/* a breakpoint behind what is moved is nobody's concern, nor does it hide a branch */
	assert_int_equal(make_at(AT, ENDBR "41 54 55 53 90 cc 89 e5 c3", fine, STUB)->code, 0);
	refused(make_at(AT, "55 53 90 90 90 cc fb c3", "55 53 90 90 90 eb fb c3", STUB),
		MT_PATCH_REFUSED_BRANCH, -ENOTSUP, "+0x5");
}

#define GB 0x40000000ull
static void places(void **unused)
{
	struct mt_patch_range taken[] = {{0x400000, 0x500000}, {0x7f0000000000, 0x7f0000100000},
		{0x7f0000200000, 0x7f0000300000}, {0x7f0000380000, 0x7f0000400000}};
	struct mt_err err = {0};
	uint64_t at = 0;

	(void)unused;
	/* below; the module has a hole, which is no place */
	assert_int_equal(mt_patch_place(&at, taken, 4, 0x7f0000000000, 0x7f0000300000, 64, &err),
		0);
	assert_int_equal(at, 0x7effffffffff - 0xfff);
	assert_int_equal(mt_patch_place(&at, taken, 4, 0x7f0000200000, 0x7f0000300000, 0x1001,
				 &err),
		0);
	assert_int_equal(at, 0x7f00001fe000);
	/* the gap below is too small, the next one is not */
	assert_int_equal(mt_patch_place(&at, taken, 4, 0x7f0000380000, 0x7f0000400000, 0x90000,
				 &err),
		0);
	assert_int_equal(at, 0x7f0000170000);
	/* as low as programs may map */
	assert_int_equal(mt_patch_place(&at, taken, 4, 0x400000, 0x500000, 0x3f0000, &err), 0);
	assert_int_equal(at, 0x10000);
	assert_int_equal(mt_patch_place(&at, taken, 4, 0x400000, 0x500000, 0x3f1000, &err), 0);
	assert_int_equal(at, 0x500000);
	/* without a list; nothing but itself is taken */
	assert_int_equal(mt_patch_place(&at, NULL, 0, 0x400000, 0x500000, 64, &err), 0);
	assert_int_equal(at, 0x3ff000);
}

static void no_place(void **unused)
{
	struct mt_patch_range walls[] = {{0x700000000000, 0x700000000000 + 4 * GB}};
	uint64_t low = 0x700000000000 + 2 * GB, at = 0;
	struct mt_err err = {0};

	(void)unused;
	/* below, the first free byte is 2 GB away, above it is 1 GB */
	assert_int_equal(mt_patch_place(&at, walls, 1, low, low + GB, 64, &err), -ENOMEM);
	assert_non_null(strstr(err.text, "within 2 GB of 0x700080000000"));
	walls[0].high -= GB + 0x1000;
	assert_int_equal(mt_patch_place(&at, walls, 1, low, low + GB, 64, &err), 0);
	assert_int_equal(at, low + GB);
	walls[0].low = low - GB + 0x2000;
	walls[0].high = low + 4 * GB;
	assert_int_equal(mt_patch_place(&at, walls, 1, low, low + GB, 0x1000, &err), 0);
	assert_int_equal(at, walls[0].low - 0x1000);
	walls[0].low -= 0x1000;
	assert_int_equal(mt_patch_place(&at, walls, 1, low, low + GB, 0x1000, &err), -ENOMEM);
	assert_int_equal(mt_patch_place(&at, walls, 1, low, low, 64, &err), -EINVAL);
	assert_int_equal(mt_patch_place(&at, walls, 1, low, low + GB, 0, &err), -EINVAL);
	assert_int_equal(mt_patch_place(&at, walls, 1, low, low + GB, UINT64_MAX, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes),
		cmocka_unit_test(short_branches),
		cmocka_unit_test(relative_operands),
		cmocka_unit_test(ends),
		cmocka_unit_test(not_moved),
		cmocka_unit_test(too_short),
		cmocka_unit_test(branches_into),
		cmocka_unit_test(branches_from_elsewhere),
		cmocka_unit_test(pages),
		cmocka_unit_test(reach),
		cmocka_unit_test(followed),
		cmocka_unit_test(others),
		cmocka_unit_test(places),
		cmocka_unit_test(no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
