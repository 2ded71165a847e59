/* Private to core/set. */
#ifndef MT_SET_PARTS_H
#define MT_SET_PARTS_H

#include "core/model/define.h"
#include "core/set/set.h"

#define MT_SET_STEPS 1024u /* most of the time axis, but for the one that begins at its end */

struct mt_set {
	struct mt_set_options options;
	struct mt_profile whole, matched; /* matched: groups and sums are its own */
	struct mt_symbols symbols;
	struct mt_define define;
	struct mt_strings modules; /* keys, in the order of the whole profile's modules: id - 1 */
	uint64_t program_end, library_end; /* the addresses that are free yet */
	struct mt_set_member *members;
	uint32_t count, capacity;
	uint32_t column_members[MT_COLUMNS_MAX]; /* by column of the whole: how many have it */
	uint32_t columns_dropped;
	uint32_t whole_late, matched_late; /* entries of the profiles' late */
	uint64_t peak_least, wall_ns, lossy_ns;
	uint8_t *seen[MT_COLUMNS_MAX]; /* by column and group: it has a value */
	uint32_t seen_groups[MT_COLUMNS_MAX];
	uint32_t paused; /* members that were paused throughout */
	bool kept; /* mt_set_keep left out groups, so members' leaks are not those of the set */
	uint32_t leak_checked; /* members that are */
};

/* The ids of one part in the set. */
struct mt_set_ids {
	uint32_t *modules, *functions, *pcs, *nodes, *groups;
};
/* Defines what is new of the part. process: the pc that stands below the root; 0: none. */
void mt_set_define(struct mt_set *, const struct mt_set_part *, uint32_t process,
	struct mt_set_ids *);
void mt_set_ids_free(struct mt_set_ids *);
/* Makes the axis as long as this: steps double, and further ones are empty. The samples have room
 * for all steps. */
void mt_set_reach(struct mt_profile *set, uint64_t ns);
/* Lays the part's samples, of which matching blocks are counted, on the time axis. offset_ns: of
 * the part's begin. */
void mt_set_lay(struct mt_profile *set, const struct mt_profile *part, uint64_t offset_ns);

#endif
