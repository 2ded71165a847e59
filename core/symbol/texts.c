/* Texts that libdw hands out without a look for their end: names of a symbol table, and those that
 * stand in the debug information itself. A damaged file need not have one. */
#include "core/symbol/internal.h"

#include <dwarf.h>
#include <string.h>

#define LONGEST (1u << 20) /* beyond this a text is none */

static bool holds(const Elf_Data *data, const char *text, size_t *room)
{
	const char *begin = data ? data->d_buf : NULL;

	if (!begin || text < begin || text >= begin + data->d_size)
		return false;
	*room = data->d_size - (size_t)(text - begin);
	return true;
}

/* How many bytes can be read there: the file is mapped, or the section was unpacked. */
static size_t room_at(Elf *elf, const char *text)
{
	size_t room = 0;
	Elf_Data file = {0};

	file.d_buf = elf_rawfile(elf, &file.d_size);
	if (holds(&file, text, &room))
		return room;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;

		if (gelf_getshdr(s, &header) && header.sh_type != SHT_NOBITS
			&& (holds(elf_getdata(s, NULL), text, &room)
				|| holds(elf_rawdata(s, NULL), text, &room)))
			break;
	}
	return room;
}

const char *mt_elf_text(Elf *elf, const char *text)
{
	size_t room = text ? room_at(elf, text) : 0;

	return room && memchr(text, 0, room < LONGEST ? room : LONGEST) ? text : NULL;
}

/* libdw itself knows where the sections of texts end. */
const char *mt_dwarf_text(Dwarf_Attribute *attribute)
{
	const char *text = dwarf_formstring(attribute);

	return text && dwarf_whatform(attribute) == DW_FORM_string
		? mt_elf_text(dwarf_getelf(dwarf_cu_getdwarf(attribute->cu)), text)
		: text;
}
