#include "core/set/parts.h"

#include "core/base/text.h"
#include "core/model/blind.h"
#include "core/model/sampling.h"
#include "core/model/verdicts.h"
#include "core/query/fold.h"
#include "core/symbol/internal.h"

#include <stdlib.h>
#include <string.h>

struct mt_set *mt_set_new(const struct mt_set_options *options)
{
	struct mt_set *s = mt_alloc(sizeof *s);
	struct mt_profile *p = &s->whole;

	s->options = *options;
	mt_profile_init(p);
	mt_symbols_init(&s->symbols);
	p->sample_capacity = MT_SET_STEPS + 1;
	p->samples = mt_alloc(p->sample_capacity * sizeof *p->samples);
	s->matched.samples = mt_alloc(p->sample_capacity * sizeof *p->samples);
	s->matched.sample_capacity = p->sample_capacity;
	s->matched.step_ns = p->step_ns;
	if (options->end_unix_ns > options->begin_unix_ns && options->begin_unix_ns)
		s->wall_ns = options->end_unix_ns - options->begin_unix_ns;
	mt_set_reach(p, s->wall_ns);
	p->info.exit_status = -1;
	return s;
}

static void free_member(struct mt_set_member *m)
{
	free(m->path);
	free(m->name);
}

void mt_set_free(struct mt_set *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		free_member(&s->members[i]);
	free(s->members);
	free(s->matched.groups);
	free(s->matched.late);
	free(s->matched.estimates);
	free(s->matched.samples);
	for (uint32_t i = 0; i < MT_COLUMNS_MAX; i++)
		free(s->seen[i]);
	mt_define_free(&s->define);
	mt_strings_free(&s->modules);
	mt_profile_free(&s->whole);
	mt_symbols_free(&s->symbols);
	free(s);
}

/* ---- members ---- */

const char *mt_set_program_name(const struct mt_profile *p)
{
	const char *name =
		p->argument_count ? mt_base_name(mt_strings_get(&p->strings, p->arguments[0])) : "";

	name += *name == '-'; /* of a login shell */
	return *name ? name : "?";
}

void mt_set_member_label(struct mt_buffer *out, const struct mt_set_member *m)
{
	out->len = 0;
	mt_buffer_printf(out, "%s [%u]", m->name, m->info.pid);
}

static struct mt_set_member *new_member(struct mt_set *s, const struct mt_set_part *part)
{
	struct mt_set_member *m;

	MT_GROW(s->members, s->count, s->capacity);
	m = &s->members[s->count++];
	*m = (struct mt_set_member){
		.path = mt_strdup(part->path),
		.name = mt_strdup(mt_set_program_name(part->whole)),
		.info = part->whole->info,
	};
	return m;
}

/* The pc whose one frame is the process. */
static uint32_t process_pc(struct mt_set *s, const struct mt_set_member *m)
{
	const struct mt_pc pc = {.address = m->info.pid, .module = MT_NO_MODULE};
	uint32_t id = mt_profile_add_pc(&s->whole, &pc), first = s->symbols.frame_count;
	struct mt_buffer label = {0};

	mt_set_member_label(&label, m);
	uint32_t name = mt_strings_add(&s->symbols.strings, (const char *)label.data);

	mt_symbols_add_frame(&s->symbols,
		&(struct mt_frame){.function = name, .raw_function = name});
	mt_symbols_set(&s->symbols, id, first);
	mt_buffer_free(&label);
	return id;
}

/* ---- totals ---- */

static uint64_t saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What the profile's info says of blocks, and of the recording. Peaks and the like are bounds from
 * above. */
