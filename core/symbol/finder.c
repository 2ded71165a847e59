/* Finds the files of modules and of their debug information, and takes only those with the right
 * build-id. Never asks a debuginfod server, whatever the environment says: a download of its own
 * accord would be a surprise. */
#include "core/symbol/internal.h"

#include <elfutils/libdwelf.h>
#include <endian.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_DEBUG_DIRECTORY "/usr/lib/debug"

static void add_directory(struct mt_finder *f, char *directory)
{
	f->directories =
		mt_resize(f->directories, (f->directory_count + 1) * sizeof *f->directories);
	f->directories[f->directory_count++] = directory;
}

void mt_finder_init(struct mt_finder *f, const struct mt_resolver_options *o)
{
	*f = (struct mt_finder){.root_pid = o ? o->root_pid : 0};
	if (o)
		f->rights = mt_rights_least(mt_rights_of_path(o->trace),
			mt_rights_of_process((pid_t)o->root_pid));
	if (o && o->sysroot && strcmp(o->sysroot, "/") && *o->sysroot) {
		size_t len;

		f->sysroot = mt_strdup(o->sysroot);
		for (len = strlen(f->sysroot); len && f->sysroot[len - 1] == '/'; len--)
			f->sysroot[len - 1] = 0;
	}
	if (o && o->debug_paths) {
		char *list = mt_strdup(o->debug_paths), *rest = list;

		for (char *item; (item = strsep(&rest, ":"));) {
			if (*item)
				add_directory(f, mt_strdup(item));
		}
		free(list);
	}
	if (f->root_pid)
		add_directory(f, mt_format("/proc/%u/root" SYSTEM_DEBUG_DIRECTORY, f->root_pid));
	if (f->sysroot)
		add_directory(f, mt_format("%s" SYSTEM_DEBUG_DIRECTORY, f->sysroot));
	add_directory(f, mt_strdup(SYSTEM_DEBUG_DIRECTORY));
}

void mt_finder_free(struct mt_finder *f)
{
	for (unsigned i = 0; i < f->directory_count; i++)
		free(f->directories[i]);
	free(f->directories);
	free(f->sysroot);
	*f = (struct mt_finder){0};
}

/* A trace can name any path: nothing but regular ELF files is read. */
static int open_elf(const char *path, const struct mt_rights *rights, bool *refused)
{
	struct {
		unsigned char ident[EI_NIDENT];
		uint16_t type;
	} head;
	int fd = mt_symbol_open(path, rights, refused);

	if (fd < 0)
		return -1;
	if (pread(fd, &head, sizeof head, 0) == sizeof head
		&& !memcmp(head.ident, ELFMAG, SELFMAG)) {
		unsigned type = head.ident[EI_DATA] == ELFDATA2MSB
			? be16toh(head.type)
			: le16toh(head.type);

		if (type == ET_EXEC || type == ET_DYN)
			return fd;
	}
	close(fd);
	return -1;
}

/* 1: the same; 0: another; -1: the file has none. */
static int compare_build_id(int fd, struct mt_build_id id)
{
	const void *bytes;
	int result = -1;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);

	if (elf) {
		ssize_t len = dwelf_elf_gnu_build_id(elf, &bytes);

		/* a recorded id of the greatest length may be cut */
		if (len > 0)
			result = id.len == (len > MT_BUILD_ID_MAX ? MT_BUILD_ID_MAX : len)
				&& !memcmp(bytes, id.bytes, id.len);
		elf_end(elf);
	}
	return result;
}

/* With memtui's own rights if a build-id tells the file: who knows that knows its contents. Without
 * one, with the rights of whom the recording is. */
static enum mt_finder_result try_module(const struct mt_finder *f, char *path,
	struct mt_build_id id, int *fd, char **opened, bool *refused)
{
	static const struct mt_rights own;

	*fd = open_elf(path, id.len ? &own : &f->rights, refused);
	if (*fd < 0) {
		free(path);
		return MT_FOUND_NOT;
	}
	if (id.len && compare_build_id(*fd, id) != 1) {
		close(*fd);
		*fd = -1;
		free(path);
		return MT_FOUND_OTHER;
	}
	*opened = path;
	return MT_FOUND;
}

enum mt_finder_result mt_finder_module(const struct mt_finder *f, const char *path,
	struct mt_build_id id, int *fd, char **opened)
{
	bool other = false, refused = false;
	char *candidates[5];
	unsigned count = 0, i = 0;

