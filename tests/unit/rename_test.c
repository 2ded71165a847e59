/* Names for finished files, on file systems that know links, or renaming without replacing, or
 * neither. */
#include "core/base/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

/* What the file system says in place of doing it; 0: it does it. */
static int no_renameat2, no_links;

/* In place of the library's. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	if (no_renameat2) {
		errno = no_renameat2;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int link(const char *from, const char *to)
{
	if (no_links) {
		errno = no_links;
		return -1;
	}
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static const struct {
	int no_renameat2, no_links;
} systems[] = {{0, 0}, {EINVAL, 0}, {ENOSYS, 0}, {EINVAL, EPERM}, {ENOSYS, EOPNOTSUPP},
	{EOPNOTSUPP, ENOSYS}, {EPERM, EMLINK}};

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool holds(const char *name, const char *text)
{
	char line[16] = "";
	FILE *file = fopen(name, "r");

	if (!file)
		return false;
	bool same = !strcmp(fgets(line, sizeof line, file) ? line : "", text);

	fclose(file);
	return same;
}

static bool exists(const char *name)
{
	struct stat status;

	return lstat(name, &status) == 0;
}

static int setup(void **state)
{
	static char directory[] = "/tmp/memtui-rename-XXXXXX";

	*state = directory;
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1;
}

/* All of it, on each kind of file system. */
static void on_each(void (*test)(void))
{
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
		no_renameat2 = systems[i].no_renameat2;
		no_links = systems[i].no_links;
		test();
	}
}

static void gets_name(void)
{
	write_file("from", "new");
	assert_int_equal(mt_rename_new("from", "to"), 0);
	assert_true(holds("to", "new"));
	assert_false(exists("from"));
	unlink("to");
}

static void test_name_is_free(void **state)
{
	(void)state;
	on_each(gets_name);
}

static void is_refused(void)
{
	write_file("from", "new");
	write_file("to", "old");
	assert_int_equal(mt_rename_new("from", "to"), -EEXIST);
	assert_true(holds("to", "old"));
	assert_true(holds("from", "new"));
	unlink("to");
	assert_int_equal(symlink("nowhere", "to"), 0);
	assert_int_equal(mt_rename_new("from", "to"), -EEXIST);
	assert_true(exists("to"));
	assert_false(exists("nowhere"));
	unlink("from");
	unlink("to");
}

static void test_name_is_taken(void **state)
{
	(void)state;
	on_each(is_refused);
}

static void leaves_nothing(void)
{
	assert_int_equal(mt_rename_new("missing", "to"), -ENOENT);
	assert_false(exists("to"));
	write_file("from", "new");
	assert_int_equal(mt_rename_new("from", "missing/to"), -ENOENT);
	assert_true(holds("from", "new"));
	unlink("from");
}

static void test_failed(void **state)
{
	(void)state;
	on_each(leaves_nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_is_free),
		cmocka_unit_test(test_name_is_taken),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
