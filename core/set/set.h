/* Several recordings as one (doc/sets.md): definitions once, totals added up, one line for each. */
#ifndef MT_SET_SET_H
#define MT_SET_SET_H

#include "core/model/profile.h"
#include "core/symbol/symbol.h"

/* One recording of a set. */
struct mt_set_member {
	char *path;          /* as it was asked for; owned */
	char *name;          /* of its program, without directories; owned */
	struct mt_info info; /* of the whole recording; string ids in it mean nothing */
	/* of what matched: groups that have a part in it, and what was not freed */
	uint32_t groups;
	uint64_t leaked_count, leaked_bytes;
};

/* What is added; all borrowed. The profiles have the same definitions. */
struct mt_set_part {
	const char *path;
	const struct mt_profile *whole, *matched; /* may be the same one */
	const struct mt_symbols *symbols;         /* NULL: no names are wanted */
};

struct mt_set_options {
	/* the time axis, from the start of the first recording to the end of the last one, as
	 * far as that is known before they are added; 0: not */
	uint64_t begin_unix_ns, end_unix_ns;
	bool filtered; /* what matched is not the whole */
	enum mt_set_stacks {
		MT_SET_STACKS,
		MT_SET_BELOW_PROCESSES, /* each process is the outermost frame of its backtraces */
		MT_SET_PROCESSES,       /* and the only one: one group for each */
	} stacks;
};

struct mt_set;
struct mt_set *mt_set_new(const struct mt_set_options *);
void mt_set_add(struct mt_set *, const struct mt_set_part *);
/* Nothing is added after this; before it, the following are not valid. */
void mt_set_finish(struct mt_set *);
/* Takes the groups for which keep[group] is 0 out of what matched; the set is finished and
 * filtered. Samples stay. */
void mt_set_keep(struct mt_set *, const uint8_t *keep);
/* What lies below the peak of what matched for certain: the highest of its members'. */
uint64_t mt_set_peak_least(const struct mt_set *);
uint32_t mt_set_paused(const struct mt_set *); /* members that were paused throughout */
/* Whether what its members leaked is what the set leaks. */
bool mt_set_knows_members(const struct mt_set *);
/* Whether each member has a leak check of its end. */
bool mt_set_is_leak_checked(const struct mt_set *);
/* Columns that some members have, and not all, so that they have no sum. */
uint32_t mt_set_columns_dropped(const struct mt_set *);
/* Of all, and of what matched: the same one unless the set is filtered. Borrowed from the set. */
const struct mt_profile *mt_set_whole(const struct mt_set *);
const struct mt_profile *mt_set_matched(const struct mt_set *);
struct mt_symbols *mt_set_symbols(struct mt_set *);
uint32_t mt_set_count(const struct mt_set *);
const struct mt_set_member *mt_set_member(const struct mt_set *, uint32_t i);
/* "cc1 [4711]", as the outermost frame says it; into a buffer that is emptied first. */
void mt_set_member_label(struct mt_buffer *, const struct mt_set_member *);
/* The set's profile and names are handed over: theirs are empty then. */
void mt_set_take(struct mt_set *, struct mt_profile *, struct mt_symbols *);
void mt_set_free(struct mt_set *);

/* The name of a profile's program: the first argument without directories, "?" if there is none. */
const char *mt_set_program_name(const struct mt_profile *);

#endif
