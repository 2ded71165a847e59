/* Names of pcs: programs are compiled here, and what the resolver says of many of their addresses
 * is compared with what nm and addr2line say. Runs in the repository's root. */
#include "tests/unit/symbol_fixture.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- addr2line ---- */

/* The function's own name: without return type, scopes, template arguments and parameters. */
static void own_name(const char *name, char *out)
{
	unsigned depth = 0;
	char *begin = out;

	for (; *name; name++) {
		if (strchr("<([{", *name))
			depth++;
		else if (strchr(">)]}", *name) && depth)
			depth--;
		else if (depth)
			continue;
		else if (*name == ':'
			|| (*name == ' ' && !strchr("[(", name[1])
				&& strncmp(name + 1, "const", 5)))
			out = begin;
		else if (*name != ' ') /* before [clone] */
			*out++ = *name;
	}
	*out = 0;
}

/* Static functions of C++ have no linkage name in the debug information: here they are named by
 * scopes without parameters, by addr2line now without scopes, now by the symbol. So their own names
 * are compared. */
static bool same_name(const char *a, const char *b)
{
	char x[4096], y[4096];

	if (strstr(a, b) || strstr(b, a) || (strstr(a, "operator") && strstr(b, "operator")))
		return true;
	own_name(a, x);
	own_name(b, y);
	return !strcmp(x, y);
}

struct agreement {
	unsigned frames, lines, names, total;
};

static void compare_pc(const struct fixture *f, uint32_t i, char expected[][2][4096],
	unsigned count, struct agreement *all)
{
	bool lines = true, names = true;

	all->total++;
	if (f->symbols.pcs[MT_PC_FIRST + i].count != count) {
		if (getenv("SYMBOL_TEST_VERBOSE"))
			printf("%#lx: %u frames, addr2line %u\n", (long)f->addresses[i],
				f->symbols.pcs[MT_PC_FIRST + i].count, count);
		return;
	}
	all->frames++;
	for (unsigned k = 0; k < count; k++) {
		const struct mt_frame *x = frame_of(f, i, k);
		char *colon = strrchr(expected[k][1], ':');
		unsigned line = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
		char source[4096];

		snprintf(source, sizeof source, "%.*s", colon ? (int)(colon - expected[k][1]) : 0,
			expected[k][1]);
		if (line != x->line
			|| (line
				&& strcmp(base(source),
					base(mt_strings_get(&f->symbols.strings, x->source)))))
			lines = false;
		if (!same_name(expected[k][0], function_of(f, i, k)))
			names = false;
		if (getenv("SYMBOL_TEST_VERBOSE") && (!lines || !names))
			printf("%#lx.%u: %s %s:%u, addr2line %s %s\n", (long)f->addresses[i], k,
				function_of(f, i, k),
				base(mt_strings_get(&f->symbols.strings, x->source)), x->line,
				expected[k][0], expected[k][1]);
	}
	all->lines += lines;
	all->names += names;
}

static struct agreement compare(const struct fixture *f, const char *binary, const char *tool)
{
	static char expected[64][2][4096];
	struct agreement all = {0};
	char command[1024], line[4096];
	FILE *in = fopen(at("addresses"), "w"), *out;
	uint32_t i = UINT32_MAX;
	unsigned row = 0;

	for (uint32_t k = 0; k < f->count; k++)
		fprintf(in, "%#lx\n", (long)f->addresses[k]);
	fclose(in);
	snprintf(command, sizeof command, "%s -a -f -i -C -e %s < %s", tool, binary,
		at("addresses"));
	out = popen(command, "r");
	while (fgets(line, sizeof line, out)) {
		char *end = strstr(line, " (discriminator");

		line[strcspn(line, "\n")] = 0;
		if (end)
			*end = 0;
		if (!strncmp(line, "0x", 2)) {
			if (i != UINT32_MAX)
				compare_pc(f, i, expected, row / 2, &all);
			i = i == UINT32_MAX ? 0 : i + 1;
			row = 0;
		} else if (row < 128) {
			snprintf(expected[row / 2][row % 2], 4096, "%s", line);
			row++;
		}
	}
	if (i != UINT32_MAX)
		compare_pc(f, i, expected, row / 2, &all);
	pclose(out);
	assert_int_equal(all.total, f->count);
	return all;
}

