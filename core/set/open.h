/* A set that is opened as one recording, several members at a time (doc/sets.md): totals and names
 * alone. */
#ifndef MT_SET_OPEN_H
#define MT_SET_OPEN_H

#include "core/recording/recording.h"
#include "core/session/family.h"
#include "core/set/set.h"

struct mt_set_opened {
	struct mt_recording *recording; /* totals and names of all; to be freed by its owner */
	/* The members, a process each; the first one, without a number, stands for all. */
	struct mt_family members;
	uint32_t count;    /* of recordings */
	bool from_summary; /* they were not read again */
	char *unread;      /* a sentence on those that could not be read; NULL: all were */
	/* the same on those that are incomplete or damaged, or lost events; NULL: none is */
	char *troubles;
	/* the program of one has suppressions of its own, which must not act on others */
	bool own_rules;
};

/* options: events is ignored. cache: directory of summaries (summary.h); NULL: none. -ECANCELED; or
 * none could be read. */
int mt_set_open(struct mt_set_opened *, char *const *paths, uint32_t count, enum mt_set_stacks,
	const char *cache, const struct mt_open_options *, struct mt_err *err);
void mt_set_opened_free(struct mt_set_opened *); /* may be zeroed */

/* The time axis of these, from what their traces say without being loaded. What is no trace is laid
 * between the others; a process (number) goes on until now. */
void mt_set_find_axis(struct mt_set_options *, char *const *paths, uint32_t count);

#endif
