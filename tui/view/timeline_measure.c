#include "tui/view/timeline_measure.h"
#include "core/base/buffer.h"

#include <string.h>

static const struct {
	const char *words, *brief;
	bool bytes;
} measures[] = {
#define X(id, words, brief, bytes) {words, brief, bytes},
	MT_MEASURES(X)
#undef X
};

const char *mt_measure_words(enum mt_measure m)
{
	return measures[m].words;
}

bool mt_measure_in_bytes(enum mt_measure m)
{
	return measures[m].bytes;
}

/* A second's share of what happened in the steps of a column. */
static double per_second(const struct mt_timeline *t, uint32_t column, double amount)
{
	uint64_t begin = mt_timeline_begin(t, column), end = mt_timeline_end(t, column);

	return end > begin ? amount * 1e9 / (double)(end - begin) : 0;
}

int64_t mt_measure_growth(const struct mt_timeline *t, const struct mt_profile *p, uint32_t column)
{
	uint32_t first, last;

	mt_timeline_steps(t, column, &first, &last);
	uint64_t before = first && first <= p->sample_count ? p->samples[first - 1].live_bytes : 0;

	return (int64_t)per_second(t, column,
		(double)t->columns[column].live_bytes - (double)before);
}

static uint64_t value_of(enum mt_measure m, const struct mt_timeline *t, const struct mt_profile *p,
	uint32_t column)
{
	const struct mt_sample *at = &t->columns[column];
	int64_t growth;

	switch (m) {
	case MT_MEASURE_BLOCKS: return at->live_count;
	case MT_MEASURE_ALLOCATIONS:
		return (uint64_t)(per_second(t, column, (double)at->allocations) + 0.5);
	case MT_MEASURE_FREES: return (uint64_t)(per_second(t, column, (double)at->frees) + 0.5);
	case MT_MEASURE_GROWTH:
		growth = mt_measure_growth(t, p, column);
		return growth > 0 ? (uint64_t)growth : 0;
	case MT_MEASURE_RESIDENT: return at->memory.rss_bytes;
	default: return at->live_bytes;
	}
}

uint64_t *mt_measure_values(enum mt_measure m, const struct mt_timeline *t,
	const struct mt_profile *p, uint64_t *max)
{
	uint64_t *values = mt_alloc((size_t)(t->count + 1) * 2 * sizeof *values);

	if (m == MT_MEASURE_LIVE)
		mt_timeline_halves(t, p, values);
	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t most =
			m == MT_MEASURE_LIVE ? t->columns[i].max_bytes : value_of(m, t, p, i);

		if (m != MT_MEASURE_LIVE)
			values[2 * i] = values[2 * i + 1] = most;
		if (most > *max)
			*max = most;
	}
	return values;
}

void mt_measure_draw(struct mt_app *app, struct mt_rect r)
{
	int column = 1, all = 0;

	for (int i = 0; i < MT_MEASURE_COUNT; i++)
		all += (int)strlen(measures[i].words) + 2;
	mt_draw_fill(app->screen, r.row, r.column, r.columns, MT_ROLE_HEADING);
	for (int i = 0; i < MT_MEASURE_COUNT; i++) {
		const char *words = all < r.columns ? measures[i].words : measures[i].brief;
		int width = mt_text_width(words);

		if (column + width > r.columns)
			break;
		mt_draw(app->screen, r.row, r.column + column, width,
			(enum mt_measure)i == (enum mt_measure)app->timeline.measure
				? MT_ROLE_SORTED
				: MT_ROLE_HEADING,
			words);
		mt_frame_hit(app, (struct mt_rect){r.row, r.column + column, 1, width},
			MT_HIT_MEASURE, MT_VIEW_TIMELINE, (uint32_t)i);
		column += width + (all < r.columns ? 2 : 1);
	}
}