static void check_against(const char *tool, const char *binary, unsigned step, uint32_t max)
{
	struct fixture f;
	struct agreement a;
	double begin = seconds();

	fixture_new(&f);
	add_module(&f.profile, binary, NULL, 0);
	sample(&f, binary, step, max);
	resolve(&f, NULL, NULL);
	double end = seconds();
	a = compare(&f, binary, tool);
	printf("%s: %u addresses, %.3f s; as %s: %u frames, %u lines, %u names\n", base(binary),
		a.total, end - begin, tool, a.frames, a.lines, a.names);
	assert_true(a.frames >= a.total * 97 / 100);
	assert_true(a.lines >= a.total * 95 / 100);
	assert_true(a.names >= a.total * 97 / 100);
	fixture_free(&f);
}

/* ---- tests ---- */

static int set_up(void **state)
{
	(void)state;
	snprintf(work, sizeof work, "/tmp/symbol_test_XXXXXX");
	if (!mkdtemp(work))
		return -1;
	run("gcc -O2 -g -o %s tests/programs/symbols_c.c", at("c"));
	run("gcc -O2 -g -gdwarf-4 -o %s tests/programs/symbols_c.c", at("c4"));
	run("g++ -O2 -g -o %s tests/programs/symbols_cc.cc", at("cc"));
	run("cd %s && g++ -O2 -g -gsplit-dwarf -o split \"$OLDPWD\"/tests/programs/symbols_cc.cc",
		work);
	run("cd %s && objcopy --only-keep-debug c c.debug && objcopy --strip-all "
	    "--add-gnu-debuglink=c.debug c linked",
		work);
	run("cd %s && strip -o stripped c && objcopy --strip-debug c symbols", work);
	run("gcc -O2 -g -Wl,--build-id=0x1122334455667788 -o %s tests/programs/symbols_c.c",
		at("other"));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	run("rm -rf %s", work);
	return 0;
}

static void test_addr2line(void **state)
{
	(void)state;
	check_against("addr2line", at("c"), 1, 5000);
	check_against("addr2line", at("c4"), 1, 5000);
	check_against("addr2line", at("cc"), 3, 20000);
}

static void test_clang(void **state)
{
	(void)state;
	if (system("clang --version > /dev/null 2>&1"))
		skip();
	run("clang++ -O2 -g -gdwarf-4 -o %s tests/programs/symbols_cc.cc", at("clang4"));
	check_against("addr2line", at("clang4"), 3, 20000);
	/* addr2line 2.40 fails at these */
	if (!system("llvm-symbolizer --version > /dev/null 2>&1")) {
		run("clang++ -O2 -g -gdwarf-5 -o %s tests/programs/symbols_cc.cc", at("clang5"));
		check_against("llvm-symbolizer --output-style=GNU", at("clang5"), 3, 20000);
		check_against("llvm-symbolizer --output-style=GNU", at("cc"), 3, 20000);
		check_against("llvm-symbolizer --output-style=GNU", at("split"), 3, 20000);
	}
}

/* The first address of outer_function's inlined code has three frames, with the lines of the
 * calls. */
static void check_inline(const char *symbols, const char *binary,
	const struct mt_resolver_options *options)
{
	struct fixture f;
	uint64_t low = symbol_address(symbols, "outer_function");
	bool found = false;

	fixture_new(&f);
	add_module(&f.profile, binary, NULL, 0);
	for (uint64_t a = low; a < low + 40; a++)
		add_address(&f, a);
	resolve(&f, options, NULL);
	for (uint32_t i = 0; i < f.count; i++) {
		if (strcmp(function_of(&f, i, 0), "innermost"))
			continue;
		found = true;
		assert_string_equal(function_of(&f, i, 1), "middle");
		assert_string_equal(function_of(&f, i, 2), "outer_function");
		assert_null(frame_of(&f, i, 3));
		assert_int_equal(frame_of(&f, i, 1)->line, 16);
		assert_int_equal(frame_of(&f, i, 2)->line, 21);
		assert_int_equal(frame_of(&f, i, 0)->inlined, 1);
		assert_int_equal(frame_of(&f, i, 1)->inlined, 1);
		assert_int_equal(frame_of(&f, i, 2)->inlined, 0);
		assert_string_equal(base(mt_strings_get(&f.symbols.strings,
					    frame_of(&f, i, 2)->source)),
			"symbols_c.c");
	}
	assert_true(found);
	fixture_free(&f);
}

