/* What record, run and pack say of a trace that is complete: the numbers of 'memtui info'. */
#include "tui/command/closing.h"

#include "core/export/number.h"
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
	mt_suppress(&c->suppressed, rules, now->profile, now->symbols);
	c->info = c->suppressed.profile.info;
	c->estimated = has_estimates(now->profile);
	mt_suppressions_free(rules);
	return status;
}

void mt_closing_free(struct mt_closing *c)
{
	mt_suppressed_free(&c->suppressed);
	mt_recording_free(c->recording);
}

void mt_closing_calls(char out[MT_CLOSING_LEN], const struct mt_info *info)
{
	char allocations[MT_NUMBER_EXACT_LEN], reallocations[MT_NUMBER_EXACT_LEN];
	int len;

	mt_number_exact(allocations, info->allocations);
	mt_number_exact(reallocations, info->reallocations);
	len = snprintf(out, MT_CLOSING_LEN, "%s%s %s", info->sample_bytes ? "~" : "", allocations,
		MT_PLURAL(allocations, "allocation"));
	if (info->reallocations)
		snprintf(out + len, MT_CLOSING_LEN - (size_t)len, " and %s %s", reallocations,
			MT_PLURAL(reallocations, "reallocation"));
}

void mt_closing_text(char out[MT_CLOSING_LEN], const struct mt_closing *c)
{
	char calls[MT_CLOSING_LEN], peak[MT_NUMBER_LEN], bytes[MT_NUMBER_LEN],
		blocks[MT_NUMBER_EXACT_LEN];
	const char *sampled = c->info.sample_bytes ? "~" : "";
	const char *about = c->estimated ? "~" : sampled;

	mt_closing_calls(calls, &c->info);
	mt_number_size(peak, c->info.peak_bytes);
	mt_number_size(bytes, c->info.leaked_bytes);
	mt_number_exact(blocks, c->info.leaked_count);
	int len = snprintf(out, MT_CLOSING_LEN, "%s, peak %s%s, %s %s%s in %s%s %s", calls, sampled,
		peak, mt_info_knows_leaks(&c->info) ? "leaked" : "live at its end", about, bytes,
		about, blocks, MT_PLURAL(blocks, "block"));

	if (!c->suppressed.all_blocks)
		return;
	mt_number_size(bytes, c->suppressed.all_bytes);
	mt_number_exact(blocks, c->suppressed.all_blocks);
	snprintf(out + len, MT_CLOSING_LEN - (size_t)len, " (%s in %s %s suppressed)", bytes,
		blocks, MT_PLURAL(blocks, "block"));
}
