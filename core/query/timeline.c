#include "core/query/query.h"

#include <stdlib.h>

/* The last step ends with the run, so that what happened in it is not spread over time that never
 * was. */
static uint64_t sample_end(const struct mt_profile *profile, uint32_t index)
{
	uint64_t start = index * profile->step_ns, end = start + profile->step_ns;
	uint64_t wall = profile->info.wall_ns;

	return index + 1 == profile->sample_count && wall > start && wall < end ? wall : end;
}

/* Index of the step that holds this instant; the last one for all later instants. */
static uint32_t sample_at(const struct mt_profile *profile, uint64_t ns)
{
	uint64_t index = ns / profile->step_ns;

	return index < profile->sample_count ? (uint32_t)index : profile->sample_count - 1;
}

/* Of the steps from first to last that there are. */
static struct mt_sample sum_of(const struct mt_profile *profile, uint32_t first, uint32_t last)
{
	last = last < profile->sample_count ? last : profile->sample_count - 1;
	struct mt_sample sum = profile->samples[last];

	for (uint32_t i = first; i < last; i++) {
		const struct mt_sample *sample = &profile->samples[i];

		sum.max_bytes =
			sample->max_bytes > sum.max_bytes ? sample->max_bytes : sum.max_bytes;
		sum.allocations += sample->allocations;
		sum.frees += sample->frees;
	}
	return sum;
}

/* The samples go on behind the range, where nothing is allocated. What was freed there (late) still
 * lives at its end, and what is missing then was freed in the range: so the columns add up to what
 * groups say, exactly. */
static void end_at_range(const struct mt_timeline *timeline, const struct mt_profile *profile)
{
	struct mt_sample *column = &timeline->columns[timeline->count - 1];
	uint64_t allocations = 0, frees = 0;
	uint32_t first, last;

	mt_timeline_steps(timeline, timeline->count - 1, &first, &last);
	struct mt_sample behind = sum_of(profile, first, profile->sample_count - 1);

	column->allocations = behind.allocations;
	column->max_bytes = behind.max_bytes;
	column->live_bytes = column->live_count = 0;
	for (uint32_t i = 0; i < profile->group_count; i++) {
		column->live_bytes += mt_profile_range_live_bytes(profile, i);
		column->live_count += mt_profile_range_live_count(profile, i);
	}
	for (uint32_t i = 0; i < timeline->count; i++) {
		allocations += timeline->columns[i].allocations;
		frees += i + 1 < timeline->count ? timeline->columns[i].frees : 0;
	}
	column->frees = allocations - frees - column->live_count;
}

void mt_timeline_of_steps(struct mt_timeline *timeline, const struct mt_profile *profile,
	uint64_t from_ns, uint64_t to_ns, uint32_t columns)
{
	uint64_t end;

	timeline->count = 0;
	if (!profile->sample_count || !profile->step_ns || !columns)
		return;
	end = sample_end(profile, profile->sample_count - 1);
	uint32_t first = sample_at(profile, from_ns), last = sample_at(profile, to_ns);
	bool within = to_ns < profile->info.wall_ns;

	last = !within ? profile->sample_count - 1 : last < first ? first : last;
	timeline->from_ns = from_ns;
	timeline->to_ns = timeline->end_ns = within ? to_ns : end;
	timeline->first_step = first;
	timeline->steps = last - first + 1;
	timeline->step_ns = profile->step_ns;
	timeline->count = columns < timeline->steps ? columns : timeline->steps;
	timeline->columns =
		mt_resize(timeline->columns, timeline->count * sizeof *timeline->columns);
	for (uint32_t i = 0; i < timeline->count; i++) {
		mt_timeline_steps(timeline, i, &first, &last);
		timeline->columns[i] = sum_of(profile, first, last);
	}
	if (within)
		end_at_range(timeline, profile);
}

/* Of a picture with fewer steps than columns: those that end in the column, or else the one that it
 * lies in. So each step is shown, be it as short as the last one may be. */
static void steps_of_wide(const struct mt_timeline *timeline, uint32_t column, uint32_t *first,
	uint32_t *last)
{
	uint32_t most = timeline->first_step + timeline->steps - 1;
	uint64_t begin = mt_timeline_edge(timeline, column) / timeline->step_ns;
	uint64_t end = mt_timeline_edge(timeline, column + 1);
	uint64_t ended = end >= timeline->end_ns ? most + 1 : end / timeline->step_ns;

	*first = begin < most ? (uint32_t)begin : most;
	*last = ended > *first ? (uint32_t)ended - 1 : *first;
}

void mt_timeline_steps(const struct mt_timeline *timeline, uint32_t column, uint32_t *first,
	uint32_t *last)
{
	if (timeline->steps < timeline->count) {
		steps_of_wide(timeline, column, first, last);
		return;
	}
	*first = timeline->first_step
		+ (uint32_t)((uint64_t)timeline->steps * column / timeline->count);
	*last = timeline->first_step
		+ (uint32_t)((uint64_t)timeline->steps * (column + 1) / timeline->count) - 1;
}

uint64_t mt_timeline_begin(const struct mt_timeline *timeline, uint32_t column)
{
	uint32_t first, last;

	mt_timeline_steps(timeline, column, &first, &last);
	return first * timeline->step_ns;
}