static void add_info(struct mt_info *to, const struct mt_info *from, bool first)
{
#define X(name, words) to->name = saturated(to->name, from->name);
	MT_INFO_COUNTS(X)
#undef X
	for (size_t i = 0; i < sizeof to->counters / sizeof *to->counters; i++)
		to->counters[i] = saturated(to->counters[i], from->counters[i]);
	to->file_bytes += from->file_bytes;
	to->recorder_lost |= from->recorder_lost;
	to->stopped |= from->stopped;
	to->ended = (first || to->ended) && from->ended;
	to->patched += from->patched;
	to->mapped_reserved_bytes =
		saturated(to->mapped_reserved_bytes, from->mapped_reserved_bytes);
	if (from->oom_killed && !to->oom_killed) {
		to->oom_killed = from->oom_killed;
		to->oom_limit_bytes = from->oom_limit_bytes;
	}
	if (from->resolution_ns > to->resolution_ns)
		to->resolution_ns = from->resolution_ns;
	/* the coarsest, and what is recorded of all */
	to->sample_bytes = more(to->sample_bytes, from->sample_bytes);
	to->sample_every = more(to->sample_every, from->sample_every);
	to->record_min = more(to->record_min, from->record_min);
	if (from->record_max && (!to->record_max || from->record_max < to->record_max))
		to->record_max = from->record_max;
	if (first) {
		to->usable_rule = from->usable_rule;
		to->page_bytes = from->page_bytes;
		to->pointer_bits = from->pointer_bits;
		to->address_bits = from->address_bits;
		to->big_endian = from->big_endian;
		to->tag_mask = from->tag_mask;
		to->clock = from->clock;
	}
}

/* One for each group that there is. count: how many there are. */
static void grow_late(struct mt_profile *p, uint32_t *count)
{
	if (*count >= p->group_count)
		return;
	p->late = mt_resize(p->late, p->group_capacity * sizeof *p->late);
	memset(p->late + *count, 0, (p->group_capacity - *count) * sizeof *p->late);
	*count = p->group_capacity;
}

static void add_late(struct mt_profile *to, uint32_t *count, const struct mt_profile *p,
	const struct mt_set_ids *ids)
{
	if (!p->late)
		return;
	grow_late(to, count);
	for (uint32_t i = 0; i < p->group_count; i++)
		if (ids->groups[i] != MT_NO_GROUP) {
			to->late[ids->groups[i]].count += p->late[i].count;
			to->late[ids->groups[i]].bytes += p->late[i].bytes;
		}
}

/* One profile of the part to one of the set. Returns how many groups it has. */
static uint32_t add_groups(struct mt_profile *to, const struct mt_profile *p,
	const struct mt_set_ids *ids, uint64_t offset_ns)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->group_count; i++) {
		struct mt_group group = p->groups[i];

		if (ids->groups[i] == MT_NO_GROUP || !group.allocated_count)
			continue;
		group.flags = mt_profile_is_estimated(p, &p->groups[i]) ? MT_GROUP_ESTIMATED : 0;
		group.first_ns += offset_ns;
		group.last_ns += offset_ns;
		mt_fold_counters(&to->groups[ids->groups[i]], &group);
		/* a member whose blocks are all recorded adds no samples to judge by */
		if (i < p->estimate_count)
			mt_estimates_fold(mt_profile_estimates(to, ids->groups[i]),
				&p->estimates[i]);
		count++;
	}
	return count;
}

/* ---- columns ---- */

static struct mt_group_column *find_column(struct mt_profile *to, const struct mt_group_column *of)
{
	struct mt_group_column column = *of;

	for (uint32_t i = 0; i < to->column_count; i++)
		if (!strcmp(to->columns[i].name, of->name))
			return to->columns[i].fold == of->fold && to->columns[i].width == of->width
					&& !to->columns[i].variances == !of->variances
				? &to->columns[i]
				: NULL;
	column.count = to->group_count;
	column.values = mt_alloc(((size_t)to->group_count + 1) * of->width * sizeof *of->values);
	column.variances = of->variances
		? mt_alloc(((size_t)to->group_count + 1) * sizeof *of->variances)
		: NULL;
	if (!mt_profile_add_column(to, &column))
		return &to->columns[to->column_count - 1];
	free(column.values);
	free(column.variances);
	return NULL;
}

static void grow_column(struct mt_group_column *c, uint32_t groups)
{
	if (c->count >= groups)
		return;
	c->values = mt_resize(c->values, ((size_t)groups + 1) * c->width * sizeof *c->values);
	memset(c->values + (size_t)c->count * c->width, 0,
		(size_t)(groups - c->count) * c->width * sizeof *c->values);
	if (c->variances) {
		c->variances = mt_resize(c->variances, ((size_t)groups + 1) * sizeof *c->variances);
		memset(c->variances + c->count, 0, (groups - c->count) * sizeof *c->variances);
	}
	c->count = groups;
}

