/* What the files of core/symbol share among themselves. */
#ifndef MT_SYMBOL_INTERNAL_H
#define MT_SYMBOL_INTERNAL_H

#include "core/symbol/open.h"
#include "core/symbol/symbol.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <sys/types.h>

/* ---- ranges: sorted address ranges that may nest ---- */
struct mt_range {
	uint64_t low, high; /* high exclusive */
	uint64_t reach;     /* largest high of this and all before it */
	uint32_t index;     /* what it belongs to */
};
struct mt_ranges {
	struct mt_range *items;
	uint32_t count, capacity;
	uint32_t read; /* entries of lists that were read for these, added or not */
};
void mt_ranges_add(struct mt_ranges *, uint64_t low, uint64_t high, uint32_t index);
void mt_ranges_sort(struct mt_ranges *);
/* Position of the range with the highest low that holds the address, or -1. To go on with the next
 * one give the last position as before; -1 to begin. */
ssize_t mt_ranges_find(const struct mt_ranges *, uint64_t address, ssize_t before);
void mt_ranges_free(struct mt_ranges *);

/* A file that names others. */
struct mt_naming {
	struct mt_rights rights; /* with which these are opened */
	bool *refused;           /* one of them could not be */
};

/* ---- the debug information of one file, indexed as it is asked for ---- */
struct mt_dwarf;
struct mt_dwarf_frame {
	/* with namespaces and classes where the language has them; NULL: unknown */
	const char *name;
	const char *linkage; /* NULL: has none */
	const char *source;  /* NULL: unknown */
	uint32_t line;
};
#define MT_DWARF_FRAMES_MAX 256u
/* The files that the debug information is of: a .dwo file is named relative to one of them. */
struct mt_dwarf_places {
	char *files[2]; /* full paths; NULL: there is none */
	struct mt_naming naming;
};
struct mt_dwarf *mt_dwarf_new(Dwarf *, const struct mt_dwarf_places *); /* borrows both */
void mt_dwarf_free(struct mt_dwarf *);
/* Frames of an address in the terms of the debug information, innermost first; returns their
 * number. No function found but a line: one frame with source and line alone. Texts live until the
 * next call. */
unsigned mt_dwarf_frames(struct mt_dwarf *, uint64_t address,
	struct mt_dwarf_frame frames[MT_DWARF_FRAMES_MAX]);
/* Units whose .dwo file was not found. */
unsigned mt_dwarf_split_missing(const struct mt_dwarf *);
/* Units whose names come, or would, from a .dwo file. */
unsigned mt_dwarf_split(const struct mt_dwarf *);

/* One function and all that is inlined into it. Expanded when first asked for. */
struct mt_function {
	Dwarf_Die die;
	struct mt_inline *nodes; /* node 0 is the function itself; NULL: not expanded */
	uint32_t node_count, node_capacity;
	struct mt_ranges ranges; /* of nodes 1…, indexed by node */
};
struct mt_inline {
	Dwarf_Die die;
	uint32_t parent, depth;
	uint32_t call_line;
	const char *call_file;
	const char *linkage;
	uint32_t name; /* string id of the owner; 0: none */
	bool named;
};
void mt_function_expand(struct mt_function *, Dwarf_Files *files, size_t file_count);
/* The innermost node at the address. */
uint32_t mt_function_find(const struct mt_function *, uint64_t address);
void mt_function_free(struct mt_function *);
/* Next DIE at the same level; false at the end, or when a damaged file leads backwards. */
bool mt_die_next(Dwarf_Die *die);
/* Adds the pc ranges of a DIE; returns whether it has any. */
bool mt_die_ranges(Dwarf_Die *die, struct mt_ranges *ranges, uint32_t index);

/* ---- texts of a file ---- */
/* The text, or NULL if it does not end within the file, or only after a megabyte. */
const char *mt_elf_text(Elf *, const char *text);
/* The attribute's text, or NULL. attribute: may be NULL. */
const char *mt_dwarf_text(Dwarf_Attribute *attribute);

/* ---- symbol table of one file ---- */
struct mt_elf_symbols {
	struct mt_ranges ranges; /* index = position in names */
	const char **names;      /* borrowed from the module */
	uint32_t name_count, name_capacity;
};
unsigned mt_symbol_underscores(const char *name); /* that it begins with */
void mt_elf_symbols_load(struct mt_elf_symbols *, Dwfl_Module *);
/* NULL: none; start: where it begins. */
const char *mt_elf_symbols_find(const struct mt_elf_symbols *, uint64_t address, uint64_t *start);
void mt_elf_symbols_free(struct mt_elf_symbols *);

/* ---- finding files ---- */
struct mt_build_id {
	const uint8_t *bytes;
	uint32_t len; /* 0: unknown */
};
struct mt_finder {
	char *sysroot;      /* without a final slash; NULL: none */
	char **directories; /* of debug files, in order of preference */
	unsigned directory_count;
	uint32_t root_pid;
	struct mt_rights rights; /* of whom the recording is */
};
void mt_finder_init(struct mt_finder *, const struct mt_resolver_options *);
void mt_finder_free(struct mt_finder *);
enum mt_finder_result { MT_FOUND, MT_FOUND_NOT, MT_FOUND_OTHER, MT_FOUND_REFUSED };
/* Opens the module's file; *opened (caller frees) is the path that it was found under. */
enum mt_finder_result mt_finder_module(const struct mt_finder *, const char *path,
	struct mt_build_id, int *fd, char **opened);
/* Descriptor of the debug file, or -1. path: as the program sees the module; opened: where it was
 * found. link: of .gnu_debuglink with its checksum, or NULL. */
int mt_finder_debug(const struct mt_finder *, const struct mt_naming *, const char *path,
	const char *opened, struct mt_build_id, const char *link, uint32_t crc, char **found);
/* The same for a .gnu_debugaltlink in the file at beside. */
int mt_finder_alt(const struct mt_naming *, const char *beside, const char *name,
	struct mt_build_id);
int mt_finder_build_id(const struct mt_finder *, struct mt_build_id, char **found);

/* Returns false if libdw would take more memory for what is compressed in the file than such a file
 * may cost (mt_foreign_memory); memory_max: what the user allows, or 0. */
bool mt_elf_fits(int fd, uint64_t memory_max);

/* ---- what a function of a file returns, when that is a constant text ---- */
/* Appends the text with its NUL. */
enum mt_embedded mt_embedded_text(int fd, const char *function, struct mt_buffer *text);

/* ---- store ---- */
void mt_symbols_add_frame(struct mt_symbols *, const struct mt_frame *);
/* Frames from first on are those of the pc. */
void mt_symbols_set(struct mt_symbols *, uint32_t pc, uint32_t first);
/* How far behind the beginning of its function a pc with frames is, plus 1; 0: not known. */
void mt_symbols_set_offset(struct mt_symbols *, uint32_t pc, uint32_t offset);
void mt_symbols_copy_pc(struct mt_symbols *to, uint32_t to_pc, const struct mt_symbols *from,
	uint32_t from_pc);

/* A resolver like one that crashed, and without that module's file. The other one is left as it is,
 * for ever. */
struct mt_resolver *mt_resolver_instead_of(struct mt_resolver *crashed, uint32_t module);

/* Resolves a pc of the profile into frames under another number. */
void mt_resolver_pc_as(struct mt_resolver *, const struct mt_profile *, uint32_t pc,
	struct mt_symbols *, uint32_t as);

#endif