uint64_t mt_timeline_end(const struct mt_timeline *timeline, uint32_t column)
{
	uint32_t first, last;

	mt_timeline_steps(timeline, column, &first, &last);
	uint64_t end = (last + 1) * timeline->step_ns;

	return end < timeline->end_ns ? end : timeline->end_ns;
}

/* ---- pictures ---- */

void mt_timeline_lay(struct mt_timeline *timeline, const struct mt_profile *profile,
	uint64_t from_ns, uint64_t to_ns, uint32_t columns)
{
	timeline->count = timeline->steps = 0;
	timeline->from_ns = from_ns;
	timeline->to_ns = timeline->end_ns = to_ns;
	if (from_ns >= to_ns || !columns)
		return;
	timeline->count = columns;
	timeline->step_ns = profile->step_ns;
	if (!profile->sample_count || !profile->step_ns)
		return;
	timeline->first_step = sample_at(profile, from_ns);
	if (to_ns > profile->info.wall_ns) { /* steps that are still to come have their places */
		timeline->steps =
			(uint32_t)((to_ns - 1) / profile->step_ns) - timeline->first_step + 1;
		timeline->end_ns = (timeline->first_step + timeline->steps) * profile->step_ns;
		return;
	}
	uint32_t last = sample_at(profile, to_ns - 1);

	timeline->steps = last - timeline->first_step + 1;
	timeline->end_ns = sample_end(profile, last);
}

uint64_t mt_timeline_round(uint64_t value)
{
	uint64_t power = 1;

	while (power < value && power < 1ull << 62)
		power *= 2;
	return power >= 4 && power / 4 * 3 >= value ? power / 4 * 3 : power;
}

uint64_t mt_timeline_growing_end(const struct mt_profile *profile, uint32_t columns)
{
	uint64_t wall = profile->info.wall_ns, width = profile->step_ns * columns;

	return wall && width ? width * mt_timeline_round((wall + width - 1) / width) : wall;
}

uint32_t mt_timeline_seen(const struct mt_timeline *timeline, const struct mt_profile *profile)
{
	uint64_t wall = profile->info.wall_ns;

	return wall && timeline->to_ns > wall && timeline->count
		? mt_timeline_column(timeline, wall - 1) + 1
		: timeline->count;
}

uint64_t mt_timeline_edge(const struct mt_timeline *timeline, uint32_t column)
{
	uint64_t width = timeline->to_ns - timeline->from_ns, at;

	if (timeline->steps < timeline->count)
		return timeline->from_ns
			+ (uint64_t)((unsigned __int128)width * column / timeline->count);
	at = (timeline->first_step + (uint64_t)timeline->steps * column / timeline->count)
		* timeline->step_ns;
	return at < timeline->from_ns ? timeline->from_ns
		: column == timeline->count || at > timeline->to_ns
		? timeline->to_ns
		: at;
}

uint32_t mt_timeline_column(const struct mt_timeline *timeline, uint64_t ns)
{
	uint32_t most = timeline->count ? timeline->count - 1 : 0, column = 0;

	if (ns <= timeline->from_ns || !most)
		return 0;
	if (ns >= timeline->to_ns)
		return most;
	column = (uint32_t)((unsigned __int128)(ns - timeline->from_ns) * timeline->count
		/ (timeline->to_ns - timeline->from_ns));
	while (column > 0 && mt_timeline_edge(timeline, column) > ns)
		column--;
	while (column < most && mt_timeline_edge(timeline, column + 1) <= ns)
		column++;
	return column;
}

void mt_timeline_get(struct mt_timeline *timeline, const struct mt_profile *profile,
	uint64_t from_ns, uint64_t to_ns, uint32_t columns)
{
	mt_timeline_lay(timeline, profile, from_ns, to_ns, columns);
	if (timeline->count)
		timeline->columns =
			mt_resize(timeline->columns, timeline->count * sizeof *timeline->columns);
	for (uint32_t i = 0; i < timeline->count; i++) {
		const struct mt_sample *end =
			profile->sample_count ? &profile->samples[profile->sample_count - 1] : NULL;
		uint32_t first, last;

		timeline->columns[i] = (struct mt_sample){0};
		if (!timeline->steps)
			continue;
		mt_timeline_steps(timeline, i, &first, &last);
		if (mt_timeline_edge(timeline, i) < sample_end(profile, profile->sample_count - 1))
			timeline->columns[i] = sum_of(profile, first, last);
		else /* behind the last step: as it was then */
			timeline->columns[i] = (struct mt_sample){
				.live_bytes = end->live_bytes,
				.live_count = end->live_count,
				.max_bytes = end->live_bytes,
				.memory = end->memory,
			};
	}
}

void mt_timeline_halves(const struct mt_timeline *timeline, const struct mt_profile *profile,
	uint64_t *most)
{
	for (uint32_t i = 0; i < timeline->count; i++) {
		uint32_t first, last, second;

		most[2 * i] = most[2 * i + 1] = timeline->columns[i].max_bytes;
		if (!timeline->steps)
			continue;
		mt_timeline_steps(timeline, i, &first, &last);
		if (last == first || first >= profile->sample_count)
			continue;
		second = first + (last - first + 1) / 2;
		most[2 * i] = sum_of(profile, first, second - 1).max_bytes;
		most[2 * i + 1] = sum_of(profile, second, last).max_bytes;
	}
}

void mt_timeline_free(struct mt_timeline *timeline)
{
	free(timeline->columns);
	*timeline = (struct mt_timeline){0};
}
