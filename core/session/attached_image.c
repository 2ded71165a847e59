/* The attached tracer's file, read and relocated. All its relocations need nothing but the address
 * where it lies. */
#include "core/session/attached_image.h"

#include "core/base/buffer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define SIZE_MOST (64u << 20)

/* The beginning of an ELF file, and a name in the bytes of it that have no meaning. */
const uint8_t mt_attached_mark[MT_ATTACHED_MARK_SIZE] = {0x7f, 'E', 'L', 'F', ELFCLASS64,
	ELFDATA2LSB, EV_CURRENT, 0, 0, 'm', 'e', 'm', 't', 'u', 'i', '\0'};

static uint64_t pages(uint64_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

/* so many bytes of the memory at the address, or NULL */
static void *at(const struct mt_attached_image *i, uint64_t address, uint64_t size)
{
	return address <= i->used && size <= i->used - address ? i->bytes + address : NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_whole(const char *path, uint8_t **bytes, size_t *size, struct mt_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return mt_fail_open(err, path);
	if (fstat(fd, &status) < 0 || status.st_size < (off_t)sizeof(Elf64_Ehdr)
		|| status.st_size > (off_t)SIZE_MOST) {
		close(fd);
		return mt_fail(err, -ENOEXEC, "%s: is not the attached tracer", path);
	}
	*size = (size_t)status.st_size;
	*bytes = mt_alloc(*size);
	if (pread(fd, *bytes, *size, 0) != (ssize_t)*size) {
		close(fd);
		free(*bytes);
		return mt_fail(err, -EIO, "%s: cannot be read", path);
	}
	close(fd);
	return 0;
}

static const Elf64_Phdr *headers(const uint8_t *file, size_t size, unsigned *count)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)file;

	if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64
		|| e->e_type != ET_DYN || e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phoff > size
		|| e->e_phnum > (size - e->e_phoff) / sizeof(Elf64_Phdr))
		return NULL;
	*count = e->e_phnum;
	return (const Elf64_Phdr *)(file + e->e_phoff);
}

/* The memory that its segments make. */
static bool lay_out(struct mt_attached_image *i, const uint8_t *file, size_t size)
{
	unsigned count;
	const Elf64_Phdr *h = headers(file, size, &count);

	for (unsigned n = 0; h && n < count; n++) {
		if (h[n].p_type != PT_LOAD)
			continue;
		if (h[n].p_vaddr > SIZE_MOST || h[n].p_memsz > SIZE_MOST
			|| h[n].p_filesz > h[n].p_memsz || h[n].p_offset > size
			|| h[n].p_filesz > size - h[n].p_offset)
			return false;
		if (h[n].p_vaddr + h[n].p_memsz > i->size)
			i->size = pages(h[n].p_vaddr + h[n].p_memsz);
		if (h[n].p_vaddr + h[n].p_filesz > i->used)
			i->used = h[n].p_vaddr + h[n].p_filesz;
		if (h[n].p_flags & PF_W)
			i->data = h[n].p_vaddr / PAGE * PAGE;
		else if (i->data) /* behind what is written to */
			return false;
	}
	if (!h || !i->data)
		return false;
	i->bytes = mt_alloc(i->used);
	for (unsigned n = 0; n < count; n++)
		if (h[n].p_type == PT_LOAD)
			memcpy(i->bytes + h[n].p_vaddr, file + h[n].p_offset, h[n].p_filesz);
	return true;
}

/* ---- its dynamic section --------------------------------------------------------------------- */

static uint64_t dynamic(const struct mt_attached_image *i, int64_t tag)
{
	unsigned count;
	const Elf64_Phdr *h = headers(i->bytes, i->used, &count);

	for (unsigned n = 0; h && n < count; n++) {
		const Elf64_Dyn *d;

		if (h[n].p_type != PT_DYNAMIC)
			continue;
		d = at(i, h[n].p_vaddr, h[n].p_memsz);
		for (uint64_t k = 0; d && k < h[n].p_memsz / sizeof *d && d[k].d_tag; k++)
			if (d[k].d_tag == tag)
				return d[k].d_un.d_val;
	}
	return 0;
}

static const Elf64_Sym *symbol(const struct mt_attached_image *i, uint64_t index)
{
	return at(i, dynamic(i, DT_SYMTAB) + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
}

/* The symbols end where their names begin, as linkers lay them out. 0: there is no such name. */
static uint64_t find(const struct mt_attached_image *i, const char *name)
{
	uint64_t names = dynamic(i, DT_STRTAB), symbols = dynamic(i, DT_SYMTAB);
	uint64_t count = names > symbols ? (names - symbols) / sizeof(Elf64_Sym) : 0;

	for (uint64_t n = 1; n < count; n++) {
		const Elf64_Sym *s = symbol(i, n);
		const char *text = s ? at(i, names + s->st_name, strlen(name) + 1) : NULL;

		if (text && !memcmp(text, name, strlen(name) + 1) && s->st_shndx != SHN_UNDEF
			&& s->st_value < i->size)
			return s->st_value;
	}
	return 0;
}

int mt_attached_image_read(struct mt_attached_image *i, const char *path, struct mt_err *err)
{
	uint8_t *file = NULL;
	size_t size = 0;
	int error;

	*i = (struct mt_attached_image){0};
	if ((error = read_whole(path, &file, &size, err)) < 0)
		return error;
	if (lay_out(i, file, size)) {
		i->parameters = find(i, "mt_attached");
		i->begin = find(i, "mt_attached_begin");
		i->lead = find(i, "mt_attached_lead");
		i->end = find(i, "mt_attached_end");
	}
	free(file);
	if (i->parameters && i->begin && i->lead && i->end)
		return 0;
	mt_attached_image_free(i);
	return mt_fail(err, -ENOEXEC,
		"%s: is not the attached tracer; build or install memtui completely", path);
}

void mt_attached_image_free(struct mt_attached_image *i)
{
	free(i->bytes);
	*i = (struct mt_attached_image){0};
}

int mt_attached_image_relocate(struct mt_attached_image *i, uint64_t base, struct mt_err *err)
{
	uint64_t table = dynamic(i, DT_RELA), bytes = dynamic(i, DT_RELASZ);
	const Elf64_Rela *r = at(i, table, bytes);

	for (uint64_t n = 0; r && n < bytes / sizeof *r; n++) {
		const Elf64_Sym *s = symbol(i, ELF64_R_SYM(r[n].r_info));
		uint64_t *word = at(i, r[n].r_offset, sizeof *word);
		uint32_t type = ELF64_R_TYPE(r[n].r_info);

		if (!word || (type != R_X86_64_RELATIVE && (type != R_X86_64_GLOB_DAT || !s)))
			return mt_fail(err, -ENOEXEC,
				"the attached tracer has a relocation of type %u", type);
		*word = type == R_X86_64_RELATIVE  ? base + (uint64_t)r[n].r_addend
			: s->st_shndx == SHN_UNDEF ? 0
						   : base + s->st_value;
	}
	memcpy(i->bytes, mt_attached_mark, sizeof mt_attached_mark);
	return r ? 0 : mt_fail(err, -ENOEXEC, "the attached tracer has no relocations");
}
