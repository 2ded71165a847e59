/* Groups that are suppressed, and so in no list: by the rules of the program and the built-in
 * ones, as in reports, or because somebody judged them so. */
#ifndef MT_TUI_LEFT_OUT_H
#define MT_TUI_LEFT_OUT_H

#include "core/query/fingerprint.h"
#include "tui/app.h"

/* Which groups these rules suppress, as of these names. */
struct mt_by_rule {
	uint8_t *groups;
	uint32_t count;
	uint64_t names; /* generation of the symbols */
};
/* Brings it up to date. It holds no group as long as it is not known what leaks. */
void mt_by_rule_update(struct mt_by_rule *, const struct mt_data *);
static inline bool mt_by_rule_has(const struct mt_by_rule *r, uint32_t group)
{
	return group < r->count && r->groups[group];
}

/* The selection of the trace that the shown one is compared with, without what is suppressed in
 * either: else what is hidden on one side alone would look new or gone. Starts zeroed. */
struct mt_left_out {
	struct mt_by_rule by_rule;
	struct mt_fingerprints prints;
	struct mt_selection kept;
};
struct mt_diff_pairs;
/* pairs: a is the other trace, b the shown one. Valid until the next call. */
const struct mt_selection *mt_left_out_of(struct mt_left_out *, struct mt_app *,
	const struct mt_data *other, const struct mt_diff_pairs *);
void mt_left_out_free(struct mt_left_out *); /* also before it is used for another trace */

#endif