static void add_value(struct mt_group_column *to, uint32_t id, const struct mt_group_column *of,
	uint32_t group, bool first)
{
	enum mt_folded how = mt_fold_value(to->values + (size_t)id * to->width,
		of->values + (size_t)group * of->width, of, first);

	if (of->variances && how != MT_FOLDED_NOT)
		to->variances[id] =
			of->variances[group] + (how == MT_FOLDED_ADDED ? to->variances[id] : 0);
}

/* Whether this is the first value of the column's group. */
static bool is_first(struct mt_set *s, uint32_t column, uint32_t group)
{
	uint32_t *have = &s->seen_groups[column];

	if (*have < s->whole.group_count) {
		s->seen[column] = mt_resize(s->seen[column], s->whole.group_count);
		memset(s->seen[column] + *have, 0, s->whole.group_count - *have);
		*have = s->whole.group_count;
	}
	bool first = !s->seen[column][group];

	s->seen[column][group] = 1;
	return first;
}

/* What has no rule for several groups is left out. */
static void add_columns(struct mt_set *s, const struct mt_profile *p, const struct mt_set_ids *ids)
{
	struct mt_profile *to = &s->whole;

	for (uint32_t i = 0; i < p->column_count; i++) {
		const struct mt_group_column *of = &p->columns[i];
		struct mt_group_column *column =
			of->fold < MT_FOLD_NONE ? find_column(to, of) : NULL;

		if (!column)
			continue;
		s->column_members[column - to->columns]++;
		grow_column(column, to->group_count);
		for (uint32_t g = 0; g < of->count && g < p->group_count; g++)
			if (ids->groups[g] != MT_NO_GROUP)
				add_value(column, ids->groups[g], of, g,
					is_first(s, (uint32_t)(column - to->columns),
						ids->groups[g]));
	}
}

/* What is not known of all members has no sum. */
static void drop_columns(struct mt_set *s)
{
	struct mt_profile *p = &s->whole;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->column_count; i++) {
		struct mt_group_column column = p->columns[i];

		grow_column(&column, p->group_count);
		if (s->column_members[i] == s->count)
			p->columns[kept++] = column;
		else
			mt_group_column_free(&column);
	}
	s->columns_dropped = p->column_count - kept;
	p->column_count = kept;
}

/* ---- what is rare ---- */

static void add_blind(struct mt_profile *to, const struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->blind_count; i++) {
		const struct mt_blind *b = &p->blind[i];

		if (!b->count)
			continue;
		uint32_t at = mt_blind_add(to, (enum mt_blind_reason)b->reason, b->pid,
			mt_strings_get(&p->strings, b->path), b->count, b->bytes);

		if (b->detail && !to->blind[at].detail)
			to->blind[at].detail = mt_strings_add(&to->strings,
				mt_strings_get(&p->strings, b->detail));
	}
}

static void add_free_sites(struct mt_profile *to, const struct mt_profile *p,
	const struct mt_set_ids *ids)
{
	for (uint32_t i = 0; i < p->free_site_count; i++) {
		const struct mt_free_site *f = &p->free_sites[i];
		struct mt_free_site site = {ids->groups[f->group], ids->nodes[f->node], f->count};

		if (site.group != MT_NO_GROUP)
			mt_profile_add_free_site(to, &site);
	}
}

