/* Names that were looked up before, in files of the user's cache directory, one per build-id: to
 * open the debug information of libc takes several times as long as all else that the recorder does
 * for a short run. A file is good for exactly the files that its names came from; whatever is wrong
 * with it, it is as if it were not there. */
#ifndef MT_SYMBOL_CACHE_H
#define MT_SYMBOL_CACHE_H

#include "core/symbol/internal.h"

#include <sys/stat.h>

/* bytes of module and debug file; less is read in a millisecond or two */
#define MT_CACHE_WORTH (512u << 10)
#define MT_CACHE_FILE_MAX (1u << 20)
#define MT_CACHE_MAX (64u << 20)

/* What tells that a file is still the same. All zero: there is none. */
struct mt_cache_stamp {
	uint64_t device, inode, size, modified_s, modified_ns, changed_s, changed_ns;
};
/* What an entry depends on; compared as bytes. */
struct mt_cache_key {
	char versions[52]; /* of memtui, of libdw, and whether names are demangled */
	uint32_t build_id_len;
	uint8_t build_id[MT_BUILD_ID_MAX];
	struct mt_cache_stamp module, debug;
};
void mt_cache_key(struct mt_cache_key *, struct mt_build_id, const struct stat *module,
	const struct stat *debug);

/* ---- one module's names ---- */
struct mt_cached {
	struct mt_cache_key key;
	/* not to be kept: of no use, or from more files than the key tells of */
	bool unfit;
	uint64_t *offsets;       /* ascending; what the file held */
	struct mt_symbols known; /* by position in offsets */
	uint32_t count;
	uint64_t *fresh_offsets; /* found since, in any order */
	struct mt_symbols fresh;
	uint32_t fresh_count, fresh_capacity;
};
struct mt_cached *mt_cached_new(const struct mt_cache_key *);
void mt_cached_free(struct mt_cached *);
/* Position in known, or -1. */
int64_t mt_cached_find(const struct mt_cached *, uint64_t offset);
/* Notes the frames of a pc; those of the name unknown are noted as without one. */
void mt_cached_add(struct mt_cached *, uint64_t offset, const struct mt_symbols *from, uint32_t pc,
	const char *unknown);
/* The name of frames that have none. */
extern const char mt_cached_unknown[];
/* All that is known as the bytes of a file, with what base holds besides (may be NULL); empty when
 * it is too much. */
void mt_cached_encode(const struct mt_cached *, const struct mt_cached *base,
	struct mt_buffer *out);
/* False, and the entry stays empty: damaged, or of another key. */
bool mt_cached_decode(struct mt_cached *, const void *bytes, size_t len);

/* ---- the directory ---- */
struct mt_cache;
/* Nothing is opened or made before it is needed. directory NULL or empty: NULL, which all functions
 * take. */
struct mt_cache *mt_cache_new(const char *directory);
void mt_cache_free(struct mt_cache *);
/* Takes what the file of this build-id holds, if that is for this key. */
void mt_cache_read(struct mt_cache *, struct mt_cached *);
/* Puts what is new with what the file holds by now. */
void mt_cache_write(struct mt_cache *, const struct mt_cached *);

#endif
