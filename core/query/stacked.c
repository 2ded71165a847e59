#include "core/query/stacked.h"

#include "core/model/live.h"
#include "core/model/sampling.h"
#include "core/query/sort.h"

#include <errno.h>
#include <stdlib.h>

/* Who an allocation belongs to: a key by its group or its thread. */
struct owners {
	uint32_t *keys;
	uint32_t key_count, count; /* count: of groups or threads */
	bool by_thread, by_count;
};

static void find_owners(struct owners *o, struct mt_strings *names, const struct mt_source *source,
	enum mt_rows_by by)
{
	const struct mt_profile *p = source->profile;
	uint32_t count = o->by_thread ? p->thread_count : p->group_count;
	struct mt_buffer name = {0};

	o->count = count;
	o->keys = mt_resize(NULL, ((size_t)count + 1) * sizeof *o->keys);
	mt_strings_init(names);
	for (uint32_t i = 0; i < count && by != MT_ROWS_BY_BACKTRACE; i++) {
		name.len = 0;
		if (o->by_thread)
			mt_buffer_printf(&name, "%u %s", p->threads[i].tid,
				mt_strings_get(&p->strings, p->threads[i].name));
		else
			mt_rows_name(&name, p, source->symbols, i, by);
		o->keys[i] = mt_strings_add(names, (const char *)name.data);
	}
	for (uint32_t i = 0; i < count && by == MT_ROWS_BY_BACKTRACE; i++)
		o->keys[i] = i;
	o->key_count = by == MT_ROWS_BY_BACKTRACE ? count : names->count;
	mt_buffer_free(&name);
}

/* ---- over the events ---- */

struct walk {
	const struct owners *owners;
	const struct mt_profile *profile;
	/* group: the key; size and usable: the bytes and blocks that the block stands for */
	struct mt_live live;
	uint64_t allocations, blocks, bytes; /* so far; live now */
	uint64_t until_ns;                   /* != 0: what is freed later stays */
	void (*before)(struct walk *, const struct mt_event *);
	void (*change)(struct walk *, uint32_t key, uint64_t change); /* modulo 2^64 */
	struct mt_err *err;
	int stop; /* != 0: ends the walk, which returns it */
};

static void go_up(struct walk *w, const struct mt_live_cell *c)
{
	w->blocks += c->usable;
	w->bytes += c->size;
	w->change(w, c->group, w->owners->by_count ? c->usable : c->size);
}

static void go_down(struct walk *w, const struct mt_live_cell *c)
{
	w->blocks -= c->usable;
	w->bytes -= c->size;
	w->change(w, c->group, w->owners->by_count ? -c->usable : -c->size);
}

static int on_change(void *of, const struct mt_event *e, struct mt_live_cell *c,
	enum mt_block_change change)
{
	struct walk *w = of;

	if (change == MT_BLOCK_CONTINUE)
		return 0;
	w->before(w, e);
	if (change == MT_BLOCK_RESTORE)
		go_up(w, c);
	else
		go_down(w, c);
	return w->stop;
}

/* Not all blocks match, and those that are freed behind the range stay: an event may name one that
 * is not in the table, or not in the right state. */
static const struct mt_live_reader walking = {.act = on_change};

static int begin_block(struct walk *w, const struct mt_event *e)
{
	const struct owners *o = w->owners;
	uint32_t owner = o->by_thread ? e->thread : e->group;

	if (owner >= o->count)
		return mt_fail(w->err, -EINVAL,
			"the events are damaged: an allocation names an undefined %s",
			o->by_thread ? "thread" : "group");
	if (e->type == MT_EVENT_REALLOCATE)
		mt_live_change(&w->live, e->previous, MT_BLOCK_CONTINUE, &walking, w, e);
	w->before(w, e);
	struct mt_weight weight = mt_profile_weigh(w->profile, e->group, e->number, e->size);
	struct mt_live_cell *c = mt_live_insert(&w->live, e->number);

	c->group = o->keys[owner];
	c->size = weight.bytes;
	c->usable = weight.blocks;
	w->allocations += weight.blocks;
	go_up(w, c);
	return w->stop;
}

static int on_event(void *context, const struct mt_event *e)
{
	struct walk *w = context;
	const struct mt_live_cell *c;

	if (e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE)
		return begin_block(w, e);
	c = mt_live_find(&w->live, e->number);
	if (!c)
		return w->stop;
	bool released = c->state == MT_BLOCK_RELEASED;

	if (w->until_ns && e->time_ns > w->until_ns && !released)
		return w->stop;
	/* a free of a released block: of its realloc, the first half alone matches */
	return mt_live_change(&w->live, e->number,
		e->type == MT_EVENT_FREE && released ? MT_BLOCK_CONTINUE : mt_block_change_of(e),
		&walking, w, e);
}

