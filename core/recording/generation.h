/* What a recording is at a moment: totals, names and events, each a part that several may hold.
 * Nobody changes a part that somebody else holds. */
#ifndef MT_RECORDING_GENERATION_H
#define MT_RECORDING_GENERATION_H

#include "core/model/profile.h"
#include "core/symbol/symbol.h"
#include "core/trace/trace.h"

struct mt_generation {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols; /* NULL in a hold without names */
	struct mt_trace_reader *reader;   /* NULL: it has only totals */
};

/* Empty parts. */
void mt_generation_init(struct mt_generation *);
/* The same parts once more, for another thread; to be released. names: whether it will read them:
 * while it holds them no new ones can come. In the thread that changes parts. */
struct mt_generation mt_generation_hold(const struct mt_generation *, bool names);
/* The names alone, for who has totals and events from elsewhere. */
struct mt_generation mt_generation_hold_names(const struct mt_generation *);
/* From any thread. Zeroed is as released. */
void mt_generation_release(struct mt_generation *);
/* The part, to be changed; NULL: somebody else holds it. */
struct mt_profile *mt_generation_change_profile(struct mt_generation *);
struct mt_symbols *mt_generation_change_symbols(struct mt_generation *);
/* Empty names in the place of those that are there, whose holders keep them. */
void mt_generation_forget_symbols(struct mt_generation *);
/* Other totals, whose content is taken, and events. */
void mt_generation_put(struct mt_generation *, struct mt_profile *, struct mt_trace_reader *);
/* The totals and events of another generation, beside the names that are there. */
void mt_generation_share_totals(struct mt_generation *, const struct mt_generation *with);

#endif
