#include "core/export/oom.h"

#include "core/base/buffer.h"
#include "core/export/number.h"

#include <stdio.h>
#include <string.h>

bool mt_oom_words(char out[MT_OOM_LEN], const struct mt_info *info)
{
	char limit[MT_NUMBER_LEN];

	*out = '\0';
	if (!info->oom_killed)
		return false;
	mt_number_size(limit, info->oom_limit_bytes);
	if (info->oom_killed == MT_OOM_PROBABLY)
		snprintf(out, MT_OOM_LEN,
			"probably OOM-killed: the system killed a process for "
			"want of memory at that time");
	else if (info->oom_limit_bytes)
		snprintf(out, MT_OOM_LEN, "OOM-killed at %s", limit);
	else
		snprintf(out, MT_OOM_LEN, "OOM-killed: the system had no memory left");
	return true;
}

uint32_t mt_oom_group(const struct mt_profile *p)
{
	uint32_t most = MT_NO_GROUP;

	for (uint32_t i = 0; i < p->group_count; i++)
		if (p->groups[i].live_bytes
			&& (most == MT_NO_GROUP
				|| p->groups[i].live_bytes > p->groups[most].live_bytes))
			most = i;
	return most;
}

bool mt_oom_sentence(char out[MT_OOM_LEN], const struct mt_profile *p,
	const struct mt_symbols *symbols)
{
	uint32_t group = mt_oom_group(p);
	struct mt_backtrace b = {0};
	const struct mt_backtrace_frame *frame;
	char bytes[MT_NUMBER_LEN], blocks[MT_NUMBER_EXACT_LEN];

	if (!mt_oom_words(out, &p->info))
		return false;
	if (group == MT_NO_GROUP)
		return true;
	mt_backtrace_get(&b, p, symbols, group);
	frame = mt_backtrace_own(&b);
	mt_number_size(bytes, p->groups[group].live_bytes);
	mt_number_exact(blocks, p->groups[group].live_count);

	const char *name = !frame  ? "?"
		: *frame->function ? frame->function
				   : mt_base_name(frame->module);
	size_t len = strlen(out);

	snprintf(out + len, MT_OOM_LEN - len, "; most was held by %.200s (group %u): %s%s in %s %s",
		name, group, mt_profile_is_estimated(p, &p->groups[group]) ? "~" : "", bytes,
		blocks, MT_PLURAL(blocks, "block"));
	mt_backtrace_free(&b);
	return true;
}