static void test_inline(void **state)
{
	(void)state;
	check_inline(at("c"), at("c"), NULL);
	check_inline(at("c"), at("linked"), NULL);
	check_inline(at("c"), at("c"),
		&(struct mt_resolver_options){.root_pid = (uint32_t)getpid()});
	/* no build-id: the checksum decides */
	run("gcc -O2 -g -Wl,--build-id=none -o %s tests/programs/symbols_c.c && cd %s && objcopy "
	    "--only-keep-debug plain plain.debug && objcopy --strip-all "
	    "--add-gnu-debuglink=plain.debug plain checked",
		at("plain"), work);
	check_inline(at("plain"), at("checked"), NULL);
}

static void test_debug_path(void **state)
{
	struct mt_resolver_options options = {0};

	(void)state;
	run("cd %s && mkdir -p there elsewhere && cp linked there && cp c.debug elsewhere/c.debug",
		work);
	char path[512];

	snprintf(path, sizeof path, "%s", at("elsewhere"));
	options.debug_paths = path;
	check_inline(at("c"), at("there/linked"), &options);
	/* by build-id alone; the module's own file is gone */
	run("cd %s && id=$(readelf -n c | sed -n 's/.*Build ID: //p') && mkdir -p "
	    "ids/.build-id/${id%%\"${id#??}\"} && cp c.debug "
	    "ids/.build-id/${id%%\"${id#??}\"}/${id#??}.debug && strip -o there/bare c",
		work);
	snprintf(path, sizeof path, "%s", at("ids"));
	check_inline(at("c"), at("there/bare"), &options);
}

static void test_sysroot(void **state)
{
	struct mt_resolver_options options = {0};
	char root[512];

	(void)state;
	snprintf(root, sizeof root, "%s", at("root/"));
	options.sysroot = root;
	run("mkdir -p %s && cp %s %s", at("root/nowhere"), at("c"), at("root/nowhere/program"));
	check_inline(at("c"), "/nowhere/program", &options);
}

static void test_minidebuginfo(void **state)
{
	struct fixture f;

	(void)state;
	if (system("xz --version > /dev/null 2>&1"))
		skip();
	run("cd %s && objcopy -S --remove-section .gdb_index c.debug mini 2>/dev/null; objcopy "
	    "--strip-debug c.debug mini && xz -kf mini && objcopy --add-section "
	    ".gnu_debugdata=mini.xz stripped withmini",
		work);
	fixture_new(&f);
	add_module(&f.profile, at("withmini"), NULL, 0);
	add_address(&f, symbol_address(at("c"), "static_function") + 2);
	resolve(&f, NULL, NULL);
	assert_string_equal(function_of(&f, 0, 0), "static_function");
	fixture_free(&f);
}

static void test_without_debug_information(void **state)
{
	struct fixture f;
	char *missing, want[64];
	uint64_t address = symbol_address(at("c"), "static_function") + 2;

	(void)state;
	fixture_new(&f);
	add_module(&f.profile, at("symbols"), NULL, 0);
	add_address(&f, address);
	resolve(&f, NULL, &missing);
	assert_string_equal(function_of(&f, 0, 0), "static_function");
	assert_int_equal(frame_of(&f, 0, 0)->source, 0);
	assert_non_null(strstr(missing, "1 file has no debug information"));
	free(missing);
	fixture_free(&f);

	fixture_new(&f);
	add_module(&f.profile, at("stripped"), NULL, 0);
	add_address(&f, address);
	add_pc(&f.profile, 0x1234, MT_NO_MODULE);
	add_module(&f.profile, "[vdso]", NULL, 0);
	add_pc(&f.profile, BIAS + 0x10, 1);
	resolve(&f, NULL, NULL);
	snprintf(want, sizeof want, "stripped+%#lx", (long)address);
	assert_string_equal(function_of(&f, 0, 0), want);
	assert_string_equal(function_of(&f, 1, 0), "0x1234");
	assert_string_equal(function_of(&f, 2, 0), "[vdso]+0x10");
	fixture_free(&f);
}

