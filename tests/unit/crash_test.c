/* libdw crashes on a file: its names are lost, those of others are not, and nobody waits. */
#include "core/symbol/internal.h"
#include "symbol_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define HANG_S 120

enum { BY_ADDRESS, BY_STACK, BY_ASSERTION, KINDS };
static const char *const signals[KINDS] = {"SIGSEGV", "SIGSEGV", "SIGABRT"};
static int kind;
static int *volatile nowhere = (int *)64; /* nothing is mapped there */
static volatile bool for_ever = true;

static int overflow(volatile char *outer)
{
	volatile char room[4096];

	room[0] = *outer;
	return for_ever ? overflow(room) + room[0] : 0;
}

/* In place of libdw's, which crashes in the unit of bad.c. */
Dwarf_Line *dwarf_getsrc_die(Dwarf_Die *die, Dwarf_Addr address)
{
	Dwarf_Line *(*real)(Dwarf_Die *, Dwarf_Addr) = dlsym(RTLD_NEXT, "dwarf_getsrc_die");
	const char *name = dwarf_diename(die);
	volatile char c = 0;

	if (!name || !strstr(name, "bad.c"))
		return real(die, address);
	if (kind == BY_ADDRESS)
		*nowhere = 1;
	else if (kind == BY_STACK)
		overflow(&c);
	abort();
}

static void make(struct fixture *f)
{
	static const char *const names[] = {"good", "bad", "fine"};

	fixture_new(f);
	for (uint32_t i = 0; i < 3; i++) {
		run("echo 'int %s(int x) { return x * 3; }' >%s.c", names[i], at("%s", names[i]));
		run("cd %s && gcc -g -shared -fPIC -o %s %s.c", work, names[i], names[i]);
		add_module(&f->profile, at("%s", names[i]), NULL, 0);
		add_pc(&f->profile, symbol_address(at("%s", names[i]), names[i]) + 5 + BIAS, i);
	}
}

static void check_names(const struct fixture *f)
{
	assert_string_equal(function_of(f, 0, 0), "good");
	assert_string_equal(function_of(f, 2, 0), "fine");
	assert_true(frame_of(f, 0, 0)->line > 0 && frame_of(f, 2, 0)->line > 0);
	if (strncmp(function_of(f, 1, 0), "bad+0x", 6))
		fail_msg("the damaged file has the name %s", function_of(f, 1, 0));
}

static void test_lookup(void **state)
{
	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		struct mt_lookup lookup = {.resolver = mt_resolver_new(NULL), .looks = 100};
		struct mt_err err = {0};
		struct fixture f;

		make(&f);
		alarm(HANG_S);
		assert_int_equal(mt_lookup(&lookup, &f.profile, &f.symbols, &err), -EFAULT);
		alarm(0);
		if (!strstr(err.text, at("bad")) || !strstr(err.text, signals[kind]))
			fail_msg("this does not say which file crashed how: %s", err.text);
		check_names(&f);
		fixture_free(&f);
	}
}

/* Of the screen: what comes after the damaged file has no names, but nobody waits for them. */
static void test_symbolizer(void **state)
{
	struct mt_symbolizer *s = mt_symbolizer_new(NULL);
	struct fixture f;
	char *missing;

	(void)state;
	kind = BY_ADDRESS;
	make(&f);
	alarm(HANG_S);
	mt_symbolizer_feed(s, &f.profile);
	mt_symbolizer_wait(s);
	assert_true(mt_symbolizer_collect(s, &f.symbols));
	for (uint32_t i = 0; i < 3; i++)
		assert_true(*function_of(&f, i, 0));
	missing = mt_symbolizer_missing(s);
	assert_non_null(missing);
	assert_non_null(strstr(missing, at("bad")));
	free(missing);
	mt_symbolizer_free(s);
	alarm(0);
	fixture_free(&f);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(work, sizeof work, "/tmp/memtui-crash-XXXXXX");
	return mkdtemp(work) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	run("rm -rf %s", work);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_symbolizer),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
