#include "core/query/fold.h"
#include "core/model/sampling.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_VALUES 8192u

struct mt_fold_chunk {
	struct mt_fold_chunk *next;
	uint64_t values[];
};

#define HEADER (sizeof(struct mt_fold_values) / sizeof(uint64_t))

static size_t size_of(const struct mt_group_column *column)
{
	return column->width + (column->variances != NULL);
}

size_t mt_fold_place(const struct mt_profile *p, uint32_t column)
{
	size_t place = 0;

	for (uint32_t i = 0; i < column; i++)
		place += size_of(&p->columns[i]);
	return place;
}

struct mt_fold_values *mt_fold_values(struct mt_folds *folds, struct mt_group *sum,
	const struct mt_profile *p)
{
	size_t size = HEADER + mt_fold_place(p, p->column_count);

	if (sum->folded)
		return sum->folded;
	if (!folds->chunk || folds->left < size) {
		size_t values = size > CHUNK_VALUES ? size : CHUNK_VALUES;
		struct mt_fold_chunk *chunk =
			mt_alloc(sizeof *chunk + values * sizeof *chunk->values);

		chunk->next = folds->chunk;
		folds->chunk = chunk;
		folds->left = values;
	}
	folds->left -= size;
	sum->folded = (struct mt_fold_values *)(void *)(folds->chunk->values + folds->left);
	return sum->folded;
}

void mt_fold_own(struct mt_folds *folds, struct mt_group *sum, const struct mt_profile *p)
{
	const struct mt_fold_values *shared = sum->folded;
	size_t values = mt_fold_place(p, p->column_count);

	sum->folded = NULL;
	if (shared)
		memcpy(mt_fold_values(folds, sum, p), shared,
			sizeof *shared + values * sizeof *shared->values);
}

void mt_folds_free(struct mt_folds *folds)
{
	for (struct mt_fold_chunk *chunk = folds->chunk, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	folds->chunk = NULL;
	folds->left = 0;
}

/* ---- by column ---- */

static double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static void add_variance(uint64_t *to, const uint64_t *from, bool replace)
{
	double sum = (replace ? 0 : as_double(*to)) + as_double(*from);

	memcpy(to, &sum, sizeof sum);
}

enum mt_folded mt_fold_value(uint64_t *to, const uint64_t *from,
	const struct mt_group_column *column, bool first)
{
	bool sums = column->fold == MT_FOLD_SUM || column->fold == MT_FOLD_HISTOGRAM;
	bool takes = first || (column->fold == MT_FOLD_MAX && *from > *to)
		|| (column->fold == MT_FOLD_MIN && *from < *to);

	for (uint32_t i = 0; i < column->width && (sums || takes); i++)
		to[i] = from[i] + (sums ? to[i] : 0);
	return sums ? MT_FOLDED_ADDED : takes ? MT_FOLDED_TAKEN : MT_FOLDED_NOT;
}

/* to, from: the values of one column, then the variance if it has any. */
static void fold_column(uint64_t *to, const uint64_t *from, const struct mt_group_column *column,
	bool first)
{
	enum mt_folded how = mt_fold_value(to, from, column, first);

	if (how != MT_FOLDED_NOT && column->variances)
		add_variance(&to[column->width], &from[column->width], how == MT_FOLDED_TAKEN);
}

/* A group's values as a sum has them. */
static const uint64_t *values_of_group(uint64_t *out, const struct mt_group_column *column,
	size_t group)
{
	memset(out, 0, (column->width + 1) * sizeof *out);
	if (group < column->count) {
		memcpy(out, column->values + group * column->width, column->width * sizeof *out);
		if (column->variances)
			memcpy(&out[column->width], &column->variances[group], sizeof *out);
	}
	return out;
}

static void fold_columns(struct mt_fold_values *to, const struct mt_profile *p,
	const struct mt_group *group, bool first)
{
	bool single = mt_profile_has_group(p, group);
	uint64_t own[MT_COLUMN_BUCKETS_MAX + 1];
	size_t at = 0;

	for (uint32_t i = 0; i < p->column_count; i++) {
		const struct mt_group_column *column = &p->columns[i];

		if (single || group->folded)
			fold_column(to->values + at,
				single ? values_of_group(own, column, (size_t)(group - p->groups))
				       : group->folded->values + at,
				column, first);
		at += size_of(column);
	}
}

/* A sum is as suspicious as the worst of its groups, so that it says of one group what the list of
 * groups says. */
static void fold_suspect(struct mt_group *sum, const struct mt_profile *p,
	const struct mt_group *group)
{
	uint64_t score = mt_metric_value(p, group, MT_METRIC_SUSPECT);

	if (sum->flags & MT_GROUP_SUSPECT && score <= sum->folded->suspect)
		return;
	sum->folded->suspect = score;
	sum->flags |= MT_GROUP_SUSPECT;
	sum->flags &= ~MT_GROUP_SUSPECT_ESTIMATED;
	if (mt_metric_is_estimated(p, group, MT_METRIC_SUSPECT))
		sum->flags |= MT_GROUP_SUSPECT_ESTIMATED;
}

static void fold_estimates(struct mt_fold_values *to, const struct mt_profile *p,
	const struct mt_group *group)
{
	const struct mt_estimates *from = mt_metric_estimates(p, group);

	if (!from)
		return;
	mt_estimates_fold(&to->estimates, from);
}

static void fold_beside(struct mt_folds *folds, struct mt_group *sum, const struct mt_profile *p,
	const struct mt_group *group)
{
	struct mt_fold_values *to = mt_fold_values(folds, sum, p);

	to->range_live_count += mt_metric_value(p, group, MT_METRIC_RANGE_LIVE_COUNT);
	to->range_live_bytes += mt_metric_value(p, group, MT_METRIC_RANGE_LIVE_SIZE);
	if (folds->suspects)
		fold_suspect(sum, p, group);
	fold_estimates(to, p, group);
	fold_columns(to, p, group, !sum->allocated_count);
}

void mt_fold(struct mt_folds *folds, struct mt_group *sum, const struct mt_profile *p,
	const struct mt_group *group)
{
	if (!group->allocated_count)
		return;
	if (folds->suspects || p->late || p->column_count || p->estimates)
		fold_beside(folds, sum, p, group);
	mt_fold_counters(sum, group);
	if (p->info.lossy_ns && mt_profile_has_group(p, group) && mt_profile_is_estimated(p, group))
		sum->flags |= MT_GROUP_ESTIMATED;
}

void mt_fold_counters(struct mt_group *sum, const struct mt_group *group)
{
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
	sum->flags |= group->flags & (MT_GROUP_ESTIMATED | MT_GROUP_SUMMED);
}
