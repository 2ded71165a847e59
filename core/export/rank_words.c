#include "core/export/rank_words.h"
#include "core/export/number.h"

#include <stdio.h>

static void freed_words(char out[64], const struct mt_rank *r)
{
	char count[MT_NUMBER_LEN];

	mt_number_count(count, r->freed);
	if (!r->freed)
		snprintf(out, 64, "none was freed");
	else
		snprintf(out, 64, "%s %s freed", count, r->freed == 1 ? "was" : "were");
}

static void age_words(char out[96], const struct mt_rank *r, uint64_t live)
{
	char then[MT_NUMBER_LEN];

	mt_number_time(then, r->then_ns);
	out[0] = '\0';
	unsigned part =
		live ? (unsigned)((r->old_count < live ? r->old_count : live) * 100 / live) : 0;

	if (!live)
		return;
	if (part == 100)
		snprintf(out, 96, "all of its blocks are older than %s; ", then);
	else if (r->exact || r->old_count)
		snprintf(out, 96, "%s%u%% of its blocks are older than %s; ",
			r->exact ? "" : "at least ", part, then);
	else
		snprintf(out, 96, "no block is known to be older than %s; ", then);
}

void mt_rank_words(char out[MT_RANK_WORDS], const struct mt_rank *r, uint64_t live)
{
	char slope[MT_NUMBER_LEN], span[MT_NUMBER_LEN], freed[64], age[96], windows[32];
	unsigned part = (unsigned)(r->part * 100 + 0.5);

	mt_number_size(slope, r->slope > 0 ? (uint64_t)(r->slope + 0.5) : 0);
	mt_number_time(span, r->span_ns);
	freed_words(freed, r);
	if (r->estimated) {
		snprintf(out, MT_RANK_WORDS,
			"estimated from totals: %s/s not freed since the first allocation, %u%% "
			"of all that is live; %s",
			slope, part, freed);
		return;
	}
	age_words(age, r, live);
	if (r->rising == r->windows)
		snprintf(windows, sizeof windows, "all of %u windows", r->windows);
	else
		snprintf(windows, sizeof windows, "%u of %u windows", r->rising, r->windows);
	if (r->certainty <= 0)
		snprintf(out, MT_RANK_WORDS, "does not grow: in %s over %s; %s%s", windows, span,
			age, freed);
	else
		snprintf(out, MT_RANK_WORDS,
			"grows %s/s for %s in %s, %u%% of all such growth; %s%s", slope, span,
			windows, part, age, freed);
}
