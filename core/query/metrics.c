#include "core/query/query.h"

#include "core/query/group_sum.h"
#include "core/query/rank.h"

#include <string.h>

static bool metric_sums(enum mt_metric metric)
{
	switch (metric) {
	case MT_METRIC_MIN_SIZE:
	case MT_METRIC_MAX_SIZE:
	case MT_METRIC_MIN_TIMESTAMP:
	case MT_METRIC_MAX_TIMESTAMP:
	case MT_METRIC_INTERVAL:
	case MT_METRIC_AGE:
	case MT_METRIC_GROWTH:
	case MT_METRIC_SUSPECT: return false;
	default: return true;
	}
}

const struct mt_metric_info *mt_metric_info(enum mt_metric metric)
{
	static const struct mt_metric_info summing[] = {
#define X(id, name, heading, words, unit) {name, heading, words, MT_UNIT_##unit, true},
		MT_METRICS(X)
#undef X
	};
	static const struct mt_metric_info extremes[] = {
#define X(id, name, heading, words, unit) {name, heading, words, MT_UNIT_##unit, false},
		MT_METRICS(X)
#undef X
	};
	return metric_sums(metric) ? &summing[metric] : &extremes[metric];
}

const char *mt_metric_heading(enum mt_metric metric, bool leaks_known)
{
	return metric == MT_METRIC_LEAKED_SIZE && !leaks_known
		? "LIVE"
		: mt_metric_info(metric)->heading;
}

int mt_metric_find(const char *name)
{
	for (int metric = 0; metric < MT_METRIC_COUNT; metric++)
		if (!strcmp(mt_metric_info((enum mt_metric)metric)->name, name))
			return metric;
	return -1;
}

static uint64_t age(const struct mt_profile *profile, const struct mt_group *group)
{
	if (!group->allocated_count || profile->info.wall_ns < group->first_ns)
		return 0;
	return profile->info.wall_ns - group->first_ns;
}

static uint64_t growth(const struct mt_profile *profile, const struct mt_group *group)
{
	uint64_t ns = age(profile, group);

	return ns ? (uint64_t)((unsigned __int128)group->live_bytes * 1000000000u / ns) : 0;
}

static bool is_single(const struct mt_profile *profile, const struct mt_group *group)
{
	return group >= profile->groups && group < profile->groups + profile->group_count;
}

static bool is_watched(const struct mt_profile *profile, const struct mt_group *group)
{
	return profile->scores && is_single(profile, group)
		&& group - profile->groups < profile->score_count;
}

static uint64_t suspect(const struct mt_profile *profile, const struct mt_group *group)
{
	struct mt_rank rank;

	if (is_watched(profile, group))
		return profile->scores[group - profile->groups];
	if (!is_single(profile, group) && group->flags & MT_GROUP_SUSPECT)
		return group->suspect;
	mt_rank_totals(&rank, profile, group);
	return rank.score;
}

uint64_t mt_metric_value(const struct mt_profile *profile, const struct mt_group *group,
	enum mt_metric metric)
{
	switch (metric) {
	case MT_METRIC_LEAKED_SIZE: return group->live_bytes;
	case MT_METRIC_LEAKED_COUNT: return group->live_count;
	case MT_METRIC_SIZE: return group->allocated_bytes;
	case MT_METRIC_ALLOCATED_COUNT: return group->allocated_count;
	case MT_METRIC_AT_PEAK_SIZE: return group->at_peak_bytes;
	case MT_METRIC_AT_PEAK_COUNT: return group->at_peak_count;
	case MT_METRIC_OWN_PEAK_SIZE: return group->own_peak_bytes;
	case MT_METRIC_OWN_PEAK_COUNT: return group->own_peak_count;
	case MT_METRIC_TEMPORARY_COUNT: return group->temporary_count;
	case MT_METRIC_MIN_SIZE: return group->min_size;
	case MT_METRIC_MAX_SIZE: return group->max_size;
	case MT_METRIC_MIN_TIMESTAMP: return group->first_ns;
	case MT_METRIC_MAX_TIMESTAMP: return group->last_ns;
	case MT_METRIC_INTERVAL: return group->last_ns - group->first_ns;
	case MT_METRIC_AGE: return age(profile, group);
	case MT_METRIC_GROWTH: return growth(profile, group);
	case MT_METRIC_SUSPECT: return suspect(profile, group);
	case MT_METRIC_RANGE_LIVE_SIZE: return mt_group_range_live_bytes(group);
	case MT_METRIC_RANGE_LIVE_COUNT: return mt_group_range_live_count(group);
	case MT_METRIC_RANGE_FREED_SIZE:
		return group->allocated_bytes - mt_group_range_live_bytes(group);
	case MT_METRIC_RANGE_FREED_COUNT:
		return group->allocated_count - mt_group_range_live_count(group);
	case MT_METRIC_COUNT: break;
	}
	return 0;
}

