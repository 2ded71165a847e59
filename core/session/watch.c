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

/* ---- signals --------------------------------------------------------------------------------- */

static const char *name_of(uint32_t signal)
{
#define X(name, number) \
	if (signal == number) \
		return "SIG" #name;
	MT_SIGNAL_NUMBERS(X)
#undef X
	return "a signal";
}

static void tell_refusals(struct mt_image *i, uint32_t refused)
{
	const struct mt_session_options *o = i->recorder->options;
	struct mt_err err;

	for (uint32_t use = 0; use < MT_SIGNAL_USES; use++) {
		if (!(refused >> use & 1))
			continue;
		mt_fail(&err, -EBUSY,
			"process %d handles or ignores %s itself, so memtui leaves it alone",
			(int)i->process->pid, name_of(o->signals[use]));
		mt_recorder_trouble_of(i->recorder, i->process, &err);
	}
}

void mt_watch_signals(struct mt_image *i)
{
	static const char *const labels[] = {"report-by-size", "report-by-count"};
	struct mt_wire_header *h = i->segment.header;
	uint32_t refused = __atomic_load_n(&h->signals_refused, __ATOMIC_RELAXED);

	if (refused && !i->refusals_told)
		tell_refusals(i, refused);
	i->refusals_told = refused != 0;
	for (uint32_t by = 0; by < 2; by++) {
		uint32_t asked = __atomic_load_n(&h->reports[by], __ATOMIC_RELAXED);

		if (asked == i->reports[by] || !i->begun || i->failure.code)
			continue;
		i->reports[by] = asked; /* several in one look are one report */
		mt_snapshot_file_report(i->recorder, i,
			name_of(i->recorder->options->signals[MT_SIGNAL_REPORT + by]), labels[by],
			by ? "leaked_count" : "leaked_size");
	}
}
