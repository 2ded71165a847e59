/* What people said about leaks: the file, two writers, damage, undo. And the fingerprints that it
 * is kept by. */
#include "tests/unit/query_fixture.h"

#include "core/query/fingerprint.h"
#include "core/triage/triage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static char *path_of(const char *name)
{
	return mt_format("%s/%s", directory, name);
}

static void put(const char *path, const char *text, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(len, fwrite(text, 1, len, file));
	fclose(file);
}

static char *get(const char *path)
{
	char *text = mt_alloc(1 << 16);
	FILE *file = fopen(path, "r");

	if (file) {
		size_t len = fread(text, 1, (1 << 16) - 1, file);

		text[len] = '\0';
		fclose(file);
	}
	return text;
}

static struct mt_judgement of(uint64_t fingerprint, enum mt_triage_state state, const char *note)
{
	return (struct mt_judgement){fingerprint, state, 1000, 4096, "parse", note};
}

static void say(struct mt_triage *t, uint64_t fingerprint, enum mt_triage_state state,
	const char *note)
{
	struct mt_judgement j = of(fingerprint, state, note);
	struct mt_err err = {0};

	if (mt_triage_change(t, &j, 1, &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_said(const struct mt_triage *t, uint64_t fingerprint, enum mt_triage_state state,
	const char *note)
{
	const struct mt_judgement *j = mt_triage_find(t, fingerprint);

	assert_non_null(j);
	assert_string_equal(mt_triage_state_name(state), mt_triage_state_name(j->state));
	assert_string_equal(note, j->note);
}

static void test_kept(void **state)
{
	char *path = path_of("deep/er/kept");
	struct mt_triage *t = mt_triage_new(path, true), *again;
	struct stat status;
	uint32_t first;

	(void)state;
	assert_int_equal(0, mt_triage_read(t, NULL));
	say(t, 7, MT_TRIAGE_LEAK, "tab\there, \\ and\nline");
	say(t, 0xffffffffffffffffull, MT_TRIAGE_FIXED, "");
	again = mt_triage_new(path, true);
	assert_int_equal(1, mt_triage_read(again, NULL));
	assert_int_equal(0, mt_triage_read(again, NULL));
	assert_int_equal(2, mt_triage_count(again));
	assert_int_equal(0, mt_triage_damaged(again, &first));
	assert_said(again, 7, MT_TRIAGE_LEAK, "tab\there, \\ and\nline");
	assert_string_equal("parse", mt_triage_find(again, 7)->where);
	assert_int_equal(4096, mt_triage_find(again, 7)->leaked_bytes);
	assert_null(mt_triage_find(again, 8));
	assert_int_equal(0, stat(path, &status));
	assert_int_equal(0600, status.st_mode & 0777);
	*strrchr(path, '/') = '\0';
	assert_int_equal(0, stat(path, &status));
	assert_int_equal(0700, status.st_mode & 0777);
	mt_triage_free(t);
	mt_triage_free(again);
	free(path);
}

/* Both began with the same file; neither loses what the other wrote, and who is second about one
 * group wins. */
static void test_two_writers(void **state)
{
	char *path = path_of("two");
	struct mt_triage *a = mt_triage_new(path, false), *b = mt_triage_new(path, false);

	(void)state;
	say(a, 1, MT_TRIAGE_NEW, "first");
	assert_int_equal(1, mt_triage_read(b, NULL));
	say(a, 2, MT_TRIAGE_LEAK, "by a");
	say(b, 3, MT_TRIAGE_FIXED, "by b");
	say(b, 1, MT_TRIAGE_LEAK, "second");
	assert_said(b, 2, MT_TRIAGE_LEAK, "by a");
	assert_int_equal(1, mt_triage_read(a, NULL));
	assert_said(a, 3, MT_TRIAGE_FIXED, "by b");
	assert_said(a, 1, MT_TRIAGE_LEAK, "second");
	say(a, 3, MT_TRIAGE_NEW, "");
	assert_int_equal(1, mt_triage_read(b, NULL));
	assert_null(mt_triage_find(b, 3));
	assert_int_equal(2, mt_triage_count(b));
	mt_triage_free(a);
	mt_triage_free(b);
	free(path);
}

static void test_damaged(void **state)
{
	static const char text[] =
		"# mine\n0000000000000001\tleak\t5\t6\tf\tn\n"
		"0000000000000002\tbroken\t5\t6\tf\tn\n\n0000000000000003\tleak\t5\t6\tf\n"
		"0000000000000004\tleak\tx\t6\tf\tn\nzero\0byte\n"
		"0000000000000005\tleak\t1\t2\tf\tn\tmore\n"
		"0000000000000006\tleak\t1\t2\tf\tbad\\x\n0000000000000007\tfixed\t1\t2\t\tno end";
	char *path = path_of("damaged"), *after;
	struct mt_triage *t = mt_triage_new(path, false);
	uint32_t first;

	(void)state;
	put(path, text, sizeof text - 1);
	assert_int_equal(1, mt_triage_read(t, NULL));
	assert_int_equal(2, mt_triage_count(t));
	assert_int_equal(6, mt_triage_damaged(t, &first));
	assert_int_equal(3, first);
	say(t, 1, MT_TRIAGE_INVESTIGATING, "");
	after = get(path);
	assert_non_null(strstr(after,
		"# mine\n0000000000000001\tinvestigating\t1000\t4096\tparse\t\n"
		"0000000000000002\tbroken\t5"));
	assert_non_null(strstr(after, "\n\n0000000000000003\tleak\t5\t6\tf\n"));
	assert_int_equal(0, memcmp(strstr(after, "zero"), "zero\0byte\n", 10));
	assert_int_equal(2, mt_triage_count(t));
	assert_said(t, 7, MT_TRIAGE_FIXED, "no end");
	mt_triage_free(t);
	free(after);
	free(path);
}

static void test_undo(void **state)
{
	char *path = path_of("undo");
	struct mt_triage *t = mt_triage_new(path, false), *other;
	struct mt_judgement both[] = {of(1, MT_TRIAGE_LEAK, "x"), of(2, MT_TRIAGE_LEAK, "")};
	uint32_t groups;

	(void)state;
	say(t, 2, MT_TRIAGE_INVESTIGATING, "old");
	assert_int_equal(0, mt_triage_change(t, both, 2, NULL));
	say(t, 2, MT_TRIAGE_NEW, "");
	assert_null(mt_triage_find(t, 2));
	assert_int_equal(0, mt_triage_undo(t, &groups, NULL));
	assert_int_equal(1, groups);
	assert_said(t, 2, MT_TRIAGE_LEAK, "");
	assert_int_equal(0, mt_triage_undo(t, &groups, NULL));
	assert_int_equal(2, groups);
	assert_null(mt_triage_find(t, 1));
	assert_said(t, 2, MT_TRIAGE_INVESTIGATING, "old");
	other = mt_triage_new(path, false);
	mt_triage_read(other, NULL);
	assert_said(other, 2, MT_TRIAGE_INVESTIGATING, "old");
	assert_int_equal(0, mt_triage_undo(t, &groups, NULL));
	assert_int_equal(0, mt_triage_undo(t, &groups, NULL));
	assert_int_equal(0, groups);
	assert_int_equal(0, mt_triage_count(t));
	mt_triage_free(t);
	mt_triage_free(other);
	free(path);
}

/* What cannot be written is known all the same, said once, and written when it can be. */
static void test_not_saved(void **state)
{
	char *file = path_of("a-file"), *path = path_of("a-file/memtui/prog");
	struct mt_triage *t = mt_triage_new(path, true);
	struct mt_judgement j = of(1, MT_TRIAGE_LEAK, "kept");
	struct mt_err err = {0};

	(void)state;
	put(file, "x", 1);
	assert_true(mt_triage_change(t, &j, 1, &err) < 0);
	assert_non_null(strstr(err.text, file));
	assert_said(t, 1, MT_TRIAGE_LEAK, "kept");
	assert_int_equal(1, mt_triage_unsaved(t));
	unlink(file);
	assert_int_equal(0, mt_triage_save(t, &err));
	assert_int_equal(0, mt_triage_unsaved(t));
	assert_said(t, 1, MT_TRIAGE_LEAK, "kept");
	mt_triage_free(t);
	t = mt_triage_new(path, true);
	assert_int_equal(1, mt_triage_read(t, NULL));
	assert_said(t, 1, MT_TRIAGE_LEAK, "kept");
	mt_triage_free(t);
	free(file);
	free(path);
}

/* Another's directory is not written to; a device, a directory or a huge file is not read. */
static void test_refused(void **state)
{
	char *path = path_of("huge"), *made = path_of("linked/prog"), *link = path_of("linked");
	struct mt_judgement j = of(1, MT_TRIAGE_LEAK, "");
	struct mt_triage *t = mt_triage_new(path, false);
	struct mt_err err = {0};

	(void)state;
	put(path, "", 0);
	assert_int_equal(0, truncate(path, 9 << 20));
	assert_int_equal(-EFBIG, mt_triage_read(t, &err));
	assert_int_equal(-EFBIG, mt_triage_change(t, &j, 1, &err));
	mt_triage_free(t);
	t = mt_triage_new("/dev/zero", false);
	assert_int_equal(-EINVAL, mt_triage_read(t, &err));
	mt_triage_free(t);
	assert_int_equal(0, symlink(directory, link));
	t = mt_triage_new(made, true);
	assert_int_equal(-EPERM, mt_triage_change(t, &j, 1, &err));
	mt_triage_free(t);
	free(path);
	free(made);
	free(link);
}

static void test_locked(void **state)
{
	char *path = path_of("locked");
	struct mt_triage *t = mt_triage_new(path, false);
	struct mt_judgement j = of(2, MT_TRIAGE_LEAK, "");
	struct mt_err err = {0};
	int fd;

	(void)state;
	say(t, 1, MT_TRIAGE_LEAK, "");
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(0, flock(fd, LOCK_EX));
	assert_int_equal(-EBUSY, mt_triage_change(t, &j, 1, &err));
	assert_int_equal(1, mt_triage_unsaved(t));
	close(fd);
	say(t, 3, MT_TRIAGE_LEAK, "");
	assert_int_equal(0, mt_triage_unsaved(t));
	assert_int_equal(3, mt_triage_count(t));
	mt_triage_free(t);
	free(path);
}

static void test_nowhere(void **state)
{
	struct mt_triage *t = mt_triage_new(NULL, false);

	(void)state;
	say(t, 1, MT_TRIAGE_LEAK, "");
	assert_said(t, 1, MT_TRIAGE_LEAK, "");
	assert_int_equal(0, mt_triage_unsaved(t));
	mt_triage_free(t);
}

static void test_came_back(void **state)
{
	struct mt_judgement j = of(1, MT_TRIAGE_FIXED, "");
	uint64_t before = 999ull * 1000000000, after = 1001ull * 1000000000;

	(void)state;
	assert_false(mt_judgement_came_back(&j, before, 1, false));
	assert_false(mt_judgement_came_back(&j, after, 0, false));
	assert_true(mt_judgement_came_back(&j, after, 1, false));
	assert_false(mt_judgement_came_back(&j, after, 4095, true));
	assert_true(mt_judgement_came_back(&j, after, 4096, true));
	j.state = MT_TRIAGE_LEAK;
	assert_false(mt_judgement_came_back(&j, after, 1, false));
}

static void test_path(void **state)
{
	char *path;

	(void)state;
	setenv("XDG_STATE_HOME", "/state", 1);
	path = mt_triage_path("/usr/bin/server");
	assert_string_equal("/state/memtui/triage/server", path);
	free(path);
	setenv("XDG_STATE_HOME", "relative", 1);
	setenv("HOME", "/home/me", 1);
	path = mt_triage_path("..");
	assert_string_equal("/home/me/.local/state/memtui/triage/_.", path);
	free(path);
}

/* ---- fingerprints ---- */

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{"f", "f"},
		{"f.part.0", "f"},
		{"f.constprop.1.isra.22", "f"},
		{"f.cold", "f"},
		{"a::f(int) [clone .part.0]", "a::f(int)"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"f.lto_priv.3", "f"},
		{"v1.2", "v1.2"},
		{".part.0", ".part.0"},
		{"f.partly.0", "f.partly.0"},
		{"", ""},
		{"@", "@"},
		{"f.llvm.123456", "f"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_int_equal(strlen(names[i][1]), mt_fingerprint_name(names[i][0]));
}

static uint64_t fingerprint(struct fixture *f, uint32_t group)
{
	struct mt_fingerprints prints = {0};
	uint64_t value;

	mt_fingerprints_update(&prints, &f->profile, &f->symbols);
	value = mt_fingerprints_get(&prints, &f->profile, group);
	mt_fingerprints_free(&prints);
	return value;
}

/* The same program twice: elsewhere, with other lines, another libc, a function inlined, another
 * cut into parts. */
static void test_rebuilt(void **state)
{
	struct fixture a, b;

	(void)state;
	fixture_init(&a);
	fixture_init(&b);
	uint32_t prog = fixture_module(&a, "/usr/bin/prog", 0x1000);
	uint32_t libc = fixture_module(&a, "/lib/libc.so.6", 0x90000);
	uint32_t start = fixture_pc(&a, prog, "_start", "", 0);
	uint32_t call = fixture_bare_pc(&a, libc, 0x90123);
	uint32_t main_pc = fixture_pc(&a, prog, "main", "m.c", 5);
	uint32_t parse = fixture_pc(&a, prog, "parse", "p.c", 9);
	uint32_t node = fixture_pc(&a, prog, "node", "p.c", 20);
	uint32_t dup = fixture_pc(&a, libc, "strdup", "", 0);
	uint32_t one = fixture_group(&a, STACK(start, call, main_pc, parse, node), 1, 1, 1);
	uint32_t two = fixture_group(&a, STACK(start, call, main_pc, node, dup), 1, 1, 1);

	libc = fixture_module(&b, "/lib64/libc-2.31.so", 0x70000);
	prog = fixture_module(&b, "/opt/prog", 0x555000);
	dup = fixture_pc(&b, libc, "strdup@@GLIBC_2.2.5", "", 0);
	node = fixture_pc(&b, prog, "node.part.0", "/build/p.c", 31);
	parse = fixture_bare_pc(&b, prog, 0x555800);
	fixture_frame(&b, parse, "parse", "/build/p.c", 11, true);
	fixture_frame(&b, parse, "main", "/build/m.c", 6, false);
	main_pc = fixture_pc(&b, prog, "main", "m.c", 7);
	start = fixture_pc(&b, libc, "__libc_start_main", "", 0);
	uint32_t two_b = fixture_group(&b, STACK(start, main_pc, node, dup), 1, 1, 1);
	uint32_t one_b = fixture_group(&b, STACK(start, parse, node), 1, 1, 1);

	assert_true(fingerprint(&a, one) == fingerprint(&b, one_b));
	assert_true(fingerprint(&a, two) == fingerprint(&b, two_b));
	assert_true(fingerprint(&a, one) != fingerprint(&a, two));
	fixture_free(&a);
	fixture_free(&b);
}

/* Names that come later change it, and only where they come. */
static void test_names_come(void **state)
{
	struct fixture f;
	struct mt_fingerprints prints = {0};

	(void)state;
	fixture_init(&f);
	uint32_t prog = fixture_module(&f, "/usr/bin/prog", 0x1000);
	uint32_t main_pc = fixture_pc(&f, prog, "main", "m.c", 5);
	uint32_t bare = fixture_bare_pc(&f, prog, 0x1500);
	uint32_t other = fixture_bare_pc(&f, prog, 0x1600);
	uint32_t named = fixture_group(&f, STACK(main_pc), 1, 1, 1);
	uint32_t group = fixture_group(&f, STACK(main_pc, bare), 1, 1, 1);
	uint32_t third = fixture_group(&f, STACK(main_pc, other), 1, 1, 1);
	uint32_t below = fixture_group(&f, STACK(bare, main_pc), 1, 1, 1);

	mt_fingerprints_update(&prints, &f.profile, &f.symbols);
	uint64_t before = mt_fingerprints_get(&prints, &f.profile, group);
	uint64_t stays = mt_fingerprints_get(&prints, &f.profile, named);

	assert_true(mt_fingerprints_open(&prints, &f.profile, group));
	assert_false(mt_fingerprints_open(&prints, &f.profile, named));
	assert_true(before != mt_fingerprints_get(&prints, &f.profile, third));
	fixture_frame(&f, bare, "late", "l.c", 1, false);
	mt_fingerprints_update(&prints, &f.profile, &f.symbols);
	assert_false(mt_fingerprints_open(&prints, &f.profile, group));
	assert_true(before != mt_fingerprints_get(&prints, &f.profile, group));
	assert_true(stays == mt_fingerprints_get(&prints, &f.profile, named));
	/* What is brought up to date is as if it were made now. */
	for (uint32_t g = 0; g <= below; g++)
		assert_true(fingerprint(&f, g) == mt_fingerprints_get(&prints, &f.profile, g));
	mt_fingerprints_free(&prints);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_undo),
		cmocka_unit_test(test_not_saved),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_came_back),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_rebuilt),
		cmocka_unit_test(test_names_come),
	};
	char clean[96];

	strcpy(directory, "/tmp/memtui-triage-XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	snprintf(clean, sizeof clean, "rm -rf '%s'", directory);
	return system(clean) != 0 || failed != 0;
}