static int by_site(const void *a, const void *b)
{
	const struct mt_free_site *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Each pair once. */
static void join_free_sites(struct mt_profile *p)
{
	uint32_t count = 0;

	if (p->free_site_count)
		qsort(p->free_sites, p->free_site_count, sizeof *p->free_sites, by_site);
	for (uint32_t i = 0; i < p->free_site_count; i++)
		if (count && !by_site(&p->free_sites[count - 1], &p->free_sites[i]))
			p->free_sites[count - 1].count += p->free_sites[i].count;
		else
			p->free_sites[count++] = p->free_sites[i];
	p->free_site_count = count;
}

/* ---- all ---- */

/* The matched profile has as many groups as the whole one, with the same nodes. */
static void follow_groups(struct mt_set *s)
{
	struct mt_profile *m = &s->matched;
	uint32_t before = m->group_capacity;

	if (before < s->whole.group_capacity) {
		m->group_capacity = s->whole.group_capacity;
		m->groups = mt_resize(m->groups, m->group_capacity * sizeof *m->groups);
		memset(m->groups + before, 0, (m->group_capacity - before) * sizeof *m->groups);
	}
	for (; m->group_count < s->whole.group_count; m->group_count++)
		m->groups[m->group_count].node = s->whole.groups[m->group_count].node;
}

/* What it allocated meanwhile nobody knows. */
static bool is_paused_throughout(const struct mt_profile *p)
{
	for (uint32_t i = 0; i < p->log_count && !p->info.allocations; i++)
		if (p->log[i].type == MT_LOG_PAUSE)
			return true;
	return false;
}

static void add_matched(struct mt_set *s, const struct mt_set_part *part,
	const struct mt_set_ids *ids, uint64_t offset_ns, struct mt_set_member *m)
{
	struct mt_profile *to = &s->matched;

	follow_groups(s);
	mt_set_reach(to, s->wall_ns);
	add_info(&to->info, &part->matched->info, s->count == 1);
	m->groups = add_groups(to, part->matched, ids, offset_ns);
	add_late(to, &s->matched_late, part->matched, ids);
	mt_set_lay(to, part->matched, offset_ns);
}

void mt_set_add(struct mt_set *s, const struct mt_set_part *part)
{
	const struct mt_profile *p = part->whole;
	uint64_t start = p->info.start_unix_ns;

	if (!s->options.begin_unix_ns)
		s->options.begin_unix_ns = start;
	uint64_t begin = s->options.begin_unix_ns;
	uint64_t offset_ns = start > begin ? start - begin : 0;
	struct mt_set_member *m = new_member(s, part);
	struct mt_set_ids ids;

	s->wall_ns = more(s->wall_ns, saturated(offset_ns, p->info.wall_ns));
	mt_set_reach(&s->whole, s->wall_ns);
	s->paused += is_paused_throughout(p);
	if (p->info.lossy_ns)
		s->lossy_ns = more(s->lossy_ns, saturated(offset_ns, p->info.lossy_ns));
	mt_set_define(s, part, s->options.stacks == MT_SET_STACKS ? 0 : process_pc(s, m), &ids);
	add_columns(s, p, &ids);
	add_info(&s->whole.info, &p->info, s->count == 1);
	m->groups = add_groups(&s->whole, p, &ids, offset_ns);
	add_late(&s->whole, &s->whole_late, p, &ids);
	mt_set_lay(&s->whole, p, offset_ns);
	add_blind(&s->whole, p);
	add_free_sites(&s->whole, part->matched, &ids);
	if (s->options.filtered)
		add_matched(s, part, &ids, offset_ns, m);
	m->leaked_count = part->matched->info.leaked_count;
	m->leaked_bytes = part->matched->info.leaked_bytes;
	if (part->matched->info.peak_bytes > s->peak_least)
		s->peak_least = part->matched->info.peak_bytes;
	s->leak_checked += p->verdicts && p->verdicts->at_end;
	s->whole.lost_alone |= p->lost_alone;
	mt_set_ids_free(&ids);
}

/* The most that lived in one step, if that is less than what each had at its own peak, but never
 * less than what one alone had; and the most that was resident. */
static void bound_peak(struct mt_set *s, struct mt_profile *p)
{
	uint64_t most = 0, most_ns = 0;

	for (uint32_t i = 0; i < p->sample_count; i++) {
		const struct mt_sample *sample = &p->samples[i];

		if (sample->max_bytes > most) {
			most = sample->max_bytes;
			most_ns = i * p->step_ns;
		}
		if (sample->memory.rss_bytes > p->info.peak_rss_bytes) {
			p->info.peak_rss_bytes = sample->memory.rss_bytes;
			p->info.peak_rss_ns = i * p->step_ns;
		}
	}
	if (s->count > 1)
		p->info.peak_ns = most_ns;
	if (most >= s->peak_least && most < p->info.peak_bytes)
		p->info.peak_bytes = most;
	p->info.peak_unsure |= s->count > 1;
	p->info.wall_ns = s->wall_ns;
	p->info.lossy_ns = s->lossy_ns;
	p->info.start_unix_ns = s->options.begin_unix_ns;
}

/* All but the counters of the matched profile is the whole one's. */
static void complete_matched(struct mt_set *s)
{
	struct mt_profile own = s->matched;

	s->matched = s->whole;
	s->matched.info = own.info;
	s->matched.info.exit_status = -1;
	s->matched.groups = own.groups;
	s->matched.group_capacity = own.group_capacity;
	s->matched.late = own.late;
	s->matched.estimates = own.estimates;
	s->matched.estimate_count = own.estimate_count;
	s->matched.estimate_capacity = own.estimate_capacity;
	s->matched.samples = own.samples;
	s->matched.columns_unknown = s->options.filtered;
	s->matched.scores = NULL;
}

void mt_set_finish(struct mt_set *s)
{
	drop_columns(s);
	if (s->whole.late)
		grow_late(&s->whole, &s->whole_late);
	if (s->matched.late)
		grow_late(&s->matched, &s->matched_late);
	join_free_sites(&s->whole);
	bound_peak(s, &s->whole);
	bound_peak(s, &s->matched);
	if (!mt_info_is_sampled(&s->whole.info))
		s->whole.estimate_count = s->matched.estimate_count = 0;
	s->whole.arguments = mt_alloc(sizeof *s->whole.arguments);
	s->whole.arguments[0] = mt_strings_add(&s->whole.strings, "several recordings");
	s->whole.argument_count = s->whole.argument_capacity = 1;
	complete_matched(s);
}

void mt_set_keep(struct mt_set *s, const uint8_t *keep)
{
	struct mt_profile *p = &s->matched;
	struct mt_group none = {0};

	p->info.allocated_bytes = p->info.allocations = p->info.frees = p->info.reallocations = 0;
	p->info.leaked_count = p->info.leaked_bytes = p->info.temporary_count = 0;
	s->kept = true;
	for (uint32_t i = 0; i < p->group_count; i++) {
		struct mt_group *g = &p->groups[i];

		none.node = g->node;
		if (!keep[i])
			*g = none;
		p->info.allocated_bytes += g->allocated_bytes;
		p->info.allocations += g->allocated_count;
		p->info.frees += g->allocated_count - g->live_count;
		p->info.leaked_count += g->live_count;
		p->info.leaked_bytes += g->live_bytes;
		p->info.temporary_count += g->temporary_count;
	}
}

uint64_t mt_set_peak_least(const struct mt_set *s)
{
	return s->peak_least;
}

uint32_t mt_set_paused(const struct mt_set *s)
{
	return s->paused;
}

bool mt_set_knows_members(const struct mt_set *s)
{
	return !s->kept;
}

bool mt_set_is_leak_checked(const struct mt_set *s)
{
	return s->leak_checked == s->count;
}

uint32_t mt_set_columns_dropped(const struct mt_set *s)
{
	return s->columns_dropped;
}

const struct mt_profile *mt_set_whole(const struct mt_set *s)
{
	return &s->whole;
}

const struct mt_profile *mt_set_matched(const struct mt_set *s)
{
	return s->options.filtered ? &s->matched : &s->whole;
}

struct mt_symbols *mt_set_symbols(struct mt_set *s)
{
	return &s->symbols;
}

uint32_t mt_set_count(const struct mt_set *s)
{
	return s->count;
}

const struct mt_set_member *mt_set_member(const struct mt_set *s, uint32_t i)
{
	return &s->members[i];
}

void mt_set_take(struct mt_set *s, struct mt_profile *profile, struct mt_symbols *symbols)
{
	*profile = s->whole;
	*symbols = s->symbols;
	mt_profile_init(&s->whole);
	mt_symbols_init(&s->symbols);
}
