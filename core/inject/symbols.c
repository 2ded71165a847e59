/* Functions of mapped files. The files are somebody else's: no size in them is trusted. */
#include "core/base/elf.h"
#include "core/inject/internal.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a file ---- */

/* The segment that the mapping is of, and how far the file was moved. */
static bool find_segment(Elf *elf, const struct mt_inject_map *code, GElf_Phdr *segment,
	uint64_t *bias)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, segment) || segment->p_type != PT_LOAD
			|| !(segment->p_flags & PF_X))
			continue;
		if (code->offset < segment->p_offset + segment->p_filesz
			&& code->offset + (code->high - code->low) > segment->p_offset) {
			*bias = code->low - code->offset + segment->p_offset - segment->p_vaddr;
			return true;
		}
	}
	return false;
}

static Elf *open_elf(struct mt_tracee *t, const struct mt_inject_map *code, int *fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	*fd = mt_inject_open_map(t->pid, code);
	if (*fd < 0)
		return NULL;
	elf = elf_begin(*fd, ELF_C_READ, NULL); /* not mapped: somebody may cut the file */
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64)
		return elf;
	elf_end(elf);
	close(*fd);
	return NULL;
}

struct passing {
	const struct mt_inject_map *code;
	uint64_t bias;
	mt_tracee_each *each;
	void *context;
};

static void pass_on(void *context, const struct mt_elf_function *f)
{
	const struct passing *p = context;
	struct mt_tracee_symbol found = {.address = f->value + p->bias,
		.size = f->size,
		.is_indirect = f->is_indirect,
		.is_local = f->is_local};

	if (found.address < p->code->low || found.address >= p->code->high)
		return;
	if (found.size > p->code->high - found.address)
		found.size = p->code->high - found.address;
	p->each(p->context, f->name, &found);
}

int mt_inject_symbols(struct mt_tracee *t, const struct mt_inject_map *code, int debug,
	mt_tracee_each *each, void *context)
{
	struct passing p = {.code = code, .each = each, .context = context};
	GElf_Phdr segment;
	Elf *elf;
	int fd;

	elf = open_elf(t, code, &fd);
	if (!elf)
		return -ENOENT;
	if (find_segment(elf, code, &segment, &p.bias)) {
		mt_elf_functions(fd, pass_on, &p);
		if (debug >= 0)
			mt_elf_functions(debug, pass_on, &p);
	}
	elf_end(elf);
	close(fd);
	return 0;
}

uint64_t mt_inject_code_end(struct mt_tracee *t, const struct mt_inject_map *code)
{
	uint64_t bias, end = 0;
	GElf_Phdr segment;
	Elf *elf;
	int fd;

	elf = open_elf(t, code, &fd);
	if (!elf)
		return 0;
	if (find_segment(elf, code, &segment, &bias) && segment.p_filesz == segment.p_memsz)
		end = segment.p_vaddr + segment.p_filesz + bias;
	elf_end(elf);
	close(fd);
	return end > code->low && end <= code->high ? end : 0;
}

/* ---- one function ---- */

struct wanted {
	const char *name;
	struct mt_tracee_symbol *to;
	bool found;
};

static void is_it(void *context, const char *name, const struct mt_tracee_symbol *symbol)
{
	struct wanted *w = context;

	if (w->found || strcmp(name, w->name))
		return;
	*w->to = *symbol;
	w->found = true;
}

int mt_tracee_find(struct mt_tracee *t, const char *module, const char *name,
	struct mt_tracee_symbol *to, struct mt_err *err)
{
	struct wanted w = {name, to, false};
	char program[4096];
	bool has_module = false;

	mt_proc_link(t->pid, "exe", program, sizeof program);
	for (uint32_t i = 0; i < t->maps.count && !w.found; i++) {
		const struct mt_inject_map *map = &t->maps.items[i];

		if (!map->executable
			|| (*module ? strncmp(mt_base_name(map->path), module, strlen(module))
				    : strcmp(map->path, program)))
			continue;
		has_module = true;
		mt_inject_symbols(t, map, -1, is_it, &w);
	}
	if (w.found)
		return 0;
	return mt_fail(err, -ENOENT, "process %d has no %s%s%s", (int)t->pid,
		has_module ? "function " : "module ", has_module ? name : module,
		has_module ? ", or its file cannot be read" : "");
}

/* ---- all functions ---- */

int mt_tracee_functions(struct mt_tracee *t, const char *path, int debug, mt_tracee_each *each,
	void *context)
{
	int result = -ENOENT;

	for (uint32_t i = 0; i < t->maps.count; i++)
		if (t->maps.items[i].executable && !strcmp(t->maps.items[i].path, path)
			&& mt_inject_symbols(t, &t->maps.items[i], debug, each, context) == 0)
			result = 0;
	return result;
}
