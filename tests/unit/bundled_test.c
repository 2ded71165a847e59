/* Symbol tables that are made to keep the search for a bundled allocator busy. */
#include "core/base/buffer.h"
#include "core/symbol/bundled.h"

#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define HANG_S 120
#define NAMES "\0mi_malloc\0PyMem_RawMalloc"
enum { NO_NAME = 0, ALLOCATOR = 1, OTHER = 11 }; /* in NAMES */

static void on_alarm(int number)
{
	static const char words[] = "\nmt_bundled_allocator has been busy for two minutes\n";

	(void)number;
	_exit(write(2, words, sizeof words - 1) < 0 ? 2 : 1);
}

static void add_symbol(struct mt_buffer *file, uint32_t name)
{
	Elf64_Sym symbol = {.st_name = name,
		.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		.st_shndx = 1};

	mt_buffer_add(file, &symbol, sizeof symbol);
}

/* A file of the symbols, which so many sections name, and of the names. */
static int make_file(const struct mt_buffer *symbols, unsigned tables)
{
	int fd = memfd_create("bundled", MFD_CLOEXEC);
	uint64_t names_at = sizeof(Elf64_Ehdr), symbols_at = names_at + sizeof NAMES;
	Elf64_Ehdr head = {.e_ident = ELFMAG,
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof head,
		.e_shoff = symbols_at + symbols->len,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)(2 + tables),
		.e_shstrndx = 1};
	Elf64_Shdr none = {0},
		   names = {.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof NAMES};
	Elf64_Shdr table = {.sh_type = SHT_SYMTAB,
		.sh_offset = symbols_at,
		.sh_size = symbols->len,
		.sh_link = 1,
		.sh_entsize = sizeof(Elf64_Sym)};
	struct mt_buffer file = {0};

	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	mt_buffer_add(&file, &head, sizeof head);
	mt_buffer_add(&file, NAMES, sizeof NAMES);
	mt_buffer_add(&file, symbols->data, symbols->len);
	mt_buffer_add(&file, &none, sizeof none);
	mt_buffer_add(&file, &names, sizeof names);
	while (tables--)
		mt_buffer_add(&file, &table, sizeof table);
	assert_int_equal(mt_write_all(fd, file.data, file.len), 0);
	mt_buffer_free(&file);
	return fd;
}

static const char *ask(struct mt_buffer *symbols, unsigned tables)
{
	int fd = make_file(symbols, tables);
	const char *allocator;

	alarm(HANG_S);
	allocator = mt_bundled_allocator(fd, true);
	alarm(0);
	close(fd);
	mt_buffer_free(symbols);
	return allocator;
}

static void test_found(void **state)
{
	struct mt_buffer symbols = {0};

	(void)state;
	add_symbol(&symbols, NO_NAME);
	add_symbol(&symbols, ALLOCATOR);
	assert_string_equal(ask(&symbols, 1), "mimalloc");
	add_symbol(&symbols, ALLOCATOR);
	add_symbol(&symbols, 0x7fffffff);
	assert_string_equal(ask(&symbols, 1), "mimalloc");
}

/* Each of the first symbols is the allocator's, and the last one says that it is not used. */
static void test_not_used(void **state)
{
	struct mt_buffer symbols = {0};

	(void)state;
	for (unsigned i = 0; i < 400000; i++)
		add_symbol(&symbols, ALLOCATOR);
	add_symbol(&symbols, OTHER);
	assert_null(ask(&symbols, 1));
}

static void test_one_table_many_times(void **state)
{
	struct mt_buffer symbols = {0};

	(void)state;
	for (unsigned i = 0; i < 400000; i++)
		add_symbol(&symbols, NO_NAME);
	assert_null(ask(&symbols, 60000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_used),
		cmocka_unit_test(test_one_table_many_times),
	};

	signal(SIGALRM, on_alarm);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
