/* What was read of a set, kept in a file, so that the next opening reads that one file. It is a
 * trace with the set's totals and names and a block of its members. It is good for exactly the
 * files that it was made from; whatever is wrong with it, it is as if it were not there. */
#ifndef MT_SET_SUMMARY_H
#define MT_SET_SUMMARY_H

#include "core/set/open.h"

#define MT_SET_SUMMARY_LEAST 16u /* recordings: fewer are read as fast */

struct mt_set_summary;
/* directory: of the cache; NULL: none. NULL: these are not to be kept, since one is no file, or may
 * still be written. */
struct mt_set_summary *mt_set_summary_new(const char *directory, char *const *paths, uint32_t count,
	enum mt_set_stacks);
/* False: there is none. */
bool mt_set_summary_read(struct mt_set_summary *, struct mt_set_opened *);
/* The profile is complete, and about to be shown; what cannot be kept is not. */
void mt_set_summary_write(struct mt_set_summary *, struct mt_profile *, const struct mt_symbols *,
	const struct mt_family *members);
void mt_set_summary_free(struct mt_set_summary *); /* may be NULL */

#endif
