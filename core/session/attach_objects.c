/* The objects of a process, from its mappings and their ELF headers, for a C library that the
 * attached tracer cannot ask. What is read is the process's: no number in it is trusted. */
#include "core/session/attachment.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define PAGE 4096u
#define HEADERS_MOST 64u

static bool read_headers(const struct mt_tracee *t, uint64_t low, Elf64_Ehdr *e,
	Elf64_Phdr *headers)
{
	if (mt_tracee_read(t, low, e, sizeof *e) || memcmp(e->e_ident, ELFMAG, SELFMAG)
		|| e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_phentsize != sizeof *headers
		|| !e->e_phnum || e->e_phnum > HEADERS_MOST || e->e_phoff > PAGE)
		return false;
	return mt_tracee_read(t, low + e->e_phoff, headers, e->e_phnum * sizeof *headers) == 0;
}

/* low: where the mapping of the file's beginning lies. */
static bool describe(const struct mt_tracee *t, uint64_t low, struct mt_wire_object *o)
{
	Elf64_Phdr headers[HEADERS_MOST];
	Elf64_Ehdr e;
	bool has_first = false;

	if (!read_headers(t, low, &e, headers))
		return false;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		const Elf64_Phdr *h = &headers[i];

		if (h->p_type != PT_LOAD)
			continue;
		if (!has_first)
			o->bias = low - h->p_vaddr / PAGE * PAGE;
		has_first = true;
		if (o->bias + h->p_vaddr + h->p_memsz > o->end)
			o->end = o->bias + h->p_vaddr + h->p_memsz;
	}
	for (unsigned i = 0; i < e.e_phnum; i++)
		if (headers[i].p_type == PT_DYNAMIC)
			o->dynamic = o->bias + headers[i].p_vaddr;
		else if (headers[i].p_type == PT_GNU_EH_FRAME)
			o->eh_frame = o->bias + headers[i].p_vaddr;
	o->start = low;
	return has_first && o->end > o->start;
}

void mt_attach_list_objects(const struct mt_tracee *t, struct mt_wire_attached *a)
{
	struct mt_tracee_mapping m;
	uint64_t behind = 0; /* the last object's end */

	for (uint32_t i = 0; mt_tracee_mapping(t, i, &m) && a->object_count < MT_WIRE_OBJECTS_MAX;
		i++) {
		struct mt_wire_object *o = &a->objects[a->object_count];

		*o = (struct mt_wire_object){.is_program = m.is_program};
		if (*m.path != '/' || m.low < behind || !describe(t, m.low, o))
			continue;
		snprintf(o->path, sizeof o->path, "%s", m.path);
		behind = o->end;
		a->object_count++;
	}
}
