/* What the resolver and its use of the cache share. */
#ifndef MT_SYMBOL_RESOLVER_H
#define MT_SYMBOL_RESOLVER_H

#include "core/symbol/cache.h"

enum state {
	FILE_OPEN,
	FILE_MISSING,
	FILE_OTHER,
	FILE_CHANGED,
	FILE_REFUSED,
	FILE_OVERSIZED, /* unpacked it would take more memory than it may */
	FILE_NONE       /* vdso */
};

struct file {
	char *path; /* as the program sees it */
	char *opened;
	uint8_t build_id[MT_BUILD_ID_MAX];
	uint32_t build_id_len;
	enum state state;
	bool asked;  /* a pc lies in it */
	bool loaded; /* debug information was looked for */
	bool without_lines;
	bool oversized; /* its debug information lies in a file that is FILE_OVERSIZED */
	bool refused;   /* a file that this one names may not be opened */
	char *debug;    /* the file of its debug information; NULL: itself */
	struct mt_dwarf_places places;
	int fd; /* own, to notice that the file was written over; -1 */
	struct stat opened_stat;
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct mt_elf_symbols symbols;
	struct mt_dwarf *dwarf;
	Dwarf_Addr dwarf_bias;
	Dwarf *alt; /* own */
	int alt_fd;
	struct mt_resolver *owner;
	bool borrowed; /* from a library, by another resolver */
	bool cache_asked;
	struct mt_cached *cached; /* names from before; NULL: none are kept of this file */
};

struct mt_resolver {
	struct mt_finder finder;
	uint64_t memory_max;
	struct mt_cache *cache; /* NULL: none */
	struct file **files;
	uint32_t file_count, file_capacity;
	uint32_t *modules; /* profile's module -> file + 1; 0: not opened */
	uint32_t module_count, module_capacity;
	struct mt_strings raw; /* cache of demangled names, by string id */
	char **demangled;
	uint32_t demangled_count, demangled_capacity;
	char *missing;
};

/* The name of a pc that has none: module and offset. Caller frees. */
char *mt_resolver_unknown(const struct mt_profile *, const struct mt_pc *);
void mt_resolver_add_unknown(const struct mt_profile *, const struct mt_pc *, struct mt_symbols *,
	const char *source, uint32_t line);
/* raw, source: NULL or empty where there is none. */
void mt_resolver_add_frame(struct mt_symbols *, const char *function, const char *raw,
	const char *source, uint32_t line);

/* With whose rights the files that it names are opened. */
struct mt_naming mt_file_naming(const struct file *, bool *refused);

/* ---- names from the cache, and for it (cached_frames.c); the file is open ---- */
/* Adds the frames of a pc if the cache has them. offset: as of mt_pc_symbols. */
bool mt_file_cached_frames(struct file *, const struct mt_profile *, const struct mt_pc *,
	struct mt_symbols *, uint32_t *offset);
/* Notes frames that the file itself gave. as: their number in the symbols. */
void mt_file_remember(struct file *, const struct mt_profile *, const struct mt_pc *,
	const struct mt_symbols *, uint32_t as);
/* Puts what was noted into the cache. */
void mt_file_keep(const struct file *);

#endif
