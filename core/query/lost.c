#include "core/query/lost.h"
#include "core/model/verdicts.h"

#include <stdlib.h>
#include <string.h>

void mt_lost_keep(struct mt_profile *out, const struct mt_profile *p)
{
	*out = *p;
	out->lost_alone = true;
	out->late = NULL;
	out->groups = mt_alloc((p->group_count + 1ull) * sizeof *out->groups);
	out->group_capacity = p->group_count + 1;
	if (p->group_count)
		memcpy(out->groups, p->groups, p->group_count * sizeof *out->groups);
	out->info.leaked_count = out->info.leaked_bytes = 0;
	for (uint32_t i = 0; i < p->group_count; i++)
		out->groups[i].live_count = out->groups[i].live_bytes = 0;
	for (uint32_t i = 0; i < p->verdicts->group_count; i++) {
		const struct mt_verdict_group *g = &p->verdicts->groups[i];

		if (g->verdict > MT_VERDICT_INDIRECT || !p->groups[g->group].live_count)
			continue; /* a filter may have left the group out */
		out->groups[g->group].live_count += g->sum.count;
		out->groups[g->group].live_bytes += g->sum.bytes;
		out->info.leaked_count += g->sum.count;
		out->info.leaked_bytes += g->sum.bytes;
	}
}

void mt_lost_free(struct mt_profile *out)
{
	free(out->groups);
	*out = (struct mt_profile){0};
}