static void test_build_id(void **state)
{
	static const uint8_t right[] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
	static const uint8_t wrong[] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x89};
	struct fixture f;
	char *missing;

	(void)state;
	for (int ok = 0; ok < 2; ok++) {
		fixture_new(&f);
		add_module(&f.profile, at("other"), ok ? right : wrong, sizeof right);
		add_address(&f, symbol_address(at("other"), "static_function") + 2);
		resolve(&f, NULL, &missing);
		if (ok) {
			assert_string_equal(function_of(&f, 0, 0), "static_function");
			assert_null(missing);
		} else {
			assert_int_equal(strncmp(function_of(&f, 0, 0), "other+0x", 8), 0);
			assert_non_null(strstr(missing, "build-id"));
		}
		free(missing);
		fixture_free(&f);
	}
}

/* The file's checksum is of another file: not used. */
static void test_wrong_debug_file(void **state)
{
	struct fixture f;

	(void)state;
	run("cd %s && mkdir -p wrong && cp checked wrong && cp "
	    "plain.debug wrong && printf x >> wrong/plain.debug",
		work);
	fixture_new(&f);
	add_module(&f.profile, at("wrong/checked"), NULL, 0);
	add_address(&f, symbol_address(at("plain"), "outer_function") + 4);
	resolve(&f, NULL, NULL);
	assert_int_equal(strncmp(function_of(&f, 0, 0), "checked+0x", 10), 0);
	fixture_free(&f);
}

static void test_file_written_over(void **state)
{
	struct fixture f;
	struct mt_resolver *r = mt_resolver_new(NULL);

	(void)state;
	run("cp %s %s", at("c"), at("changing"));
	fixture_new(&f);
	add_module(&f.profile, at("changing"), NULL, 0);
	add_address(&f, symbol_address(at("c"), "outer_function") + 4);
	mt_resolver_pc(r, &f.profile, MT_PC_FIRST, &f.symbols);
	assert_non_null(frame_of(&f, 0, 0));
	assert_null(mt_resolver_missing(r));
	run("printf x > %s", at("changing"));
	mt_resolver_pc(r, &f.profile, MT_PC_FIRST, &f.symbols);
	assert_int_equal(strncmp(function_of(&f, 0, 0), "changing+0x", 11), 0);
	assert_non_null(strstr(mt_resolver_missing(r), "overwritten"));
	mt_resolver_free(r);

	r = mt_resolver_new(NULL); /* removed after it was opened: of no matter */
	run("rm %s && cp %s %s", at("changing"), at("c"), at("changing"));
	mt_resolver_module(r, &f.profile, 0);
	run("rm %s", at("changing"));
	mt_resolver_pc(r, &f.profile, MT_PC_FIRST, &f.symbols);
	assert_true(frame_of(&f, 0, 0)->line > 0);
	mt_resolver_free(r);
	fixture_free(&f);
}

static void test_split_missing(void **state)
{
	struct fixture f;
	char *missing;

	(void)state;
	run("mkdir -p %s && from=$PWD && cd %s && g++ -O2 -g -gsplit-dwarf -o lone "
	    "$from/tests/programs/symbols_cc.cc && rm -f *.dwo",
		at("lone"), at("lone"));
	fixture_new(&f);
	add_module(&f.profile, at("lone/lone"), NULL, 0);
	add_address(&f, symbol_address(at("lone/lone"), "_ZN5space5thing6methodERKi") + 9);
	resolve(&f, NULL, &missing);
	assert_string_equal(function_of(&f, 0, 0), "space::thing::method(int const&)");
	assert_true(frame_of(&f, 0, 0)->line > 0);
	assert_non_null(missing);
	assert_non_null(strstr(missing, ".dwo"));
	free(missing);
	fixture_free(&f);
}

static void check_demangled(const char *raw, const char *want)
{
	char *name = mt_demangle(raw);

	assert_string_equal(name, want);
	free(name);
}

static void test_demangle(void **state)
{
	(void)state;
	check_demangled("malloc", "malloc");
	check_demangled("_Zbroken", "_Zbroken");
	check_demangled("", "");
#ifdef HAVE_LIBIBERTY
	check_demangled("_ZN5space5thing6methodERKi", "space::thing::method(int const&)");
	check_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi",
		"std::vector<int, std::allocator<int> >::push_back(int const&)");
	check_demangled("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example");
	check_demangled("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	check_demangled("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check_demangled("_D3foo3barFZv", "foo.bar()");
#endif
}

