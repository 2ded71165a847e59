/* corpus FILE [MUST...]: every function symbol of a file is patched, at an imagined address and
 * without executing anything. What the stub repeats is decoded again and must say the same as the
 * function does, in the words of a disassembler with absolute addresses. Prints how many functions
 * are patched, and why the others are not. MUST: functions that have to be patched. */
#include "core/patch/patch.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE UINT64_C(0x7f3300000000)
#define HOOK 0x563412345678ull

struct function {
	uint64_t address;
	size_t size, len; /* the symbol's; with padding */
	const char *name;
	const uint8_t *code;
	struct mt_patch patch;
	int result;
	unsigned foreign; /* branches into its first bytes from elsewhere */
};
static struct function *functions, *names; /* names: also those of the same address */
static size_t count, name_count;
static struct piece {
	uint64_t address, size;
	const uint8_t *bytes;
} pieces[256]; /* executable sections */
static unsigned piece_count;
static uint64_t module_low = UINT64_MAX, module_high;
static unsigned long bad;
static ZydisDecoder decoder;
static ZydisFormatter formatter;

#define wrong(...) (bad++ < 20 ? (void)(printf("wrong: " __VA_ARGS__), puts("")) : (void)0)

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->size < y->size ? 1 : x->size > y->size ? -1 : 0;
}

static const uint8_t *bytes_at(uint64_t address, uint64_t *left)
{
	for (unsigned i = 0; i < piece_count; i++)
		if (address - pieces[i].address < pieces[i].size) {
			*left = pieces[i].size - (address - pieces[i].address);
			return pieces[i].bytes + (address - pieces[i].address);
		}
	return NULL;
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		uint64_t left = 0;
		struct function f = {.address = BASE + symbol.st_value, .size = symbol.st_size};
		int type = GELF_ST_TYPE(symbol.st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !symbol.st_shndx)
			continue;
		f.code = bytes_at(f.address, &left);
		if (!f.code)
			continue;
		f.size = f.size > left ? left : f.size;
		f.name = elf_strptr(elf, header->sh_link, symbol.st_name);
		functions = realloc(functions, (count + 1) * sizeof *functions);
		functions[count++] = f;
	}
}

static void each_section(Elf *elf, bool symbols)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &header)) {
		bool is_code = header.sh_type == SHT_PROGBITS && header.sh_flags & SHF_EXECINSTR;

		if (symbols && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			read_symbols(elf, section, &header);
		else if (!symbols && is_code && piece_count < 256)
			pieces[piece_count++] = (struct piece){BASE + header.sh_addr,
				header.sh_size, elf_rawdata(section, NULL)->d_buf};
		if (!symbols && header.sh_flags & SHF_ALLOC) {
			uint64_t low = BASE + header.sh_addr, high = low + header.sh_size;

			module_low = low < module_low ? low : module_low;
			module_high = high > module_high ? high : module_high;
		}
	}
}

/* One function for each address, the largest symbol; each up to the next if padding follows. */
static void arrange(void)
{
	size_t kept = 0;

	name_count = count;
	names = malloc((count + 1) * sizeof *names);
	memcpy(names, functions, count * sizeof *names);
	qsort(functions, count, sizeof *functions, by_address);
	for (size_t i = 0; i < count; i++)
		if (!kept || functions[kept - 1].address != functions[i].address)
			functions[kept++] = functions[i];
	count = kept;
	for (size_t i = 0; i < count; i++) {
		struct function *f = functions + i;
		uint64_t left, gap;

		bytes_at(f->address, &left);
		gap = left - f->size;
		if (i + 1 < count && f[1].address - f->address < left)
			gap = f[1].address > f->address + f->size
				? f[1].address - f->address - f->size
				: 0;
		f->len = f->size + mt_patch_padding(f->code + f->size, gap);
	}
}

static unsigned say(const uint8_t *bytes, size_t len, uint64_t at, char text[256])
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand all[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, len, &z, all))
		|| !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &z, all,
			z.operand_count_visible, text, 256, at, NULL)))
		return 0;
	return z.length;
}

static bool says(const struct function *f, uint32_t *to, const char *wanted)
{
	const struct mt_patch *p = &f->patch;
	char made[256] = "";

	*to += say(p->stub + *to, p->stub_size - *to, p->stub_address + *to, made);
	if (strcmp(made, wanted))
		wrong("%s: '%s' stands in the stub, not '%s'", f->name, made, wanted);
	return !strcmp(made, wanted);
}

