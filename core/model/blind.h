/* Blind spots: what the recording could not see, as facts of the profile (doc/blind-spots.md). */
#ifndef MT_MODEL_BLIND_H
#define MT_MODEL_BLIND_H

#include "core/model/profile.h"

#define MT_BLIND_MAX 1024u /* entries of a profile; later ones join one entry a reason */

/* Adds `count` processes and `bytes` to the entry of this reason and path, or makes one. path: may
 * be "". Returns the entry's index. */
uint32_t mt_blind_add(struct mt_profile *, enum mt_blind_reason, uint32_t pid, const char *path,
	uint32_t count, uint64_t bytes);
/* An entry whose count or bytes are known as a whole: sets them. A count of 0 hides the entry. */
void mt_blind_set(struct mt_profile *, uint32_t index, uint32_t count, uint64_t bytes);

/* True if the entry is about an allocator of the process itself, not about another program. */
bool mt_blind_is_own(const struct mt_blind *);
/* The first entry about the process's own allocations; NULL: none. */
const struct mt_blind *mt_blind_own(const struct mt_profile *);
/* Processes that were not recorded, as far as entries name them. */
uint64_t mt_blind_processes(const struct mt_profile *);
/* True if there is an entry that is not hidden. */
bool mt_blind_any(const struct mt_profile *);
/* Brings the entries up to date that follow from info: an allocator of its own, libraries and
 * processes that the tracer counted without a name. Sets info.forked_children to all processes. */
void mt_blind_derive(struct mt_profile *);
/* The same for a loaded trace: an older one has no list, but the counts. */
void mt_blind_derive_old(struct mt_profile *);
const char *mt_blind_reason_name(unsigned reason); /* as in JSON: "static"; "?" if out of range */

#endif