static void test_static_names(void **state)
{
	struct fixture f;
	bool lambda = false, hidden = false, member = false;

	(void)state;
	fixture_new(&f);
	add_module(&f.profile, at("cc"), NULL, 0);
	sample(&f, at("cc"), 1, 50000);
	resolve(&f, NULL, NULL);
	for (uint32_t i = 0; i < f.symbols.frame_count; i++) {
		const char *name = mt_strings_get(&f.symbols.strings, f.symbols.frames[i].function);

		hidden |= !strcmp(name, "(anonymous namespace)::hidden");
		member |= !strcmp(name, "(anonymous namespace)::local::member");
		lambda |= !strcmp(name, "main::{lambda}::operator()");
	}
	assert_true(hidden);
	assert_true(member);
	assert_true(lambda);
	fixture_free(&f);
}

static void test_symbolizer(void **state)
{
	struct fixture f, direct;
	struct mt_symbolizer *s = mt_symbolizer_new(NULL);

	(void)state;
	fixture_new(&f);
	fixture_new(&direct);
	assert_false(mt_symbolizer_busy(s));
	add_module(&f.profile, at("cc"), NULL, 0);
	add_module(&direct.profile, at("cc"), NULL, 0);
	sample(&f, at("cc"), 3, 3000);
	sample(&direct, at("cc"), 3, 3000);
	uint32_t all = f.profile.pc_count;
	for (uint32_t part = 0; part <= all; part += 100) { /* grows while it is worked on */
		f.profile.pc_count = part;
		mt_symbolizer_feed(s, &f.profile);
		mt_symbolizer_collect(s, &f.symbols);
	}
	f.profile.pc_count = all;
	mt_symbolizer_feed(s, &f.profile);
	mt_symbolizer_wait(s);
	assert_false(mt_symbolizer_busy(s));
	mt_symbolizer_collect(s, &f.symbols);
	assert_false(mt_symbolizer_collect(s, &f.symbols));
	assert_null(mt_symbolizer_missing(s));
	resolve(&direct, NULL, NULL);
	assert_int_equal(f.symbols.pc_count, direct.symbols.pc_count);
	for (uint32_t i = 0; i < f.count; i++) {
		assert_int_equal(f.symbols.pcs[MT_PC_FIRST + i].count,
			direct.symbols.pcs[MT_PC_FIRST + i].count);
		for (uint32_t k = 0; k < f.symbols.pcs[MT_PC_FIRST + i].count; k++) {
			assert_string_equal(function_of(&f, i, k), function_of(&direct, i, k));
			assert_int_equal(frame_of(&f, i, k)->line, frame_of(&direct, i, k)->line);
			assert_int_equal(frame_of(&f, i, k)->inlined,
				frame_of(&direct, i, k)->inlined);
		}
	}
	mt_symbolizer_free(s);
	s = mt_symbolizer_new(NULL); /* freed in the midst of its work */
	mt_symbolizer_feed(s, &direct.profile);
	mt_symbolizer_free(s);
	fixture_free(&f);
	fixture_free(&direct);
}

/* As memtui wrote it before it knew where in a function a pc lies: four bytes a pc less. */
static void check_older_block(const struct mt_buffer *block, const struct mt_symbols *of)
{
	size_t pcs = block->len - (size_t)of->pc_count * 8;
	struct mt_buffer older = {0};
	struct mt_symbols copy;
	struct mt_err err;

	mt_buffer_add(&older, block->data, pcs);
	for (uint32_t i = 0; i < of->pc_count; i++)
		mt_buffer_add(&older, block->data + pcs + (size_t)i * 8, 4);
	older.data[0] = 2;
	mt_symbols_init(&copy);
	assert_int_equal(mt_symbols_decode(&copy, older.data, older.len, &err), 0);
	assert_int_equal(copy.pc_count, of->pc_count);
	for (uint32_t i = 0; i < copy.pc_count; i++) {
		assert_int_equal(copy.pcs[i].count, of->pcs[i].count);
		assert_int_equal(copy.pcs[i].offset, 0);
	}
	mt_symbols_free(&copy);
	mt_buffer_free(&older);
}