/* A call: its return address is pushed in two halves, and nothing else follows. */
static bool to_call(const struct function *f, uint64_t offset, uint32_t *to, const char *meant)
{
	uint64_t back = f->address + offset + 5;
	char push[2][64], jump[300];

	if (strncmp(meant, "call 0x", 7))
		return false;
	snprintf(push[0], sizeof push[0], "mov dword ptr [rsp], 0x%02" PRIX64, back & 0xffffffff);
	snprintf(push[1], sizeof push[1], "mov dword ptr [rsp+0x04], 0x%02" PRIX64, back >> 32);
	snprintf(jump, sizeof jump, "jmp %s", meant + 5);
	if (says(f, to, "lea rsp, [rsp-0x08]") && says(f, to, push[0]) && says(f, to, push[1])
		&& says(f, to, jump)
		&& (*to != f->patch.stub_size || back != f->patch.entry + f->patch.moved))
		wrong("%s: the call is not the last", f->name);
	return true;
}

/* Only prefixes that do nothing may differ: none do. */
static void check_moved(const struct function *f)
{
	const struct mt_patch *p = &f->patch;
	uint64_t start = p->entry - f->address, at = 0;
	uint32_t to = (uint32_t)(p->original - p->stub_address) + 4;
	char meant[256] = "", made[256], back[64];

	while (at < p->moved) {
		unsigned len = say(f->code + start + at, f->len - start - at, p->entry + at, meant);
		if (to_call(f, start + at, &to, meant))
			return;
		unsigned moved = say(p->stub + to, p->stub_size - to, p->stub_address + to, made);

		if (!len || !moved || strcmp(meant, made)) {
			wrong("%s+0x%" PRIx64 ": '%s' became '%s'", f->name, start + at, meant,
				made);
			return;
		}
		at += len;
		to += moved;
	}
	if (at != p->moved)
		wrong("%s: %u bytes have moved, which are no whole instructions", f->name,
			p->moved);
	if (!strncmp(meant, "jmp", 3) || !strncmp(meant, "ret", 3) || !strncmp(meant, "bnd jmp", 7)
		|| !strncmp(meant, "bnd ret", 7) || !strncmp(meant, "notrack jmp", 11)) {
		if (to != p->stub_size)
			wrong("%s: something follows '%s'", f->name, meant);
		return;
	}
	to += say(p->stub + to, p->stub_size - to, p->stub_address + to, made);
	snprintf(back, sizeof back, "jmp 0x%016" PRIX64, p->entry + p->moved);
	if (strcmp(made, back) || to != p->stub_size)
		wrong("%s: the stub ends with '%s', not with '%s'", f->name, made, back);
}

static void check_ends(const struct function *f)
{
	const struct mt_patch *p = &f->patch;
	uint64_t start = p->entry - f->address, hook;
	char made[256] = "", wanted[64];

	say(p->after, p->size, p->entry, made);
	snprintf(wanted, sizeof wanted, "jmp 0x%016" PRIX64, p->stub_address);
	if (strcmp(made, wanted))
		wrong("%s: the entry has '%s', not '%s'", f->name, made, wanted);
	if (memcmp(p->before, f->code + start, p->size))
		wrong("%s: not its bytes are kept", f->name);
	if (start != (memcmp(f->code, "\xf3\x0f\x1e\xfa", 4) ? 0 : 4))
		wrong("%s: the jump is written at +%" PRIu64, f->name, start);
	say(p->stub, 6, p->stub_address, made);
	snprintf(wanted, sizeof wanted, "jmp [0x%016" PRIX64 "]", p->stub_address + 8);
	memcpy(&hook, p->stub + 8, sizeof hook);
	if (strcmp(made, wanted) || hook != HOOK)
		wrong("%s: '%s' leads to 0x%" PRIx64, f->name, made, hook);
	say(p->stub + 16, 4, p->stub_address + 16, made);
	if (strcmp(made, "endbr64"))
		wrong("%s: original begins with '%s'", f->name, made);
	if (p->entry / 4096 != (p->entry + p->size - 1) / 4096)
		wrong("%s: two pages", f->name);
}

static struct function *function_of(uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - functions[low - 1].address < functions[low - 1].len
		? functions + low - 1
		: NULL;
}

