#include "core/export/losses.h"

#include <stdio.h>
#include <string.h>

#include "core/export/number.h"
#include "core/wire.h"

static const struct loss {
	const char *words;
	bool of_counter; /* else of info */
	size_t at;       /* counter, or offset */
} all[] = {
/* clang-format off */
#define X(name, words) {words, false, offsetof(struct mt_info, name)},
	MT_INFO_COUNTS(X)
#undef X
#define X(id, name, words) {words, true, MT_COUNTER_##id},
	MT_COUNTERS(X)
#undef X
	/* clang-format on */
};

uint32_t mt_loss_count(void)
{
	return sizeof all / sizeof *all;
}

static enum mt_loss_kind of_counter(size_t counter)
{
	bool loss = counter >= MT_COUNTER_NODES_FULL && counter != MT_COUNTER_BOOTSTRAP
		&& counter != MT_COUNTER_CHECKED_STACKS && counter != MT_COUNTER_CHECKED_OTHERWISE
		&& counter != MT_COUNTER_NOT_COMPARABLE
		&& counter != MT_COUNTER_UNSEEN_LIBRARIES; /* a blind spot */

	bool note = counter == MT_COUNTER_BAD_DEPTH || counter == MT_COUNTER_UNTOLD_FREES
		|| counter == MT_COUNTER_UNKNOWN_RATE || counter == MT_COUNTER_UNLISTED_BLOCKS;

	return note ? MT_LOSS_NOTE : loss ? MT_LOSS_LOST : MT_LOSS_NONE;
}

static enum mt_loss_kind of_info(size_t offset)
{
	switch (offset) {
	case offsetof(struct mt_info, ambiguous): return MT_LOSS_DOUBTS;
	case offsetof(struct mt_info, forked_children): return MT_LOSS_NONE; /* blind spots */
	case offsetof(struct mt_info, inherited_frees):
	case offsetof(struct mt_info, freed_before_attach):
	case offsetof(struct mt_info, unrecorded_frees): return MT_LOSS_NOTE;
	case offsetof(struct mt_info, implied_unmaps):
	case offsetof(struct mt_info, log_dropped): return MT_LOSS_LOST;
	}
	return offset >= offsetof(struct mt_info, lost_events)
			&& offset < offsetof(struct mt_info, wall_ns)
		? MT_LOSS_LOST
		: MT_LOSS_NONE;
}

enum mt_loss_kind mt_loss_kind(uint32_t loss)
{
	return all[loss].of_counter ? of_counter(all[loss].at) : of_info(all[loss].at);
}

uint64_t mt_loss_value(uint32_t loss, const struct mt_info *info)
{
	uint64_t value;

	if (all[loss].of_counter)
		return info->counters[all[loss].at];
	memcpy(&value, (const char *)info + all[loss].at, sizeof value);
	return value;
}

void mt_loss_text(char out[MT_LOSS_LEN], uint32_t loss, const struct mt_info *info)
{
	uint64_t value = mt_loss_value(loss, info);
	const char *words = all[loss].words;
	char number[MT_NUMBER_EXACT_LEN];

	if (!all[loss].of_counter && all[loss].at == offsetof(struct mt_info, inherited_frees)
		&& info->origin != MT_ORIGIN_FORKED)
		words = "free[|s] of [a block|blocks] from before the recording began";
	mt_number_exact(number, value);
	size_t len = (size_t)snprintf(out, MT_LOSS_LEN, "%s ", number);

	mt_number_words(out + len, MT_LOSS_LEN - len, value, words);
}
