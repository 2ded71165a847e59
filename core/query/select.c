#include "core/query/filter_match.h"
#include "core/query/fold.h"
#include "core/query/query.h"
#include "core/query/sort.h"

#include <errno.h>
#include <stdlib.h>

/* Scores have few values, and in a short recording all are 0: of equal ones the group that leaks
 * more bytes comes first. */
static uint64_t sort_value(const struct mt_profile *by, uint32_t id, enum mt_metric sort)
{
	const uint64_t most = (1ull << 40) - 1;
	const struct mt_group *group = &by->groups[id];
	uint64_t value = mt_metric_value(by, group, sort);

	if (sort != MT_METRIC_SUSPECT)
		return value;
	return value << 40 | (group->live_bytes < most ? group->live_bytes : most);
}

/* Fills ids and keys of the groups that match; returns how many. Groups whose every allocation
 * failed or was lost have nothing to show and are left out. */
static uint32_t collect(struct mt_selection *to, struct mt_sort_entry *entries,
	const struct mt_profile *profile, const struct mt_profile *by, const uint8_t *matches,
	enum mt_metric sort, bool ascending)
{
	uint32_t count = 0;

	for (uint32_t id = 0; id < profile->group_count; id++) {
		const struct mt_group *group = &profile->groups[id];

		if (!group->allocated_count || (matches && !matches[id]))
			continue;
		uint64_t value = sort_value(by, id, sort);

		entries[count++] = (struct mt_sort_entry){ascending ? value : ~value, id};
		mt_fold(&to->folds, &to->sum, profile, group);
	}
	return count;
}

int mt_select(struct mt_selection *selection, const struct mt_profile *profile,
	const struct mt_symbols *symbols, struct mt_filter *filter, enum mt_metric sort,
	bool ascending, struct mt_err *err)
{
	return mt_select_by(selection, profile, profile, symbols, filter, sort, ascending, err);
}

int mt_select_by(struct mt_selection *selection, const struct mt_profile *profile,
	const struct mt_profile *by, const struct mt_symbols *symbols, struct mt_filter *filter,
	enum mt_metric sort, bool ascending, struct mt_err *err)
{
	uint8_t *matches = NULL;

	if (filter && mt_filter_active(filter)) {
		if (mt_filter_needs(filter))
			return mt_fail(err, -ENOTSUP,
				"this filter selects single allocations, but the recording "
				"has only totals; "
				"open a saved trace");
		matches = mt_resize(NULL, profile->group_count);
		int status = mt_filter_match(filter, profile, symbols, matches, err);

		if (status < 0) {
			free(matches);
			return status;
		}
	}
	struct mt_sort_entry *entries = mt_resize(NULL, profile->group_count * sizeof *entries);

	selection->sum = (struct mt_group){0};
	mt_folds_free(&selection->folds);
	selection->count = collect(selection, entries, profile, by, matches, sort, ascending);
	mt_sort(entries, selection->count);
	if (selection->capacity < selection->count) {
		selection->capacity = selection->count;
		selection->groups = mt_resize(selection->groups,
			selection->capacity * sizeof *selection->groups);
	}
	for (uint32_t i = 0; i < selection->count; i++)
		selection->groups[i] = entries[i].id;
	free(entries);
	free(matches);
	return 0;
}

void mt_selection_free(struct mt_selection *selection)
{
	free(selection->groups);
	mt_folds_free(&selection->folds);
	*selection = (struct mt_selection){0};
}
