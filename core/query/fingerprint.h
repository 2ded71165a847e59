/* A name of a group that a rebuild leaves alone: a hash of its backtrace by function names and of
 * its function of call. Addresses, lines and files are not in it, so moved code, another build
 * directory and another load address do not matter; groups that differ by lines alone have one
 * fingerprint. */
#ifndef MT_QUERY_FINGERPRINT_H
#define MT_QUERY_FINGERPRINT_H

#include "core/query/query.h"

/* Of all groups of a profile that grows; what was found stays but for the stacks in which a name
 * was missing. */
struct mt_fingerprints {
	uint64_t *names; /* by frame of the symbols: 0 not asked yet */
	uint32_t name_count;
	uint64_t *nodes; /* by node: of the frames from the outermost on */
	uint8_t *flags;  /* by node */
	uint32_t node_count;
	uint64_t generation; /* of the symbols */
};
/* Brings them up to date; another profile or other symbols need another struct. */
void mt_fingerprints_update(struct mt_fingerprints *, const struct mt_profile *,
	const struct mt_symbols *);
uint64_t mt_fingerprints_get(const struct mt_fingerprints *, const struct mt_profile *,
	uint32_t group);
/* Some frame was not looked up yet: with its name the fingerprint will be another one. */
bool mt_fingerprints_open(const struct mt_fingerprints *, const struct mt_profile *,
	uint32_t group);
void mt_fingerprints_free(struct mt_fingerprints *);

/* How much of a function's name counts: without what compilers put behind it for their copies
 * (.part.0, .constprop.1, .isra.2, .cold, [clone …]) and without a symbol's version (@GLIBC…). */
size_t mt_fingerprint_name(const char *function);

#endif
