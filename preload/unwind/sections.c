/* Reads a module's file with plain system calls, once, when the module is first met. */
#include "preload/unwind/sections.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "preload/base/sys.h"

#define SECTIONS_MAX 4096
#define PROGRAM "/proc/self/exe"
#define EH_FRAME ".eh_frame"

static bool read_exactly(int fd, uint64_t offset, void *to, uint64_t len)
{
	return mt_sys4(SYS_pread64, fd, to, len, offset) == (long)len;
}

/* Whatever has the name by now must not make us wait. */
static int open_file(const struct link_map *map)
{
	const char *path = map->l_name[0] ? map->l_name : PROGRAM;
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD, path,
		O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	struct stat status;

	if (fd >= 0 && mt_sys2(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	if (fd >= 0)
		mt_sys1(SYS_close, fd);
	return -1;
}

static bool find_section(int fd, const Elf64_Ehdr *file, Elf64_Shdr *section)
{
	char name[sizeof EH_FRAME];
	Elf64_Shdr names;

	if (file->e_shentsize != sizeof *section || file->e_shnum > SECTIONS_MAX
		|| !read_exactly(fd, file->e_shoff + (uint64_t)file->e_shstrndx * sizeof names,
			&names, sizeof names))
		return false;
	for (uint64_t i = 1; i < file->e_shnum; i++) {
		if (!read_exactly(fd, file->e_shoff + i * sizeof *section, section,
			    sizeof *section))
			return false;
		if (section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS
			&& read_exactly(fd, names.sh_offset + section->sh_name, name, sizeof name)
			&& memcmp(name, EH_FRAME, sizeof name) == 0)
			return true;
	}
	return false;
}

/* The file is the mapped one if it holds the same bytes. */
static bool is_same(int fd, uint64_t offset, struct mt_bytes bytes)
{
	uint8_t chunk[256];

	while (mt_bytes_left(&bytes)) {
		uint64_t len = mt_bytes_left(&bytes);

		len = len < sizeof chunk ? len : sizeof chunk;
		if (!read_exactly(fd, offset, chunk, len) || memcmp(chunk, bytes.at, len) != 0)
			return false;
		mt_bytes_skip(&bytes, len);
		offset += len;
	}
	return true;
}

bool mt_sections_find_frames(const struct dl_find_object *object, const struct mt_mapped *image,
	struct mt_bytes *frames)
{
	const struct link_map *map = object->dlfo_link_map;
	struct mt_bytes file;
	Elf64_Shdr section;
	Elf64_Ehdr header;
	bool found;
	int fd;

	if (!mt_mapped_bytes(image, image->file, &file) || mt_bytes_left(&file) < sizeof header)
		return false;
	file.end = file.at + sizeof header;
	memcpy(&header, file.at, sizeof header);
	fd = open_file(map);
	if (fd < 0)
		return false;
	found = is_same(fd, 0, file) && find_section(fd, &header, &section)
		&& mt_mapped_bytes(image, map->l_addr + section.sh_addr, frames)
		&& mt_bytes_left(frames) >= section.sh_size;
	if (found) {
		frames->end = frames->at + section.sh_size;
		found = is_same(fd, section.sh_offset, *frames);
	}
	mt_sys1(SYS_close, fd);
	return found;
}
