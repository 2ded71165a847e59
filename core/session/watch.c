#include "core/session/watch.h"

#include "core/base/cgroup.h"
#include "core/session/image_parts.h"
#include "core/session/snapshot_file.h"

#include <errno.h>

int mt_watch_begin(struct mt_recorder *r, struct mt_err *err)
{
	const struct mt_session_options *o = r->options;
	struct mt_watch *w = mt_alloc(sizeof *w);
	struct mt_cgroup group;

	r->watch = w;
	if (!o->condition_count)
		return 0;
	mt_cgroup_of(&group, r->program);
	w->limit_bytes = mt_cgroup_limit(&group);
	w->conditions = mt_alloc(o->condition_count * sizeof *w->conditions);
	for (; w->count < o->condition_count; w->count++) {
		struct mt_condition *c = &w->conditions[w->count];

		if (mt_condition_parse(c, o->conditions[w->count], err) < 0)
			return err->code;
		if (c->percent && !w->limit_bytes)
			return mt_fail(err, -EINVAL,
				"--snapshot-when %s: process %d is in no control group with a "
				"memory limit that can be seen; give a size, no percentage",
				c->text, (int)r->program);
	}
	return 0;
}

void mt_watch_image(const struct mt_watch *w, struct mt_image *i, uint64_t now)
{
	struct mt_condition_values values = {
		.rss_bytes = i->sampler.memory.rss_bytes,
		.live_bytes = i->model.live_bytes,
		.limit_bytes = w->limit_bytes,
	};

	if (!w->count || !i->begun || i->failure.code)
		return;
	mt_condition_sample(&i->conditions, now, values.live_bytes);
	for (uint32_t n = 0; n < w->count; n++) {
		const struct mt_condition *c = &w->conditions[n];

		if (!mt_condition_crossed(&i->conditions, c, n, &values))
			continue;
		/* as a marker, so that the timeline shows it too */
		mt_merge_mark(&i->merge, c->text, mt_image_taken_up_to(i));
		mt_snapshot_file_take(i->recorder, i, c->text, c->label);
	}
}
