/* Debug information that is there, but in a form that this libdw does not know. */
#include "core/symbol/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum { ZSTD, PACKAGE, KINDS };

struct unreadable {
	unsigned count[KINDS];
	char *first[KINDS]; /* the first file of each */
};

static void note(struct unreadable *u, int kind, const char *path)
{
	if (!u->count[kind]++)
		u->first[kind] = mt_strdup(path);
}

/* Whether a section of debug information is compressed by zstd and libelf cannot undo it. */
static bool has_zstd(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	bool found = false;

	for (Elf_Scn *s = NULL; elf && !found && (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		GElf_Chdr compressed;

		found = gelf_getshdr(s, &header) && header.sh_flags & SHF_COMPRESSED
			&& gelf_getchdr(s, &compressed) && compressed.ch_type == ELFCOMPRESS_ZSTD
			&& elf_compress(s, 0, 0) < 0;
	}
	elf_end(elf);
	return found;
}

/* Packages of .dwo files are read from this version on. */
static bool reads_packages(void)
{
	const char *version = dwfl_version(NULL);
	long major, minor;
	char *end;

	major = version ? strtol(version, &end, 10) : 0;
	minor = version && *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major > 0 || minor >= 191;
}

static bool has_package(const char *path)
{
	char *package = mt_format("%s.dwp", path);
	struct stat st;
	bool there = !stat(package, &st) && S_ISREG(st.st_mode);

	free(package);
	return there && !reads_packages();
}

enum { SEEN = 1, HAS_LINES = 2, HAS_INLINED = 4 };

/* By module: what its frames have. */
static uint8_t *look_at_frames(const struct mt_profile *p, const struct mt_symbols *s)
{
	uint8_t *seen = mt_alloc((size_t)p->module_count + 1);

	for (uint32_t pc = MT_PC_FIRST; pc < p->pc_count && pc < s->pc_count; pc++) {
		uint32_t first = s->pcs[pc].first, count = s->pcs[pc].count;

		if (p->pcs[pc].module >= p->module_count || first > s->frame_count
			|| count > s->frame_count - first)
			continue;
		uint8_t *module = &seen[p->pcs[pc].module];

		*module |= count > 1 ? SEEN | HAS_INLINED : SEEN;
		for (uint32_t i = 0; i < count; i++)
			*module |= s->frames[first + i].line ? HAS_LINES : 0;
	}
	return seen;
}

static void look_at_file(struct unreadable *u, const struct mt_finder *finder,
	const struct mt_module *module, const char *path, unsigned seen)
{
	struct mt_build_id id = {module->build_id,
		module->build_id_len <= MT_BUILD_ID_MAX ? module->build_id_len : 0};
	char *opened = NULL;
	int fd = -1;

	if (*path != '/')
		return;
	if (!(seen & HAS_INLINED) && has_package(path))
		note(u, PACKAGE, path);
	if (seen & HAS_LINES || mt_finder_module(finder, path, id, &fd, &opened) != MT_FOUND)
		return;
	if (has_zstd(fd))
		note(u, ZSTD, path);
	close(fd);
	free(opened);
}

char *mt_symbols_unreadable(const struct mt_profile *p, const struct mt_symbols *s)
{
	static const char *const words[KINDS] = {
		"debug information compressed with zstd, which elfutils %s cannot read, so "
		"source lines are missing; use a newer elfutils, or compress with zlib",
		"a .dwp file, which elfutils %s cannot read, so inlined functions are "
		"missing; use elfutils 0.191 or newer, or keep the .dwo files",
	};
	struct unreadable u = {0};
	struct mt_finder finder;
	struct mt_buffer text = {0};
	uint8_t *seen = look_at_frames(p, s);

	elf_version(EV_CURRENT);
	mt_finder_init(&finder, NULL);
	for (uint32_t i = 0; i < p->module_count; i++)
		if (seen[i])
			look_at_file(&u, &finder, &p->modules[i],
				mt_strings_get(&p->strings, p->modules[i].path), seen[i]);
	for (int i = 0; i < KINDS; i++) {
		if (!u.count[i])
			continue;
		mt_buffer_printf(&text, "%s%s", text.len ? "; " : "", u.first[i]);
		if (u.count[i] > 1)
			mt_buffer_printf(&text, " and %u other file%s", u.count[i] - 1,
				u.count[i] > 2 ? "s" : "");
		mt_buffer_printf(&text, " ha%s ", u.count[i] > 1 ? "ve" : "s");
		mt_buffer_printf(&text, words[i], dwfl_version(NULL));
		free(u.first[i]);
	}
	free(seen);
	mt_finder_free(&finder);
	if (!text.len)
		return NULL;
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}
