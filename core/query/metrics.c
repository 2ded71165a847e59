/* The registry of columns: the built-in ones, which follow from a group's counters, then those that
 * the profile brings along. */
#include "core/query/fold.h"
#include "core/query/rank.h"

#include <math.h>
#include <string.h>

/* ---- built-in columns that are no counters ---- */

static uint64_t interval(const struct mt_profile *p, const struct mt_group *group)
{
	(void)p;
	return group->last_ns - group->first_ns;
}

static uint64_t age(const struct mt_profile *p, const struct mt_group *group)
{
	if (!group->allocated_count || p->info.wall_ns < group->first_ns)
		return 0;
	return p->info.wall_ns - group->first_ns;
}

static uint64_t growth(const struct mt_profile *p, const struct mt_group *group)
{
	uint64_t ns = age(p, group);

	return ns ? (uint64_t)((unsigned __int128)group->live_bytes * 1000000000u / ns) : 0;
}

static bool is_watched(const struct mt_profile *p, const struct mt_group *group)
{
	return p->scores && mt_profile_has_group(p, group) && group - p->groups < p->score_count;
}

static uint64_t suspect(const struct mt_profile *p, const struct mt_group *group)
{
	struct mt_rank rank;

	if (is_watched(p, group))
		return p->scores[group - p->groups];
	if (!mt_profile_has_group(p, group) && group->flags & MT_GROUP_SUSPECT)
		return group->folded->suspect;
	mt_rank_totals(&rank, p, group);
	return rank.score;
}

static uint64_t range_live_size(const struct mt_profile *p, const struct mt_group *group)
{
	if (mt_profile_has_group(p, group))
		return mt_profile_range_live_bytes(p, (uint32_t)(group - p->groups));
	return group->folded ? group->folded->range_live_bytes : group->live_bytes;
}

static uint64_t range_live_count(const struct mt_profile *p, const struct mt_group *group)
{
	if (mt_profile_has_group(p, group))
		return mt_profile_range_live_count(p, (uint32_t)(group - p->groups));
	return group->folded ? group->folded->range_live_count : group->live_count;
}

static uint64_t range_freed_size(const struct mt_profile *p, const struct mt_group *group)
{
	return group->allocated_bytes - range_live_size(p, group);
}

static uint64_t range_freed_count(const struct mt_profile *p, const struct mt_group *group)
{
	return group->allocated_count - range_live_count(p, group);
}

/* ---- the list ---- */

