/* What record, run and pack say of a trace that is complete: the numbers of 'memtui info'. */
#include "tui/command/closing.h"

#include "core/export/number.h"
#include "core/model/verdicts.h"
#include "core/query/suppress.h"

#include <string.h>

static bool has_estimates(const struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->group_count; i++)
		if (mt_profile_is_estimated(p, &p->groups[i]))
			return true;
	return false;
}

int mt_closing_load(struct mt_closing *c, const char *path, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	struct mt_arguments own = *arguments;
	struct mt_open_options options = {0};
	struct mt_suppressions *rules;

	own.applies_suppressions = true;
	*c = (struct mt_closing){.recording = mt_recording_open(path, &options, err)};
	if (!c->recording)
		return err->code;
	int status = mt_command_suppressions(&rules, &own, err);

	if (status < 0)
		return status;
	mt_recording_read_names(c->recording, NULL);
	const struct mt_generation *now = &c->recording->now;

	mt_command_own_suppressions(rules, &own, now->symbols);
	if (now->profile->verdicts && now->profile->verdicts->at_end)
		mt_lost_keep(&c->lost, now->profile);
	mt_suppress(&c->suppressed, rules, c->lost.groups ? &c->lost : now->profile, now->symbols);
	c->info = c->suppressed.profile.info;
	c->estimated = has_estimates(now->profile);
	mt_suppressions_free(rules);
	return status;
}

void mt_closing_free(struct mt_closing *c)
{
	mt_suppressed_free(&c->suppressed);
	mt_lost_free(&c->lost);
	mt_recording_free(c->recording);
}

void mt_closing_calls(char out[MT_CLOSING_LEN], const struct mt_info *info)
{
	char allocations[MT_NUMBER_EXACT_LEN], reallocations[MT_NUMBER_EXACT_LEN];
	int len;

	mt_number_exact(allocations, info->allocations);
	mt_number_exact(reallocations, info->reallocations);
	len = snprintf(out, MT_CLOSING_LEN, "%s%s %s", mt_info_is_sampled(info) ? "~" : "",
		allocations, MT_PLURAL(allocations, "allocation"));
	if (info->reallocations)
		snprintf(out + len, MT_CLOSING_LEN - (size_t)len, " and %s %s", reallocations,
			MT_PLURAL(reallocations, "reallocation"));
}

static const char *how_called(const struct mt_closing *c)
{
	return c->lost.groups ? "lost"
		: mt_info_knows_leaks(&c->info)
		? "leaked"
		: "live at its end";
}

static int add_sum(char *out, size_t room, uint64_t bytes, uint64_t blocks, const char *what)
{
	char size[MT_NUMBER_LEN], count[MT_NUMBER_EXACT_LEN];

	mt_number_size(size, bytes);
	mt_number_exact(count, blocks);
	return snprintf(out, room, " (%s in %s %s %s)", size, count, MT_PLURAL(count, "block"),
		what);
}

void mt_closing_text(char out[MT_CLOSING_LEN], const struct mt_closing *c)
{
	char calls[MT_CLOSING_LEN], peak[MT_NUMBER_LEN], bytes[MT_NUMBER_LEN],
		blocks[MT_NUMBER_EXACT_LEN];
	const char *sampled = mt_info_is_sampled(&c->info) ? "~" : "";
	const char *about = c->estimated ? "~" : sampled;

	mt_closing_calls(calls, &c->info);
	mt_number_size(peak, c->info.peak_bytes);
	mt_number_size(bytes, c->info.leaked_bytes);
	mt_number_exact(blocks, c->info.leaked_count);
	int len = snprintf(out, MT_CLOSING_LEN, "%s, peak %s%s, %s %s%s in %s%s %s", calls, sampled,
		peak, how_called(c), about, bytes, about, blocks, MT_PLURAL(blocks, "block"));

	if (c->lost.groups)
		len += add_sum(out + len, MT_CLOSING_LEN - (size_t)len,
			c->recording->now.profile->info.leaked_bytes,
			c->recording->now.profile->info.leaked_count, "not freed");

	if (!c->suppressed.all_blocks)
		return;
	add_sum(out + len, MT_CLOSING_LEN - (size_t)len, c->suppressed.all_bytes,
		c->suppressed.all_blocks, "suppressed");
}
