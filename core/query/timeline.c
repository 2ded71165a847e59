#include "core/query/query.h"

#include <stdlib.h>

/* The last step ends with the run, so that what happened in it is not spread over time that never was. */
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

/* Of an amount within a step, the part before an instant: linear, rounded down. Differences of two such
 * parts add up to the whole, so no event is lost or counted twice over all columns. */
static uint64_t part_before(const struct mt_profile *profile, uint32_t index, uint64_t amount, uint64_t ns)
{
	uint64_t start = index * profile->step_ns, end = sample_end(profile, index);

	if (ns <= start)
		return 0;
	if (ns >= end)
		return amount;
	return (uint64_t)((unsigned __int128)amount * (ns - start) / (end - start));
}

static void fill_column(struct mt_sample *column, const struct mt_profile *profile, uint64_t from_ns,
	uint64_t to_ns)
{
	uint32_t first = sample_at(profile, from_ns);
	uint32_t last = to_ns > from_ns ? sample_at(profile, to_ns - 1) : first;
	const struct mt_sample *at_end = &profile->samples[last];

	*column = (struct mt_sample){.live_bytes = at_end->live_bytes,
		.live_count = at_end->live_count,
		.memory = at_end->memory};
	if (from_ns >= sample_end(profile, first)) {
		column->max_bytes = at_end->live_bytes;
		return;
	}
	for (uint32_t i = first; i <= last; i++) {
		const struct mt_sample *sample = &profile->samples[i];

		if (sample->max_bytes > column->max_bytes)
			column->max_bytes = sample->max_bytes;
		column->allocations += part_before(profile, i, sample->allocations, to_ns) -
			part_before(profile, i, sample->allocations, from_ns);
		column->frees += part_before(profile, i, sample->frees, to_ns) -
			part_before(profile, i, sample->frees, from_ns);
	}
}

void mt_timeline_get(struct mt_timeline *timeline, const struct mt_profile *profile, uint64_t from_ns,
	uint64_t to_ns, uint32_t columns)
{
	timeline->count = 0;
	timeline->from_ns = from_ns;
	timeline->to_ns = to_ns;
	if (from_ns >= to_ns || !columns)
		return;
	timeline->columns = mt_resize(timeline->columns, columns * sizeof *timeline->columns);
	timeline->count = columns;
	unsigned __int128 width = to_ns - from_ns;

	for (uint32_t i = 0; i < columns; i++) {
		uint64_t start = from_ns + (uint64_t)(width * i / columns);
		uint64_t end = from_ns + (uint64_t)(width * (i + 1) / columns);

		timeline->columns[i] = (struct mt_sample){0};
		if (profile->sample_count && profile->step_ns)
			fill_column(&timeline->columns[i], profile, start, end);
	}
}

/* ---- columns of whole steps ---- */

static struct mt_sample sum_of(const struct mt_profile *profile, uint32_t first, uint32_t last)
{
	struct mt_sample sum = profile->samples[last];

	for (uint32_t i = first; i < last; i++) {
		const struct mt_sample *sample = &profile->samples[i];

		sum.max_bytes = sample->max_bytes > sum.max_bytes ? sample->max_bytes : sum.max_bytes;
		sum.allocations += sample->allocations;
		sum.frees += sample->frees;
	}
	return sum;
}

/* The samples go on behind the range, where nothing is allocated. What was freed there (late) still lives at its end, and
 * what is missing then was freed in the range: so the columns add up to what groups say, exactly. */
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
		const struct mt_group *g = &profile->groups[i];

		column->live_bytes += g->live_bytes + g->late_bytes;
		column->live_count += g->live_count + g->late_count;
	}
	for (uint32_t i = 0; i < timeline->count; i++) {
		allocations += timeline->columns[i].allocations;
		frees += i + 1 < timeline->count ? timeline->columns[i].frees : 0;
	}
	column->frees = allocations - frees - column->live_count;
}

void mt_timeline_of_steps(struct mt_timeline *timeline, const struct mt_profile *profile, uint64_t from_ns,
	uint64_t to_ns, uint32_t columns)
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
	timeline->to_ns = within ? to_ns : end;
	timeline->first_step = first;
	timeline->steps = last - first + 1;
	timeline->step_ns = profile->step_ns;
	timeline->count = columns < timeline->steps ? columns : timeline->steps;
	timeline->columns = mt_resize(timeline->columns, timeline->count * sizeof *timeline->columns);
	for (uint32_t i = 0; i < timeline->count; i++) {
		mt_timeline_steps(timeline, i, &first, &last);
		timeline->columns[i] = sum_of(profile, first, last);
	}
	if (within)
		end_at_range(timeline, profile);
}

void mt_timeline_steps(const struct mt_timeline *timeline, uint32_t column, uint32_t *first, uint32_t *last)
{
	*first = timeline->first_step + (uint32_t)((uint64_t)timeline->steps * column / timeline->count);
	*last = timeline->first_step + (uint32_t)((uint64_t)timeline->steps * (column + 1) / timeline->count) - 1;
}

uint64_t mt_timeline_end(const struct mt_timeline *timeline, uint32_t column)
{
	uint32_t first, last;

	mt_timeline_steps(timeline, column, &first, &last);
	return column + 1 == timeline->count ? timeline->to_ns : (last + 1) * timeline->step_ns;
}

void mt_timeline_free(struct mt_timeline *timeline)
{
	free(timeline->columns);
	*timeline = (struct mt_timeline){0};
}