bool mt_metric_is_known(const struct mt_group *group, enum mt_metric metric)
{
	bool peak = metric == MT_METRIC_AT_PEAK_SIZE || metric == MT_METRIC_AT_PEAK_COUNT
		|| metric == MT_METRIC_OWN_PEAK_SIZE || metric == MT_METRIC_OWN_PEAK_COUNT;

	return !peak || !(group->flags & MT_GROUP_NO_PEAKS);
}

bool mt_metric_is_estimated(const struct mt_profile *profile, const struct mt_group *group,
	enum mt_metric metric)
{
	bool single = is_single(profile, group);

	if (mt_metric_info(metric)->unit == MT_UNIT_TIME)
		return mt_info_estimates_times(&profile->info);
	if (metric == MT_METRIC_SUSPECT && !single && group->flags & MT_GROUP_SUSPECT)
		return group->flags & MT_GROUP_SUSPECT_ESTIMATED;
	if (metric == MT_METRIC_SUSPECT)
		return !is_watched(profile, group);
	if (metric == MT_METRIC_OWN_PEAK_SIZE || metric == MT_METRIC_OWN_PEAK_COUNT)
		return !single && group->flags & MT_GROUP_SUMMED;
	if (metric == MT_METRIC_AT_PEAK_SIZE || metric == MT_METRIC_AT_PEAK_COUNT)
		return profile->info.peak_unsure;
	if (metric != MT_METRIC_LEAKED_SIZE && metric != MT_METRIC_LEAKED_COUNT
		&& metric < MT_METRIC_GROWTH)
		return false;
	return single ? mt_profile_is_estimated(profile, group)
		      : (group->flags & MT_GROUP_ESTIMATED) != 0;
}

void mt_group_sum(struct mt_group *sum, const struct mt_group *group)
{
	if (!group->allocated_count)
		return;
	if (sum->allocated_count)
		sum->flags |= MT_GROUP_SUMMED;
	if (!sum->allocated_count || group->first_ns < sum->first_ns)
		sum->first_ns = group->first_ns;
	if (!sum->allocated_count || group->min_size < sum->min_size)
		sum->min_size = group->min_size;
	if (group->last_ns > sum->last_ns)
		sum->last_ns = group->last_ns;
	if (group->max_size > sum->max_size)
		sum->max_size = group->max_size;
	sum->allocated_count += group->allocated_count;
	sum->allocated_bytes += group->allocated_bytes;
	sum->live_count += group->live_count;
	sum->live_bytes += group->live_bytes;
	sum->temporary_count += group->temporary_count;
	sum->own_peak_count += group->own_peak_count;
	sum->own_peak_bytes += group->own_peak_bytes;
	sum->at_peak_count += group->at_peak_count;
	sum->at_peak_bytes += group->at_peak_bytes;
	sum->late_count += group->late_count;
	sum->late_bytes += group->late_bytes;
	sum->flags |= group->flags & (MT_GROUP_ESTIMATED | MT_GROUP_SUMMED);
}

void mt_group_sum_suspect(struct mt_group *sum, const struct mt_profile *profile,
	const struct mt_group *group)
{
	uint64_t score = suspect(profile, group);

	if (sum->flags & MT_GROUP_SUSPECT && score <= sum->suspect)
		return;
	sum->suspect = score;
	sum->flags |= MT_GROUP_SUSPECT;
	sum->flags &= ~MT_GROUP_SUSPECT_ESTIMATED;
	if (!is_watched(profile, group))
		sum->flags |= MT_GROUP_SUSPECT_ESTIMATED;
}
