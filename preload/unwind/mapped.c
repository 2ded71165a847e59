/* A module's program headers say where its segments are. They are believed as far as the kernel
 * agrees; where they cannot be found (patchelf moves them), it is asked for its own mappings. */
#include "preload/unwind/mapped.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "preload/base/procmaps.h"
#include "preload/base/sys.h"
#include "preload/unwind/cfi.h"
#include "preload/unwind/sections.h"

/* ---- segments -------------------------------------------------------------------------------- */

/* Can the bytes be read, as far as can be told without touching them all? A file may be shorter
 * than what is mapped of it, so the last of them counts. Once no system call may be made any more,
 * the module is believed. */
static bool can_be_read(uint64_t start, uint64_t end)
{
	return mt_sys_look(start & ~7ull) != -EFAULT && mt_sys_look((end - 1) & ~7ull) != -EFAULT;
}

static void add_segment(struct mt_mapped *image, uint64_t start, uint64_t end)
{
	uint32_t count = image->segment_count;

	if (start >= end || !can_be_read(start, end))
		return;
	if (count && image->segments[count - 1].end == start)
		image->segments[count - 1].end = end;
	else if (count < MT_MAPPED_SEGMENTS)
		image->segments[image->segment_count++] = (struct mt_mapped_segment){start, end};
}

/* The program headers, if the file begins at an address and has them in its first page. They are
 * the module's if they name the same dynamic section as the dynamic linker. */
static uint32_t headers_at(const struct link_map *map, uint64_t start, const Elf64_Phdr **headers)
{
	const Elf64_Ehdr *file = (const void *)start;

	if (start % MT_WIRE_PAGE || !start || !can_be_read(start, start + MT_WIRE_PAGE)
		|| memcmp(file->e_ident, ELFMAG, SELFMAG) != 0
		|| file->e_phentsize != sizeof **headers || file->e_phoff % 8
		|| file->e_phoff > MT_WIRE_PAGE
		|| file->e_phnum > (MT_WIRE_PAGE - file->e_phoff) / sizeof **headers)
		return 0;
	*headers = (const void *)(start + file->e_phoff);
	for (uint32_t i = 0; i < file->e_phnum; i++)
		if ((*headers)[i].p_type == PT_DYNAMIC
			&& map->l_addr + (*headers)[i].p_vaddr == (uint64_t)map->l_ld)
			return file->e_phnum;
	return 0;
}

/* Of a program with gaps between its segments only one of them is shown as the object: then the
 * kernel has said where the program headers are, which follow the file's own. */
static uint32_t find_headers(const struct dl_find_object *object, struct mt_mapped *image,
	const Elf64_Phdr **headers)
{
	const struct link_map *map = object->dlfo_link_map;
	uint64_t starts[] = {(uint64_t)object->dlfo_map_start,
		map->l_prev ? 0 : getauxval(AT_PHDR) - sizeof(Elf64_Ehdr)};

	for (int i = 0; i < 2; i++) {
		uint32_t count = headers_at(map, starts[i], headers);

		if (count) {
			image->file = starts[i];
			return count;
		}
	}
	return 0;
}

struct mapped {
	struct mt_mapped *image;
	const struct dl_find_object *object;
};

/* The object ends within the last page of its last mapping, which may hold its frames: BOLT puts
 * them there. */
static bool add_mapped(const struct mt_procmap *map, void *context)
{
	struct mapped *m = context;
	uint64_t end = (uint64_t)m->object->dlfo_map_end;

	if (map->start >= end)
		return false;
	if (map->readable && map->start >= (uint64_t)m->object->dlfo_map_start)
		add_segment(m->image, map->start, map->end < end ? map->end : end);
	return true;
}

static void read_segments(const struct dl_find_object *object, const Elf64_Phdr *headers,
	uint32_t count, struct mt_mapped *image)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t start = object->dlfo_link_map->l_addr + headers[i].p_vaddr;

		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_R)
			add_segment(image, start, start + headers[i].p_filesz);
	}
	if (image->segment_count == 0)
		mt_procmaps_each(add_mapped, &(struct mapped){image, object});
}

/* ---- notes ----------------------------------------------------------------------------------- */

static uint64_t padded(uint64_t len)
{
	return (len + 3) & ~3ull;
}

static void read_note(struct mt_bytes *b, struct mt_mapped *image)
{
	uint64_t name_len = mt_bytes_number(b, 4), data_len = mt_bytes_number(b, 4);
	uint64_t type = mt_bytes_number(b, 4);
	struct mt_bytes name = mt_bytes_part(b, padded(name_len));
	struct mt_bytes data = mt_bytes_part(b, data_len);

	mt_bytes_skip(b, padded(data_len) - data_len);
	if (mt_bytes_failed(&data) || name_len != 4)
		return;
	if (type == NT_GNU_BUILD_ID && memcmp(name.at, "GNU", 4) == 0 && !image->build_id_len
		&& data_len <= MT_BUILD_ID_MAX) {
		image->build_id_len = (uint32_t)data_len;
		memcpy(image->build_id, data.at, data_len);
	}
	image->go |= memcmp(name.at, "Go\0", 4) == 0;
}

static void read_notes(const struct dl_find_object *object, const Elf64_Phdr *headers,
	uint32_t count, struct mt_mapped *image)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t start = object->dlfo_link_map->l_addr + headers[i].p_vaddr;
		struct mt_bytes b;

		if (headers[i].p_type != PT_NOTE || !mt_mapped_bytes(image, start, &b)
			|| mt_bytes_left(&b) < headers[i].p_filesz)
			continue;
		b.end = b.at + headers[i].p_filesz;
		while (mt_bytes_left(&b))
			read_note(&b, image);
	}
}

void mt_mapped_read(const struct dl_find_object *object, struct mt_mapped *image)
{
	const Elf64_Phdr *headers = NULL;
	uint32_t count;

	memset(image, 0, sizeof *image);
	count = find_headers(object, image, &headers);
	read_segments(object, headers, count, image);
	read_notes(object, headers, count, image);
	image->has_cfi = object->dlfo_eh_frame != NULL;
	if (image->has_cfi)
		mt_cfi_read_header(image, (uint64_t)object->dlfo_eh_frame);
}

void mt_mapped_complete(const struct dl_find_object *object, struct mt_mapped *image)
{
	struct mt_bytes frames;

	if (!image->table.base && mt_sections_find_frames(object, image, &frames))
		mt_cfi_make_table(image, frames);
}