static const struct {
	struct mt_group_column column;
	size_t counter; /* in struct mt_group; 0: none, it is computed */
	uint64_t (*compute)(const struct mt_profile *, const struct mt_group *);
	enum mt_doubt doubt;
	bool in_json;
	int beside;
} builtins[] = {
#define COUNTER(name) offsetof(struct mt_group, name), NULL
#define COMPUTED(function) 0, function
#define X(id, name, heading, words, unit, fold, value, doubt, json, beside) \
	{{name, heading, words, MT_UNIT_##unit, MT_FOLD_##fold, 0, NULL, NULL, 0, 1, false}, \
		value, MT_DOUBT_##doubt, json, beside},
	MT_METRICS(X)
#undef X
};

uint32_t mt_metric_count(const struct mt_profile *p)
{
	return MT_METRIC_COUNT + (p ? p->column_count : 0);
}

static const struct mt_group_column *own_column(const struct mt_profile *p, enum mt_metric metric)
{
	uint32_t column = (uint32_t)metric - MT_METRIC_COUNT;

	return p && column < p->column_count ? &p->columns[column] : NULL;
}

const struct mt_group_column *mt_metric_info(const struct mt_profile *p, enum mt_metric metric)
{
	const struct mt_group_column *own = own_column(p, metric);

	return own ? own : &builtins[metric < MT_METRIC_COUNT ? metric : 0].column;
}

bool mt_metric_sums(const struct mt_profile *p, enum mt_metric metric)
{
	return mt_metric_info(p, metric)->fold == MT_FOLD_SUM;
}

bool mt_metric_in_json(enum mt_metric metric)
{
	return metric >= MT_METRIC_COUNT || builtins[metric].in_json;
}

int mt_metric_beside(enum mt_metric metric)
{
	return metric < MT_METRIC_COUNT ? builtins[metric].beside : -1;
}

const char *mt_metric_heading(const struct mt_profile *p, enum mt_metric metric, bool leaks_known)
{
	return metric == MT_METRIC_LEAKED_SIZE && !leaks_known
		? "LIVE"
		: mt_metric_info(p, metric)->heading;
}

int mt_metric_find(const struct mt_profile *p, const char *name)
{
	for (int metric = 0; metric < (int)mt_metric_count(p); metric++)
		if (!strcmp(mt_metric_info(p, (enum mt_metric)metric)->name, name))
			return metric;
	return -1;
}

const char *mt_metric_add(struct mt_profile *p, const struct mt_group_column *column)
{
	return mt_metric_find(NULL, column->name) >= 0 || mt_filter_find(column->name) >= 0
		? "there is a built-in column or a field of filters of this name"
		: mt_profile_add_column(p, column);
}

const char *mt_metric_name_at(const void *profile, int i)
{
	return i < (int)mt_metric_count(profile)
		? mt_metric_info(profile, (enum mt_metric)i)->name
		: NULL;
}

enum mt_metric mt_metric_in(const struct mt_profile *to, const struct mt_profile *from,
	enum mt_metric metric)
{
	int found = metric < MT_METRIC_COUNT || to == from
		? (int)metric
		: mt_metric_find(to, mt_metric_info(from, metric)->name);

	return found < 0 ? MT_METRIC_NONE : (enum mt_metric)found;
}

/* ---- values ---- */

/* NULL: the group has none. */
static const uint64_t *own_values(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	const struct mt_group_column *column = own_column(p, metric);
	size_t at = mt_profile_has_group(p, group) ? (size_t)(group - p->groups) : SIZE_MAX;

	if (!column || p->columns_unknown)
		return NULL;
	if (at != SIZE_MAX)
		return at < column->count ? column->values + at * column->width : NULL;
	if (!group->folded || (column->fold == MT_FOLD_NONE && group->flags & MT_GROUP_SUMMED))
		return NULL;
	return group->folded->values + mt_fold_place(p, metric - MT_METRIC_COUNT);
}

/* What 99 of 100 do not exceed. */
static uint64_t high_value(const uint64_t *buckets, uint32_t width)
{
	uint64_t all = 0, above = 0;

	for (uint32_t i = 0; i < width; i++)
		all += buckets[i];
	for (uint32_t i = width; i-- > 1;) {
		above += buckets[i];
		if (above > all / 100)
			return i > 63 ? UINT64_MAX : (1ull << i) - 1;
	}
	return 0;
}

uint64_t mt_metric_value(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	const uint64_t *values;

	if (metric < MT_METRIC_COUNT && builtins[metric].counter)
		return *(const uint64_t *)(const void *)((const char *)group
			+ builtins[metric].counter);
	if (metric < MT_METRIC_COUNT)
		return builtins[metric].compute(p, group);
	values = own_values(p, group, metric);
	if (values && mt_metric_info(p, metric)->fold == MT_FOLD_HISTOGRAM)
		return high_value(values, mt_metric_info(p, metric)->width);
	return values ? *values : 0;
}

const uint64_t *mt_metric_buckets(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric, uint32_t *count)
{
	const uint64_t *values = mt_metric_info(p, metric)->fold == MT_FOLD_HISTOGRAM
		? own_values(p, group, metric)
		: NULL;

	for (*count = values ? mt_metric_info(p, metric)->width : 0; *count && !values[*count - 1];)
		--*count;
	return values;
}

const struct mt_estimates *mt_metric_estimates(const struct mt_profile *p,
	const struct mt_group *group)
{
	size_t at = mt_profile_has_group(p, group) ? (size_t)(group - p->groups) : SIZE_MAX;

	if (!mt_info_is_sampled(&p->info))
		return NULL;
	if (at != SIZE_MAX)
		return at < p->estimate_count ? &p->estimates[at] : NULL;
	return group->folded ? &group->folded->estimates : NULL;
}

/* Which of a group's sums a metric is. */
static const struct mt_estimate *estimate_of(const struct mt_profile *p,
	const struct mt_group *group, enum mt_metric metric)
{
	const struct mt_estimates *e = mt_metric_estimates(p, group);

	if (!e || !mt_metric_has_errors(p, metric))
		return NULL;
	switch (metric) {
	case MT_METRIC_SIZE:
	case MT_METRIC_ALLOCATED_COUNT: return &e->allocated;
	case MT_METRIC_LEAKED_SIZE:
	case MT_METRIC_LEAKED_COUNT: return &e->live;
	default: return metric < MT_METRIC_COUNT ? &e->at_peak : NULL;
	}
}

bool mt_metric_has_errors(const struct mt_profile *p, enum mt_metric metric)
{
	switch (metric) {
	case MT_METRIC_SIZE:
	case MT_METRIC_ALLOCATED_COUNT:
	case MT_METRIC_LEAKED_SIZE:
	case MT_METRIC_LEAKED_COUNT:
	case MT_METRIC_AT_PEAK_SIZE:
	case MT_METRIC_AT_PEAK_COUNT: return mt_info_is_sampled(&p->info);
	default: return own_column(p, metric) && own_column(p, metric)->variances;
	}
}

uint64_t mt_metric_samples(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	const struct mt_estimate *e = estimate_of(p, group, metric);

	return e ? e->samples : UINT64_MAX;
}

/* Whether the value is of samples. Where each of a group's blocks stands for itself alone, it is
 * exact. */
static bool is_sampled(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	const struct mt_group_column *column = mt_metric_info(p, metric);
	const struct mt_estimates *e = mt_metric_estimates(p, group);

	if (!mt_info_is_sampled(&p->info) || column->unit == MT_UNIT_TIME
		|| metric == MT_METRIC_SUSPECT)
		return false;
	return !e || e->allocated.blocks > 0 || e->allocated.bytes > 0;
}

static double error_of_samples(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	const struct mt_estimate *e = estimate_of(p, group, metric);

	if (!e)
		return -1;
	return sqrt(mt_metric_info(p, metric)->unit == MT_UNIT_BYTES ? e->bytes : e->blocks);
}

double mt_metric_error(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	const struct mt_group_column *column = own_column(p, metric);
	const uint64_t *values = own_values(p, group, metric);
	double variance;

	if (metric < MT_METRIC_COUNT)
		return error_of_samples(p, group, metric);
	if (!values || !column->variances)
		return -1;
	if (mt_profile_has_group(p, group))
		variance = column->variances[group - p->groups];
	else
		memcpy(&variance, &values[column->width], sizeof variance);
	return sqrt(variance);
}

bool mt_metric_is_known(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	enum mt_doubt doubt;

	if (metric >= MT_METRIC_COUNT) /* no groups together hold nothing */
		return own_values(p, group, metric)
			|| (own_column(p, metric) && !group->allocated_count && !p->columns_unknown
				&& mt_metric_sums(p, metric));
	if (metric == MT_METRIC_TEMPORARY_COUNT && mt_info_leaves_out(&p->info))
		return false; /* the allocations between were not recorded */
	doubt = builtins[metric].doubt;
	return (doubt != MT_DOUBT_PEAK && doubt != MT_DOUBT_OWN_PEAK)
		|| !(group->flags & MT_GROUP_NO_PEAKS);
}

bool mt_metric_is_estimated(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	bool single = mt_profile_has_group(p, group);

	if (metric >= MT_METRIC_COUNT)
		return mt_metric_error(p, group, metric) > 0;
	if (is_sampled(p, group, metric))
		return true;
	switch (builtins[metric].doubt) {
	case MT_DOUBT_TIMES: return mt_info_estimates_times(&p->info);
	case MT_DOUBT_PEAK: return p->info.peak_unsure;
	case MT_DOUBT_OWN_PEAK: return group->flags & MT_GROUP_SUMMED;
	case MT_DOUBT_SCORE:
		return !single && group->flags & MT_GROUP_SUSPECT
			? (group->flags & MT_GROUP_SUSPECT_ESTIMATED) != 0
			: !is_watched(p, group);
	case MT_DOUBT_LIVE:
		return single ? mt_profile_is_estimated(p, group)
			      : (group->flags & MT_GROUP_ESTIMATED) != 0;
	default: return false;
	}
}