static int walk(struct walk *w, const struct mt_source *source, struct mt_filter *filter,
	struct mt_err *err)
{
	mt_live_init(&w->live);
	w->profile = source->profile;
	w->err = err;
	int status = mt_scan_events(source, filter, on_event, w, err);

	mt_live_free(&w->live);
	return status;
}

/* ---- first: who has which share of the peak ---- */

struct share {
	uint64_t live, at_peak, epoch;
};
struct sharing {
	struct walk walk;
	struct share *shares; /* by key */
	uint64_t total, peak, epoch;
};

static void nothing_before(struct walk *w, const struct mt_event *e)
{
	(void)w;
	(void)e;
}

/* As the model does it: what a key holds at the peak is saved before its next change. */
static void change_share(struct walk *w, uint32_t key, uint64_t change)
{
	struct sharing *s = (struct sharing *)w;
	struct share *share = &s->shares[key];

	if (share->epoch != s->epoch)
		*share = (struct share){share->live, share->live, s->epoch};
	share->live += change;
	s->total += change;
	if (s->total > s->peak) {
		s->peak = s->total;
		s->epoch++;
	}
}

static int share_by_events(uint64_t *shares, const struct owners *owners,
	const struct mt_source *source, struct mt_filter *filter, struct mt_err *err)
{
	struct sharing s = {
		.walk = {.owners = owners, .before = nothing_before, .change = change_share}};

	s.shares = mt_alloc(((size_t)owners->key_count + 1) * sizeof *s.shares);
	int status = walk(&s.walk, source, filter, err);

	for (uint32_t key = 0; key < owners->key_count; key++)
		shares[key] =
			s.shares[key].epoch == s.epoch ? s.shares[key].at_peak : s.shares[key].live;
	free(s.shares);
	return status;
}

static void share_by_totals(uint64_t *shares, const struct owners *owners,
	const struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->group_count; i++)
		shares[owners->keys[i]] += p->groups[i].at_peak_bytes;
}

/* The first of them become series, and what the owners name is a series from now on. */
static void choose(struct mt_stacked *out, struct owners *owners, const uint64_t *shares,
	uint32_t top, bool groups)
{
	struct mt_sort_entry *order =
		mt_resize(NULL, ((size_t)owners->key_count + 1) * sizeof *order);
	uint32_t *series = mt_resize(NULL, ((size_t)owners->key_count + 1) * sizeof *series);

	for (uint32_t key = 0; key < owners->key_count; key++)
		order[key] = (struct mt_sort_entry){~shares[key], key};
	mt_sort(order, owners->key_count);
	for (uint32_t i = 0; i < owners->key_count; i++) {
		uint32_t key = order[i].id, at = out->count;
		bool chosen = at < top && at < MT_STACKED_MOST && shares[key];

		series[key] = chosen ? at : UINT32_MAX;
		if (!chosen)
			continue;
		out->series[at] = (struct mt_stacked_series){
			.name = groups ? 0 : key,
			.group = groups ? key : MT_NO_GROUP,
			.at_peak = shares[key],
		};
		out->count++;
	}
	struct mt_stacked_series *others = &out->series[out->count];

	*others = (struct mt_stacked_series){.group = MT_NO_GROUP};
	for (uint32_t key = 0; key < owners->key_count; key++)
		others->at_peak += series[key] == UINT32_MAX ? shares[key] : 0;
	for (uint32_t i = 0; i < owners->count; i++)
		owners->keys[i] = series[owners->keys[i]] == UINT32_MAX
			? out->count
			: series[owners->keys[i]];
	free(order);
	free(series);
}

/* ---- then: what they hold, step by step ---- */

/* Where a step ends. Older recorders, when they were behind, have counted events into later steps
 * than their times tell. */
enum ends {
	BY_TIME,         /* as samples were made that are of the same events */
	BY_TIME_CHECKED, /* which is found out */
	BY_SAMPLES,      /* where as many blocks were allocated and live as the sample says */
};

struct filling {
	struct walk walk;
	struct mt_stacked *out;
	const struct mt_profile *shown;
	enum ends ends;
	uint32_t step;
	uint64_t step_allocations; /* up to the end of the step */
	uint64_t live[MT_STACKED_MOST + 1], most[MT_STACKED_MOST + 1];
};

static bool is_as_sampled(const struct filling *f)
{
	const struct mt_sample *sample = &f->shown->samples[f->step];

	return f->walk.blocks == sample->live_count && f->walk.bytes == sample->live_bytes;
}

static void end_step(struct filling *f)
{
	if (f->ends == BY_TIME_CHECKED && !is_as_sampled(f))
		f->walk.stop = 1;
	for (uint32_t i = 0; i <= f->out->count; i++) {
		f->out->series[i].live[f->step] = f->live[i];
		f->out->series[i].most[f->step] = f->most[i];
		f->most[i] = f->live[i];
	}
	if (++f->step < f->out->steps)
		f->step_allocations += f->shown->samples[f->step].allocations;
}