	*fd = -1;
	*opened = NULL;
	if (f->root_pid && *path == '/')
		candidates[count++] = mt_format("/proc/%u/root%s", f->root_pid, path);
	if (f->sysroot && *path == '/')
		candidates[count++] = mt_format("%s%s", f->sysroot, path);
	if (*path == '/')
		candidates[count++] = mt_strdup(path);
	if (f->root_pid && id.len) /* the program's file, even after it was replaced */
		candidates[count++] = mt_format("/proc/%u/exe", f->root_pid);
	while (i < count) {
		bool exe = i + 1 == count && f->root_pid && id.len;
		enum mt_finder_result found =
			try_module(f, candidates[i++], id, fd, opened, &refused);

		if (found == MT_FOUND) {
			while (i < count)
				free(candidates[i++]);
			return MT_FOUND;
		}
		other |= found == MT_FOUND_OTHER && !exe;
	}
	*fd = mt_finder_build_id(f, id, opened);
	return *fd >= 0   ? MT_FOUND
		: other   ? MT_FOUND_OTHER
		: refused ? MT_FOUND_REFUSED
			  : MT_FOUND_NOT;
}

int mt_finder_build_id(const struct mt_finder *f, struct mt_build_id id, char **found)
{
	char hex[2 * MT_BUILD_ID_MAX + 1];
	static const char digits[] = "0123456789abcdef";

	*found = NULL;
	if (id.len < 2 || id.len > MT_BUILD_ID_MAX)
		return -1;
	for (uint32_t i = 0; i < id.len; i++) {
		hex[2 * i] = digits[id.bytes[i] >> 4];
		hex[2 * i + 1] = digits[id.bytes[i] & 15];
	}
	hex[2 * id.len] = 0;
	for (unsigned i = 0; i < f->directory_count; i++) {
		char *path =
			mt_format("%s/.build-id/%.2s/%s.debug", f->directories[i], hex, hex + 2);
		bool refused = false;
		int fd;

		if (try_module(f, path, id, &fd, found, &refused) == MT_FOUND)
			return fd;
	}
	return -1;
}

/* The checksum of .gnu_debuglink: CRC-32 of ISO 3309. */
static bool same_crc(int fd, uint32_t want)
{
	static const uint32_t nibble[16] = {0, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190,
		0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	uint8_t bytes[16384];
	uint32_t crc = ~0u;
	off_t at = 0;

	for (ssize_t len; (len = pread(fd, bytes, sizeof bytes, at)) > 0; at += len) {
		for (ssize_t i = 0; i < len; i++) {
			crc ^= bytes[i];
			crc = crc >> 4 ^ nibble[crc & 15];
			crc = crc >> 4 ^ nibble[crc & 15];
		}
	}
	return ~crc == want;
}

static int try_link(const struct mt_naming *by, char *path, struct mt_build_id id, uint32_t crc,
	char **found)
{
	int fd = open_elf(path, &by->rights, by->refused);

	if (fd >= 0) {
		int same = id.len ? compare_build_id(fd, id) : -1;

		if (same == 1 || (same == -1 && same_crc(fd, crc))) {
			*found = path;
			return fd;
		}
		close(fd);
	}
	free(path);
	return -1;
}

static char *directory_of(const char *path)
{
	char *copy = mt_strdup(path), *directory = mt_strdup(dirname(copy));

	free(copy);
	return directory;
}

/* The file that holds what several share, by the name that one of them has for it: relative to that
 * one. */
int mt_finder_alt(const struct mt_naming *by, const char *beside, const char *name,
	struct mt_build_id id)
{
	char *directory = directory_of(beside);
	char *path = *name == '/' ? mt_strdup(name) : mt_format("%s/%s", directory, name);
	int fd = open_elf(path, &by->rights, by->refused);

	if (fd >= 0 && compare_build_id(fd, id) != 1) {
		close(fd);
		fd = -1;
	}
	free(path);
	free(directory);
	return fd;
}

/* In the directory itself, or in .debug/ there. */
static int try_directory(const struct mt_naming *by, const char *directory, const char *link,
	struct mt_build_id id, uint32_t crc, char **found)
{
	int fd = try_link(by, mt_format("%s/%s", directory, link), id, crc, found);

	return fd >= 0 ? fd
		       : try_link(by, mt_format("%s/.debug/%s", directory, link), id, crc, found);
}

int mt_finder_debug(const struct mt_finder *f, const struct mt_naming *by, const char *path,
	const char *opened, struct mt_build_id id, const char *link, uint32_t crc, char **found)
{
	int fd = mt_finder_build_id(f, id, found);

	if (fd >= 0 || !link || !*link || strchr(link, '/'))
		return fd;
	char *real = realpath(opened, NULL);
	char *beside = directory_of(real ? real : opened), *seen = directory_of(path);

	fd = try_directory(by, beside, link, id, crc, found);
	if (fd < 0) /* it was opened below the root of a process that has ended since */
		fd = try_directory(by, seen, link, id, crc, found);
	for (unsigned i = 0; fd < 0 && i < f->directory_count; i++) {
		fd = try_link(by, mt_format("%s%s/%s", f->directories[i], seen, link), id, crc,
			found);
		if (fd < 0)
			fd = try_link(by, mt_format("%s%s/%s", f->directories[i], beside, link), id,
				crc, found);
		if (fd < 0)
			fd = try_link(by, mt_format("%s/%s", f->directories[i], link), id, crc,
				found);
	}
	free(real);
	free(beside);
	free(seen);
	return fd;
}