static void test_block(void **state)
{
	struct fixture f;
	struct mt_symbols copy;
	struct mt_buffer block = {0}, again = {0};
	struct mt_err err;
	unsigned refused = 0, known = 0;

	(void)state;
	fixture_new(&f);
	add_module(&f.profile, at("c"), NULL, 0);
	sample(&f, at("c"), 5, 500);
	resolve(&f, NULL, NULL);
	mt_symbols_encode(&f.symbols, &block);
	mt_symbols_init(&copy);
	assert_int_equal(mt_symbols_decode(&copy, block.data, block.len, &err), 0);
	assert_int_equal(copy.pc_count, f.symbols.pc_count);
	for (uint32_t i = 0; i < copy.pc_count; i++) {
		assert_int_equal(copy.pcs[i].count, f.symbols.pcs[i].count);
		assert_int_equal(copy.pcs[i].offset, f.symbols.pcs[i].offset);
		known += copy.pcs[i].offset != 0;
		assert_memory_equal(&copy.frames[copy.pcs[i].first],
			&f.symbols.frames[f.symbols.pcs[i].first],
			copy.pcs[i].count * sizeof(struct mt_frame));
	}
	assert_true(known > copy.pc_count / 2);
	check_older_block(&block, &copy);
	mt_symbols_encode(&copy, &again);
	assert_int_equal(again.len, block.len);
	assert_memory_equal(again.data, block.data, block.len);
	for (size_t len = 0; len < block.len; len++) {
		char *exact = malloc(len ? len : 1);

		memcpy(exact, block.data, len);
		err.text[0] = 0;
		assert_true(mt_symbols_decode(&copy, exact, len, &err) < 0);
		assert_true(err.text[0] && !copy.pc_count && !copy.frame_count
			&& copy.strings.count == 1);
		free(exact);
	}
	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t where = (size_t)rand() % (i % 2 ? 20 : block.len);
		uint8_t old = block.data[where];

		block.data[where] ^= (uint8_t)(1 << rand() % 8);
		if (mt_symbols_decode(&copy, block.data, block.len, &err)) {
			refused++;
			assert_int_equal(copy.frame_count, 0);
		}
		for (uint32_t k = 0; k < copy.frame_count; k++)
			assert_true(copy.frames[k].function
				&& copy.frames[k].function < copy.strings.count
				&& copy.frames[k].source < copy.strings.count);
		block.data[where] = old;
	}
	assert_true(refused > 5000);
	mt_symbols_free(&copy);
	mt_buffer_free(&block);
	mt_buffer_free(&again);
	fixture_free(&f);
}

/* Damaged files: nonsense may come out, but no crash and no hang. Each in a child, to name the
 * seed. */
static void damage(const char *from, const char *to, unsigned seed)
{
	static uint8_t bytes[4 << 20];
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	size_t len = fread(bytes, 1, sizeof bytes, in);

	srand(seed);
	for (unsigned i = 0, n = 1u << seed % 12; i < n; i++)
		bytes[seed % 3 ? (size_t)rand() % len : len - 1 - (size_t)rand() % (len / 4)] =
			(uint8_t)rand();
	if (seed % 7 == 0)
		len = (size_t)rand() % len;
	bytes[0] = 0x7f; /* the magic and the type stay, so that there is something to test */
	memcpy(bytes + 1, "ELF", 3);
	bytes[16] = ET_DYN;
	bytes[17] = 0;
	fwrite(bytes, 1, len, out);
	fclose(in);
	fclose(out);
}

static void test_damaged_files(void **state)
{
	unsigned rounds =
		getenv("SYMBOL_TEST_ROUNDS") ? (unsigned)atoi(getenv("SYMBOL_TEST_ROUNDS")) : 300;

	(void)state;
	for (unsigned seed = 0; seed < rounds; seed++) {
		const char *from = seed & 1 ? at("cc") : seed & 2 ? at("c") : at("c4");
		struct fixture f;
		int status;

		damage(from, at("damaged"), seed);
		pid_t child = fork();
		if (!child) {
			alarm(240);
			fixture_new(&f);
			add_module(&f.profile, at("damaged"), NULL, 0);
			sample(&f, from, 11, 1000);
			resolve(&f, NULL, NULL);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (status)
			fail_msg("seed %u of %s: status %#x", seed, from, status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addr2line),
		cmocka_unit_test(test_clang),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_static_names),
		cmocka_unit_test(test_debug_path),
		cmocka_unit_test(test_sysroot),
		cmocka_unit_test(test_minidebuginfo),
		cmocka_unit_test(test_without_debug_information),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_wrong_debug_file),
		cmocka_unit_test(test_file_written_over),
		cmocka_unit_test(test_split_missing),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_symbolizer),
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_damaged_files),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