/* All branches of all code, whatever function they stand in. */
static void count_foreign(const struct piece *piece)
{
	ZydisDecodedInstruction z;
	unsigned step;

	for (uint64_t at = 0; at < piece->size; at += step) {
		uint64_t target;
		struct function *f;

		step = 1;
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, piece->bytes + at,
			    piece->size - at, &z)))
			continue;
		step = z.length;
		if (!z.raw.imm[0].is_relative)
			continue;
		target = piece->address + at + z.length + (uint64_t)z.raw.imm[0].value.s;
		f = function_of(target);
		if (f && !f->result && target > f->patch.entry
			&& target < f->patch.entry + f->patch.size && !f->foreign++)
			printf("  0x%" PRIx64 " leads into the first bytes of %s\n",
				piece->address + at - BASE, f->name);
	}
}

/* mt_patch_check finds the same. */
static void compare_foreign(const struct function *f)
{
	struct mt_patch_function text = {.name = "text"};
	struct mt_patch patch = f->patch;
	struct mt_err err = {0};
	unsigned found = 0;

	for (unsigned i = 0; i < piece_count; i++) {
		text.address = pieces[i].address;
		text.len = pieces[i].size;
		text.memory = pieces[i].bytes;
		found += mt_patch_check(&patch, 1, &text, &err);
	}
	if (found != (f->foreign != 0))
		wrong("%s: mt_patch_check finds %u, here are %u", f->name, found, f->foreign);
	if (found && !strstr(err.text, f->name))
		wrong("%s: %s", f->name, err.text);
}

static void must(const char *name)
{
	bool is_there = false;

	for (size_t i = 0; i < name_count; i++) {
		const struct function *f = function_of(names[i].address);

		if (strcmp(names[i].name, name))
			continue;
		is_there = true;
		for (unsigned steps = 0; f && f->result == -EAGAIN && steps < 8; steps++)
			f = function_of(f->patch.next);
		if (!f || f->result || f->foreign)
			wrong("%s is not patched", name);
		else
			compare_foreign(f);
	}
	if (!is_there)
		wrong("there is no %s", name);
}

static void report(const char *file)
{
	unsigned reasons[MT_PATCH_REFUSED_ALL] = {0}, follows = 0, empty = 0, foreign = 0;

	for (size_t i = 0; i < count; i++) {
		follows += functions[i].result == -EAGAIN;
		reasons[functions[i].patch.refusal]++;
		empty += functions[i].size == 0;
		foreign += functions[i].foreign != 0;
	}
	reasons[MT_PATCH_REFUSED_NOT] -= follows;
	printf("%s: %u of %zu functions are patched (%.1f %%); %u are jumps to another", file,
		reasons[MT_PATCH_REFUSED_NOT], count,
		100.0 * reasons[MT_PATCH_REFUSED_NOT] / (double)count, follows);
	for (unsigned i = 1; i < MT_PATCH_REFUSED_ALL; i++)
		if (reasons[i])
			printf("; %s: %u", mt_patch_refusal_words(i), reasons[i]);
	printf("; symbols without a size: %u; entered from other functions: %u\n", empty, foreign);
}

static void try(struct function *f, size_t index)
{
	/* Below the module, each in its own stub. */
	uint64_t stub = BASE - (count - index + 4096) * MT_PATCH_STUB;
	struct mt_patch_function asked = {.name = f->name,
		.address = f->address,
		.len = f->len,
		.memory = f->code,
		.file = f->code,
		.module_low = module_low,
		.module_high = module_high};
	struct mt_err err = {0};

	f->result = mt_patch_make(&f->patch, &asked, stub, HOOK, &err);
	asked.stays = f->result == -EAGAIN && !function_of(f->patch.next);
	if (asked.stays) /* the PLT, or a function without a symbol */
		f->result = mt_patch_make(&f->patch, &asked, stub, HOOK, &err);
	if (!f->result) {
		check_ends(f);
		check_moved(f);
	} else if (f->result != -EAGAIN && (!f->patch.refusal || !strstr(err.text, f->name))) {
		wrong("%s is refused without a reason: %s", f->name, err.text);
	}
	if (f->result && getenv("VERBOSE"))
		printf("  %s\n", err.text);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return fprintf(stderr, "usage: corpus FILE [MUST...]\n"), 2;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	each_section(elf, false);
	each_section(elf, true);
	arrange();
	for (size_t i = 0; i < count; i++)
		try(functions + i, i);
	for (unsigned i = 0; i < piece_count; i++)
		count_foreign(pieces + i);
	for (size_t i = 0; i < count; i++)
		if (functions[i].foreign)
			compare_foreign(functions + i);
	for (int i = 2; i < argc; i++)
		must(argv[i]);
	report(argv[1]);
	return bad || !count;
}
