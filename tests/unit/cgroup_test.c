/* What the files of control groups say, of both versions. */
#include "core/base/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[64];

static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", top, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* top is the mount, top/a/b the group. */
static struct mt_cgroup group(bool v1)
{
	struct mt_cgroup g = {.v1 = v1};

	snprintf(g.mount, sizeof g.mount, "%s", top);
	snprintf(g.path, sizeof g.path, "%s/a/b", top);
	return g;
}

static int make(void **unused)
{
	char path[80];

	(void)unused;
	strcpy(top, "/tmp/cgroup_test.XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof path, "%s/a", top);
	mkdir(path, 0700);
	strcat(path, "/b");
	return mkdir(path, 0700);
}

static int drop(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof command, "rm -rf %s", top);
	return system(command);
}

static void reads_version_2(void **unused)
{
	struct mt_cgroup g = group(false);
	uint64_t kills = 0;

	(void)unused;
	assert_false(mt_cgroup_oom_kills(&g, &kills));
	assert_int_equal(mt_cgroup_limit(&g), 0);
	put("a/b/memory.events", "low 0\nhigh 5\nmax 7\noom 3\noom_kill 2\noom_group_kill 9\n");
	assert_true(mt_cgroup_oom_kills(&g, &kills));
	assert_int_equal(kills, 2);
	put("a/b/memory.max", "max\n");
	assert_int_equal(mt_cgroup_limit(&g), 0);
	put("a/memory.max", "2147483648\n"); /* the one around it is the limit */
	assert_int_equal(mt_cgroup_limit(&g), 2147483648);
	put("a/b/memory.max", "1048576\n");
	assert_int_equal(mt_cgroup_limit(&g), 1048576);
}

static void reads_version_1(void **unused)
{
	struct mt_cgroup g = group(true);
	uint64_t kills = 0;

	(void)unused;
	put("a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	assert_true(mt_cgroup_oom_kills(&g, &kills));
	assert_int_equal(kills, 4);
	put("a/b/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(mt_cgroup_limit(&g), 0);
	put("a/b/memory.limit_in_bytes", "4096\n");
	assert_int_equal(mt_cgroup_limit(&g), 4096);
}

static void knows_nothing_of_none(void **unused)
{
	struct mt_cgroup g = {.path = ""};
	uint64_t kills;

	(void)unused;
	assert_int_equal(mt_cgroup_limit(&g), 0);
	assert_false(mt_cgroup_oom_kills(&g, &kills));
	mt_cgroup_of(&g, -1);
	assert_string_equal(g.path, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_version_2, make, drop),
		cmocka_unit_test_setup_teardown(reads_version_1, make, drop),
		cmocka_unit_test(knows_nothing_of_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
