#include "core/base/elf.h"

#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MOST (512u << 20) /* of headers, symbols and names that are read of a file */
#define NOTES_MOST 4096u        /* bytes of a section of notes that is looked at */

/* A file can name the same bytes as a table any number of times. */
struct file {
	int fd;
	uint64_t left; /* what may still be read */
	Elf64_Ehdr head;
	Elf64_Shdr *sections;
	uint64_t section_count;
};

/* size bytes and a 0 behind them, which the caller frees. NULL: it has not so many. */
static void *read_bytes(struct file *f, uint64_t at, uint64_t size)
{
	uint64_t got = 0;
	char *bytes;

	if (!size || size > f->left || at > INT64_MAX - size)
		return NULL;
	f->left -= size;
	bytes = malloc(size + 1);
	while (bytes && got < size) {
		ssize_t n = pread(f->fd, bytes + got, size - got, (off_t)(at + got));

		if (n <= 0) {
			free(bytes);
			return NULL;
		}
		got += (uint64_t)n;
	}
	if (bytes)
		bytes[size] = '\0';
	return bytes;
}

static bool open_file(struct file *f, int fd)
{
	const Elf64_Ehdr *e = &f->head;
	Elf64_Shdr first;

	*f = (struct file){.fd = fd, .left = BYTES_MOST};
	if (pread(fd, &f->head, sizeof f->head, 0) != sizeof f->head
		|| memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64
		|| e->e_ident[EI_DATA] != ELFDATA2LSB || e->e_shentsize != sizeof first
		|| !e->e_shoff || e->e_shoff > INT64_MAX)
		return false;
	f->section_count = e->e_shnum;
	if (!e->e_shnum) { /* there are more than fit */
		if (pread(fd, &first, sizeof first, (off_t)e->e_shoff) != sizeof first)
			return false;
		f->section_count = first.sh_size;
	}
	if (f->section_count > BYTES_MOST / sizeof first)
		return false;
	f->sections = read_bytes(f, e->e_shoff, f->section_count * sizeof first);
	return f->sections != NULL;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_table(const Elf64_Shdr *s)
{
	return (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
		&& !(s->sh_flags & SHF_COMPRESSED);
}

/* Which symbols are wanted, and by whom. */
struct wanted {
	mt_elf_each *each; /* functions */
	mt_elf_each_variable *each_variable;
	void *context;
};

static void tell_function(const struct wanted *w, const Elf64_Sym *s, const char *name)
{
	unsigned type = ELF64_ST_TYPE(s->st_info), visibility = ELF64_ST_VISIBILITY(s->st_other);
	struct mt_elf_function f;

	if (!w->each || (type != STT_FUNC && type != STT_GNU_IFUNC))
		return;
	f.name = name;
	f.value = s->st_value;
	f.size = s->st_size;
	f.is_indirect = type == STT_GNU_IFUNC;
	f.is_local = ELF64_ST_BIND(s->st_info) == STB_LOCAL;
	f.is_hidden = f.is_local || visibility == STV_HIDDEN || visibility == STV_INTERNAL;
	w->each(w->context, &f);
}

static void tell_variable(const struct wanted *w, const Elf64_Sym *s, const char *name)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if (w->each_variable && (type == STT_OBJECT || type == STT_TLS))
		w->each_variable(w->context,
			&(struct mt_elf_variable){name, s->st_value, s->st_size, type == STT_TLS});
}

static void each_of(const Elf64_Sym *symbols, uint64_t count, const char *names,
	uint64_t names_size, const struct wanted *wanted)
{
	for (const Elf64_Sym *s = symbols; s < symbols + count; s++) {
		if (s->st_shndx == SHN_UNDEF || s->st_name >= names_size)
			continue;
		tell_function(wanted, s, names + s->st_name);
		tell_variable(wanted, s, names + s->st_name);
	}
}

static bool read_table(struct file *f, const Elf64_Shdr *s, const struct wanted *wanted)
{
	const Elf64_Shdr *n = s->sh_link < f->section_count ? &f->sections[s->sh_link] : NULL;
	Elf64_Sym *symbols;
	char *names;

	if (!n || n->sh_type == SHT_NOBITS || n->sh_flags & SHF_COMPRESSED)
		return false;
	symbols = read_bytes(f, s->sh_offset, s->sh_size);
	names = symbols ? read_bytes(f, n->sh_offset, n->sh_size) : NULL;
	if (names)
		each_of(symbols, s->sh_size / sizeof *symbols, names, n->sh_size, wanted);
	free(names);
	free(symbols);
	return names != NULL;
}

static bool each_symbol(int fd, const struct wanted *wanted)
{
	bool all = true, any = false;
	struct file f;

	if (!open_file(&f, fd))
		return false;
	for (uint64_t i = 0; i < f.section_count && all; i++)
		if (is_table(&f.sections[i])) {
			all = read_table(&f, &f.sections[i], wanted);
			any = true;
		}
	free(f.sections);
	return all && any;
}

bool mt_elf_functions(int fd, mt_elf_each *each, void *context)
{
	return each_symbol(fd, &(struct wanted){.each = each, .context = context});
}

bool mt_elf_variables(int fd, mt_elf_each_variable *each, void *context)
{
	return each_symbol(fd, &(struct wanted){.each_variable = each, .context = context});
}

/* ---- where it is ----------------------------------------------------------------------------- */

bool mt_elf_bias(int fd, uint64_t offset, uint64_t address, unsigned flags, uint64_t *bias)
{
	Elf64_Phdr *segments, *s;
	bool found = false;
	struct file f;

	if (!open_file(&f, fd))
		return false;
	segments = f.head.e_phentsize == sizeof *segments
		? read_bytes(&f, f.head.e_phoff, f.head.e_phnum * sizeof *segments)
		: NULL;
	for (s = segments; segments && !found && s < segments + f.head.e_phnum; s++) {
		/* what is mapped begins at a page */
		uint64_t before = s->p_align ? s->p_offset % s->p_align : 0;

		found = s->p_type == PT_LOAD && s->p_flags & flags
			&& offset - (s->p_offset - before) < s->p_filesz + before;
		if (found)
			*bias = address - offset + s->p_offset - s->p_vaddr;
	}
	free(segments);
	free(f.sections);
	return found;
}

/* The value of a symbol of the table that the section of relocations is linked to. */
static uint64_t value_of(const Elf64_Sym *symbols, uint64_t count, uint64_t number)
{
	return number && number < count ? symbols[number].st_value : 0;
}

static void read_relocations(struct file *f, const Elf64_Shdr *s, mt_elf_each_local *each,
	void *context)
{
	const Elf64_Shdr *t = s->sh_link < f->section_count ? &f->sections[s->sh_link] : NULL;
	Elf64_Rela *all =
		t && t->sh_type == SHT_DYNSYM ? read_bytes(f, s->sh_offset, s->sh_size) : NULL;
	Elf64_Sym *symbols = all ? read_bytes(f, t->sh_offset, t->sh_size) : NULL;

	for (uint64_t i = 0; symbols && i < s->sh_size / sizeof *all; i++) {
		uint64_t type = ELF64_R_TYPE(all[i].r_info), number = ELF64_R_SYM(all[i].r_info);

		/* a symbol of another file tells nothing of this one's storage */
		if ((type != R_X86_64_DTPMOD64 && type != R_X86_64_TPOFF64)
			|| (number
				&& (number >= t->sh_size / sizeof *symbols
					|| symbols[number].st_shndx == SHN_UNDEF)))
			continue;
		each(context,
			&(struct mt_elf_local_word){
				.kind = type == R_X86_64_DTPMOD64 ? MT_ELF_LOCAL_MODULE
								  : MT_ELF_LOCAL_OFFSET,
				.at = all[i].r_offset,
				.value = (uint64_t)all[i].r_addend
					+ value_of(symbols, t->sh_size / sizeof *symbols, number),
			});
	}
	free(symbols);
	free(all);
}

bool mt_elf_local_words(int fd, mt_elf_each_local *each, void *context)
{
	struct file f;

	if (!open_file(&f, fd))
		return false;
	if (f.head.e_machine == EM_X86_64)
		for (uint64_t i = 0; i < f.section_count; i++)
			if (f.sections[i].sh_type == SHT_RELA)
				read_relocations(&f, &f.sections[i], each, context);
	free(f.sections);
	return true;
}

/* ---- debug files ----------------------------------------------------------------------------- */

static void take_build_id(struct mt_elf_debug *d, const char *notes, uint64_t size)
{
	Elf64_Nhdr note;

	for (uint64_t at = 0; at + sizeof note <= size;) {
		uint64_t name = at + sizeof note, text;

		memcpy(&note, notes + at, sizeof note);
		text = name + ((uint64_t)note.n_namesz + 3) / 4 * 4;
		at = text + ((uint64_t)note.n_descsz + 3) / 4 * 4;
		if (at > size || note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4
			|| memcmp(notes + name, "GNU", 4) || note.n_descsz > sizeof d->build_id)
			continue;
		memcpy(d->build_id, notes + text, note.n_descsz);
		d->build_id_len = note.n_descsz;
	}
}

/* A name that ends in 0, and the checksum at the next multiple of four. */
static void take_link(struct mt_elf_debug *d, const char *bytes, uint64_t size)
{
	uint64_t len = strlen(bytes), at = (len + 4) / 4 * 4;

	if (len >= sizeof d->link || size < sizeof d->crc || at > size - sizeof d->crc)
		return;
	memcpy(d->link, bytes, len + 1);
	memcpy(&d->crc, bytes + at, sizeof d->crc);
}

bool mt_elf_wants_debug(int fd, struct mt_elf_debug *d)
{
	char *names = NULL, *bytes;
	const Elf64_Shdr *n;
	bool has_symbols = false;
	struct file f;

	*d = (struct mt_elf_debug){0};
	if (!open_file(&f, fd))
		return false;
	n = f.head.e_shstrndx < f.section_count ? &f.sections[f.head.e_shstrndx] : NULL;
	for (uint64_t i = 0; i < f.section_count; i++)
		has_symbols |= f.sections[i].sh_type == SHT_SYMTAB;
	if (!has_symbols && n)
		names = read_bytes(&f, n->sh_offset, n->sh_size);
	for (uint64_t i = 0; i < f.section_count && names; i++) {
		const Elf64_Shdr *s = &f.sections[i];
		bool is_link =
			s->sh_name < n->sh_size && !strcmp(names + s->sh_name, ".gnu_debuglink");

		if (s->sh_size > NOTES_MOST || (s->sh_type != SHT_NOTE && !is_link)
			|| !(bytes = read_bytes(&f, s->sh_offset, s->sh_size)))
			continue;
		if (is_link)
			take_link(d, bytes, s->sh_size);
		else
			take_build_id(d, bytes, s->sh_size);
		free(bytes);
	}
	free(names);
	free(f.sections);
	return d->build_id_len || *d->link;
}
