/* Files whose symbols or debug information have no end: in time, or in the file. */
#include "symbol_fixture.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define HANG_S 240

static void on_alarm(int number)
{
	static const char words[] = "\nthe names of one file have taken four minutes\n";

	(void)number;
	_exit(write(2, words, sizeof words - 1) < 0 ? 2 : 1);
}

/* A function named f, and 400,000 inlined ones in it, all of which name one list of 60,000 ranges.
 * An assembler knows how to write that. */
static const char many_ranges[] =
	".text\nf: .skip 64\n.Lend:\n.type f,@function\n.size f,64\n"
	".section .debug_abbrev,\"\",@progbits\n"
	".uleb128 1,0x11,1, 0x11,1,0x12,7,0,0\n"       /* unit: low_pc, high_pc */
	".uleb128 2,0x2e,1, 0x3,8,0x11,1,0x12,7,0,0\n" /* function: name, low_pc, high_pc */
	".uleb128 3,0x1d,0, 0x55,0x17,0,0\n"           /* inlined: ranges */
	".uleb128 0\n"
	".section .debug_info,\"\",@progbits\n"
	".long .Linfo_end-.Linfo\n.Linfo: .short 4\n.long 0\n.byte 8\n"
	".uleb128 1\n.quad f,64\n"
	".uleb128 2\n.asciz \"f\"\n.quad f,64\n"
	".rept 400000\n.uleb128 3\n.long 0\n.endr\n"
	".byte 0,0\n.Linfo_end:\n"
	".section .debug_ranges,\"\",@progbits\n"
	".rept 60000\n.quad 0,1\n.endr\n.quad 0,0\n";

/* A function whose name in the debug information does not end there. */
static const char cut_name[] =
	".text\nf: .skip 64\n.type f,@function\n.size f,64\n"
	".section .debug_abbrev,\"\",@progbits\n"
	".uleb128 1,0x11,1, 0x11,1,0x12,7,0,0\n"       /* unit: low_pc, high_pc */
	".uleb128 2,0x2e,0, 0x11,1,0x12,7,0x3,8,0,0\n" /* function: low_pc, high_pc, name */
	".uleb128 0\n"
	".section .debug_info,\"\",@progbits\n"
	".long .Linfo_end-.Linfo\n.Linfo: .short 4\n.long 0\n.byte 8\n"
	".uleb128 1\n.quad f,64\n"
	".uleb128 2\n.quad f,64\n.fill 200,1,0x61\n.Linfo_end:\n";

static void assemble(const char *text, const char *file, const char *options)
{
	FILE *out = fopen(at("source.s"), "w");

	fputs(text, out);
	fclose(out);
	run("gcc -nostdlib -shared %s -o %s %s", options, at("%s", file), at("source.s"));
}

static void expect_name(const char *file, uint64_t address, const char *name)
{
	struct fixture f;

	fixture_new(&f);
	add_module(&f.profile, at("%s", file), NULL, 0);
	add_address(&f, address);
	alarm(HANG_S);
	resolve(&f, NULL, NULL);
	alarm(0);
	assert_string_equal(function_of(&f, 0, 0), name);
	fixture_free(&f);
}

static void test_ranges(void **state)
{
	(void)state;
	assemble(many_ranges, "ranges.so", "");
	expect_name("ranges.so", symbol_address(at("ranges.so"), "f") + 8, "f");
}

/* Unpacked, so that nothing of the file follows. */
static void test_cut_name(void **state)
{
	(void)state;
	assemble(cut_name, "cut.so", "-Wl,--compress-debug-sections=zlib");
	expect_name("cut.so", symbol_address(at("cut.so"), "f") + 8, "f");
}

/* A table of names without an end: libelf looks for it at each symbol. */
static void write_symbols(const char *path, uint64_t symbols, uint64_t names)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr load;
		Elf64_Shdr sections[4];
	} start = {
		.head = {.e_ident = ELFMAG "\x02\x01\x01",
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof start.head,
			.e_phoff = sizeof start.head,
			.e_phentsize = sizeof start.load,
			.e_phnum = 1,
			.e_shoff = sizeof start.head + sizeof start.load,
			.e_shentsize = sizeof *start.sections,
			.e_shnum = 4,
			.e_shstrndx = 3},
		.load = {PT_LOAD, PF_R | PF_X, 0, 0, 0, 4096, 4096, 4096},
		.sections = {{0},
			{.sh_type = SHT_PROGBITS,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_size = 4096},
			{.sh_type = SHT_SYMTAB,
				.sh_offset = 4096,
				.sh_size = symbols * 24,
				.sh_link = 3,
				.sh_info = 1,
				.sh_entsize = 24,
				.sh_addralign = 8},
			{.sh_type = SHT_STRTAB,
				.sh_offset = 4096 + symbols * 24,
				.sh_size = names,
				.sh_addralign = 1}},
	};
	Elf64_Sym symbol = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 16, 16};
	FILE *out = fopen(path, "w");

	fwrite(&start, sizeof start, 1, out);
	fseek(out, 4096, SEEK_SET);
	for (uint64_t i = 0; i < symbols; i++)
		fwrite(&symbol, sizeof symbol, 1, out);
	for (uint64_t i = 0; i < names; i++)
		fputc(i ? 'a' : 0, out);
	fclose(out);
}

/* The file ends with a page, and its names do not end before. */
static void test_cut_symbols(void **state)
{
	(void)state;
	write_symbols(at("symbols"), 512, 4096);
	expect_name("symbols", 20, "symbols+0x14");
}

/* Other files have their names; this one's are given up, in words. */
static void test_busy(void **state)
{
	struct mt_lookup lookup = {.looks = 5}; /* 10 s of work; 0.5 s without a processor */
	struct mt_err err = {0};
	struct fixture f;

	(void)state;
	write_symbols(at("busy"), 2000000, 64 << 20);
	fixture_new(&f);
	add_module(&f.profile, at("busy"), NULL, 0);
	add_address(&f, 20);
	lookup.resolver = mt_resolver_new(NULL);
	alarm(HANG_S);
	assert_int_equal(mt_lookup(&lookup, &f.profile, &f.symbols, &err), -ETIMEDOUT);
	alarm(0);
	if (!strstr(err.text, "may be damaged") || !strstr(err.text, at("busy")))
		fail_msg("this does not say which file may be damaged: %s", err.text);
	assert_string_equal(function_of(&f, 0, 0), "busy+0x14");
	fixture_free(&f);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(work, sizeof work, "/tmp/memtui-endless-XXXXXX");
	signal(SIGALRM, on_alarm);
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
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_cut_name),
		cmocka_unit_test(test_cut_symbols),
		cmocka_unit_test(test_busy),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