static bool has_ended(struct filling *f, const struct mt_event *e)
{
	bool full = f->walk.allocations == f->step_allocations;

	if (f->ends == BY_SAMPLES && full && is_as_sampled(f))
		return true;
	if (f->ends == BY_SAMPLES && full && e->type <= MT_EVENT_REALLOCATE)
		f->ends = BY_TIME; /* they are not of these events */
	return f->ends != BY_SAMPLES && e->time_ns / f->shown->step_ns > f->step;
}

static void before_change(struct walk *w, const struct mt_event *e)
{
	struct filling *f = (struct filling *)w;

	while (f->step + 1 < f->out->steps && has_ended(f, e))
		end_step(f);
}

static void change_series(struct walk *w, uint32_t key, uint64_t change)
{
	struct filling *f = (struct filling *)w;

	f->live[key] += change;
	if (f->live[key] > f->most[key])
		f->most[key] = f->live[key];
}

/* Where history is gone, the samples alone know what was freed since. */
static void add_gone(struct mt_stacked *out, const struct mt_profile *shown, bool by_count)
{
	struct mt_stacked_series *others = &out->series[out->count];

	for (uint32_t step = 0; step < out->steps; step++) {
		const struct mt_sample *sample = &shown->samples[step];
		uint64_t known = 0, all = by_count ? sample->live_count : sample->live_bytes;

		for (uint32_t i = 0; i < out->count; i++)
			known += out->series[i].live[step];
		if (all > known)
			others->live[step] = all - known;
	}
}

/* 1: the samples are of another order. */
static int fill(struct mt_stacked *out, const struct owners *owners, const struct mt_source *source,
	struct mt_filter *filter, const struct mt_profile *shown, enum ends ends,
	struct mt_err *err)
{
	struct filling f = {
		.walk =
			{
				.owners = owners,
				.before = before_change,
				.change = change_series,
			},
		.out = out,
		.shown = shown,
		.ends = ends,
	};

	f.walk.until_ns = out->until_ns;

	f.step_allocations = out->steps ? shown->samples[0].allocations : 0;
	int status = walk(&f.walk, source, filter, err);

	while (f.step < out->steps)
		end_step(&f);
	return status ? status : f.walk.stop;
}

static int fill_all(struct mt_stacked *out, const struct owners *owners,
	const struct mt_source *source, struct mt_filter *filter, const struct mt_profile *shown,
	struct mt_err *err)
{
	bool recorded = shown->samples == source->profile->samples && !shown->info.history_from_ns;

	out->steps = shown->step_ns ? shown->sample_count : 0;
	for (uint32_t i = 0; i <= out->count; i++) {
		out->series[i].live = mt_alloc(((size_t)out->steps + 1) * sizeof(uint64_t));
		out->series[i].most = mt_alloc(((size_t)out->steps + 1) * sizeof(uint64_t));
	}
	int status =
		fill(out, owners, source, filter, shown, recorded ? BY_TIME_CHECKED : BY_TIME, err);

	return status == 1 ? fill(out, owners, source, filter, shown, BY_SAMPLES, err) : status;
}

int mt_stacked_get(struct mt_stacked *out, const struct mt_source *source, struct mt_filter *filter,
	const struct mt_profile *shown, enum mt_rows_by by, bool by_count, uint32_t top,
	struct mt_err *err)
{
	struct owners owners = {.by_thread = by == MT_ROWS_BY_THREAD, .by_count = by_count};
	bool totals = !owners.by_thread && !by_count && !(filter && mt_filter_active(filter));
	int status = 0;

	find_owners(&owners, &out->names, source, by);
	uint64_t *shares = mt_alloc(((size_t)owners.key_count + 1) * sizeof *shares);

	if (totals)
		share_by_totals(shares, &owners, shown);
	else
		status = share_by_events(shares, &owners, source, filter, err);
	choose(out, &owners, shares, top, by == MT_ROWS_BY_BACKTRACE);
	if (status >= 0)
		status = fill_all(out, &owners, source, filter, shown, err);
	out->gone_ns = source->profile->info.history_from_ns;
	if (status >= 0 && out->gone_ns)
		add_gone(out, shown, by_count);
	free(shares);
	free(owners.keys);
	return status < 0 ? status : 0;
}

void mt_stacked_free(struct mt_stacked *s)
{
	for (uint32_t i = 0; i <= s->count; i++) {
		free(s->series[i].live);
		free(s->series[i].most);
	}
	mt_strings_free(&s->names);
	*s = (struct mt_stacked){0};
}
