/* An ELF file, as everything of core/symbol reads it: the allocator that it carries, what it says
 * of its own leaks, and the names and inlined functions of some of its addresses, by libdw.
 *
 * Input: the file; then PCS addresses of four bytes. */
#include "core/base/elf.h"
#include "core/symbol/bundled.h"
#include "core/symbol/internal.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define PCS 8
#define BIAS 0x555555554000ull
#define MEMORY_MAX (64u << 20)

static void add_pc(struct mt_profile *p, uint64_t address)
{
	MT_GROW(p->pcs, p->pc_count, p->pc_capacity);
	p->pcs[p->pc_count++] = (struct mt_pc){.address = address};
}

static void make_profile(struct mt_profile *p, const char *path, const uint8_t *addresses)
{
	struct mt_module module = {.start = BIAS, .end = BIAS + (1ull << 40), .bias = BIAS};

	mt_strings_init(&p->strings);
	module.path = mt_strings_add(&p->strings, path);
	MT_GROW(p->modules, p->module_count, p->module_capacity);
	p->modules[p->module_count++] = module;
	for (uint32_t i = 0; i < MT_PC_FIRST; i++)
		add_pc(p, 0);
	for (unsigned i = 0; i < PCS; i++) {
		uint32_t address;

		memcpy(&address, addresses + i * sizeof address, sizeof address);
		add_pc(p, BIAS + address);
	}
}

static void free_profile(struct mt_profile *p)
{
	mt_strings_free(&p->strings);
	free(p->modules);
	free(p->pcs);
}

static void look_up(const struct mt_profile *profile)
{
	struct mt_resolver_options options = {.memory_max = MEMORY_MAX};
	struct mt_resolver *resolver = mt_resolver_new(&options);
	struct mt_symbols symbols;

	mt_symbols_init(&symbols);
	for (uint32_t pc = MT_PC_FIRST; pc < profile->pc_count; pc++) {
		mt_resolver_pc(resolver, profile, pc, &symbols);
		if (!symbols.pcs[pc].count) /* there is always a frame */
			abort();
	}
	mt_resolver_suppressions(resolver, profile, &symbols);
	free(mt_symbols_unreadable(profile, &symbols));
	mt_resolver_missing(resolver);
	mt_resolver_free(resolver);
	mt_symbols_free(&symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_profile profile = {0};
	size_t tail = PCS * sizeof(uint32_t);
	struct mt_elf_debug debug;
	char path[40];
	int fd;

	if (size < tail || (fd = fuzz_file(data, size - tail)) < 0)
		return 0;
	mt_bundled_allocator(fd, false);
	mt_bundled_allocator(fd, true);
	mt_elf_wants_debug(fd, &debug);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	make_profile(&profile, path, data + size - tail);
	look_up(&profile);
	free_profile(&profile);
	close(fd);
	return 0;
}
