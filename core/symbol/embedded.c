/* The text that a function of a file returns, where it returns a constant: found in the file,
 * without calling anything. __lsan_default_suppressions() is such a function. */
#include "core/symbol/internal.h"

#include <string.h>
#include <unistd.h>

#define CODE_LEN 32u
#define TEXT_MAX (1u << 20)
#define TABLES_MOST (2ull << 30) /* bytes of tables that are looked through, in all */

/* The value of a defined function symbol in one table. */
static bool find_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
	uint64_t *address)
{
	Elf_Scn *strings = elf_getscn(elf, header->sh_link);
	Elf_Data *texts = strings ? elf_getdata(strings, NULL) : NULL;
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	/* Most files have it not, which their names tell sooner than their symbols. */
	if (!texts || !texts->d_buf || !memmem(texts->d_buf, texts->d_size, name, strlen(name) + 1))
		return false;
	Elf_Data *data = elf_getdata(section, NULL);

	for (size_t i = 1; data && i < count && i < 1u << 24; i++) {
		GElf_Sym symbol;
		const char *text;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		text = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (text && !strcmp(text, name)) {
			*address = symbol.st_value;
			return true;
		}
	}
	return false;
}

/* Takes the section's size from *left: a file can name the same bytes as any number of sections. */
static bool take_room(Elf_Scn *section, uint64_t *left)
{
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || header.sh_size > *left)
		return false;
	*left -= header.sh_size;
	return true;
}

static bool find_symbol(Elf *elf, const char *name, uint64_t *address)
{
	uint64_t left = TABLES_MOST;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header)
			&& (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB)
			&& take_room(section, &left)
			&& take_room(elf_getscn(elf, header.sh_link), &left)
			&& find_in(elf, section, &header, name, address))
			return true;
	return false;
}

/* What is loaded at an address; returns how much of it is in the file. */
static size_t read_at(Elf *elf, int fd, uint64_t address, void *out, size_t len)
{
	size_t count = 0;
	GElf_Phdr part;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && i < 1024 && gelf_getphdr(elf, (int)i, &part); i++) {
		if (part.p_type != PT_LOAD || address < part.p_vaddr
			|| address - part.p_vaddr >= part.p_filesz)
			continue;
		uint64_t within = address - part.p_vaddr, left = part.p_filesz - within;
		ssize_t got = pread(fd, out, left < len ? (size_t)left : len,
			(off_t)(part.p_offset + within));

		return got > 0 ? (size_t)got : 0;
	}
	return 0;
}

/* The pointer at an address, as the dynamic linker leaves it, without the load bias. */
static uint64_t pointer_at(Elf *elf, int fd, uint64_t address)
{
	uint64_t value = 0, left = TABLES_MOST;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Rela rela;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA
			|| !header.sh_entsize || !take_room(section, &left))
			continue;
		Elf_Data *data = elf_getdata(section, NULL);

		for (size_t i = 0; data && i < header.sh_size / header.sh_entsize
			&& gelf_getrela(data, (int)i, &rela);
			i++)
			if (rela.r_offset == address
				&& GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				return (uint64_t)rela.r_addend;
	}
	return read_at(elf, fd, address, &value, sizeof value) == sizeof value ? value : 0;
}

/* How much of a prologue or an epilogue stands here; 0: neither. */
static size_t frame_code(const uint8_t *at, size_t len)
{
	static const struct {
		uint8_t len, bytes[4];
	} codes[] = {
		{4, {0xf3, 0x0f, 0x1e, 0xfa}}, /* endbr64 */
		{1, {0x55}},                   /* push %rbp */
		{3, {0x48, 0x89, 0xe5}},       /* mov %rsp,%rbp */
		{1, {0x5d}},                   /* pop %rbp */
		{1, {0xc9}},                   /* leave */
		{1, {0x90}},                   /* nop */
	};

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].len <= len && !memcmp(at, codes[i].bytes, codes[i].len))
			return codes[i].len;
	return 0;
}

static int32_t signed_at(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

/* The constant that the code leaves in %rax and nothing else; 0: it does something else. */
static uint64_t constant_of(Elf *elf, int fd, uint64_t address)
{
	uint8_t code[CODE_LEN] = {0};
	size_t len = read_at(elf, fd, address, code, sizeof code), at = 0, step;
	uint64_t value = 0;

	while (at < len && code[at] != 0xc3) { /* ret */
		const uint8_t *here = code + at;
		uint64_t next = address + at;

		if ((step = frame_code(here, len - at))) {
			at += step;
		} else if (value || len - at < 7) {
			return 0;
		} else if (here[0] == 0x48 && here[1] == 0x8d && here[2] == 0x05) {
			/* lea x(%rip),%rax */
			value = next + 7 + (uint64_t)(int64_t)signed_at(here + 3);
			at += 7;
		} else if (here[0] == 0x48 && here[1] == 0x8b && here[2] == 0x05) {
			/* mov x(%rip),%rax */
			value = pointer_at(elf, fd,
				next + 7 + (uint64_t)(int64_t)signed_at(here + 3));
			at += 7;
		} else if (here[0] == 0x48 && here[1] == 0xc7 && here[2] == 0xc0) {
			/* mov $x,%rax */
			value = (uint64_t)(int64_t)signed_at(here + 3);
			at += 7;
		} else if (here[0] == 0xb8) { /* mov $x,%eax */
			value = (uint32_t)signed_at(here + 1);
			at += 5;
		} else {
			return 0;
		}
	}
	return at < len ? value : 0;
}

enum mt_embedded mt_embedded_text(int fd, const char *function, struct mt_buffer *text)
{
	enum mt_embedded found = MT_EMBEDDED_NONE;
	uint64_t address;
	GElf_Ehdr header;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);

	if (elf && gelf_getehdr(elf, &header) && find_symbol(elf, function, &address)) {
		uint64_t at = header.e_machine == EM_X86_64 ? constant_of(elf, fd, address) : 0;
		size_t begin = text->len, got = 0;
		char *end = NULL;

		found = MT_EMBEDDED_UNREADABLE;
		while (at && !end && text->len - begin < TEXT_MAX) {
			mt_buffer_reserve(text, 4096);
			got = read_at(elf, fd, at + (text->len - begin), text->data + text->len,
				4096);
			if (!got)
				break;
			end = memchr(text->data + text->len, 0, got);
			text->len +=
				end ? (size_t)(end - (char *)(text->data + text->len)) + 1 : got;
		}
		if (end)
			found = MT_EMBEDDED_TEXT;
		else
			text->len = begin;
	}
	elf_end(elf);
	return found;
}
