#include "core/query/log_match.h"

#include "core/query/filter_internal.h"
#include "core/query/scan.h"

#include <errno.h>
#include <stdlib.h>

static bool is_for_the_log(enum mt_filter_field field)
{
	switch (field) {
	case MT_FILTER_FUNCTION_REGEX:
	case MT_FILTER_SOURCE_REGEX:
	case MT_FILTER_MODULE_REGEX:
	case MT_FILTER_NEGATIVE_FUNCTION_REGEX:
	case MT_FILTER_NEGATIVE_SOURCE_REGEX:
	case MT_FILTER_NEGATIVE_MODULE_REGEX:
	case MT_FILTER_BACKTRACE_DEPTH_MIN:
	case MT_FILTER_BACKTRACE_DEPTH_MAX:
	case MT_FILTER_FROM:
	case MT_FILTER_TO:
	case MT_FILTER_THREAD:
	case MT_FILTER_MARKER:
	case MT_FILTER_SIZE_MIN:
	case MT_FILTER_SIZE_MAX:
	case MT_FILTER_ADDRESS_MIN:
	case MT_FILTER_ADDRESS_MAX: return true;
	default: return false;
	}
}

static int check(const struct mt_filter *filter, struct mt_err *err)
{
	for (int i = 0; i < MT_FILTER_COUNT; i++)
		if (mt_filter_get(filter, (enum mt_filter_field)i)
			&& !is_for_the_log((enum mt_filter_field)i))
			return mt_fail(err, -EINVAL,
				"%s: selects blocks of the heap, not mappings or calls of "
				"mallopt; filter by "
				"backtrace, time, thread, marker, size or address",
				mt_filter_info((enum mt_filter_field)i)->name);
	return filter->terms ? mt_fail(err, -EINVAL,
		       "the columns of groups select blocks of the heap, not "
		       "mappings or calls of mallopt; leave them out of the filter")
			     : 0;
}

/* Verdicts by stack: to the filter, each entry is a group of one. */
static int match_stacks(uint8_t *matches, const struct mt_profile *p,
	const struct mt_symbols *symbols, struct mt_filter *filter, struct mt_err *err)
{
	struct mt_profile entries = *p;

	entries.groups = mt_alloc(((size_t)p->log_count + 1) * sizeof *entries.groups);
	entries.group_count = entries.group_capacity = p->log_count;
	for (uint32_t i = 0; i < p->log_count; i++)
		entries.groups[i] = (struct mt_group){.node = p->log[i].node, .allocated_count = 1};
	int result = mt_filter_match(filter, &entries, symbols, matches, err);

	free(entries.groups);
	return result;
}

int mt_log_match(uint8_t *matches, const struct mt_profile *p, const struct mt_symbols *symbols,
	struct mt_filter *filter, struct mt_err *err)
{
	struct mt_filter_bounds bounds = {0};
	uint32_t marker = 0;
	int result = 0;

	for (uint32_t i = 0; i < p->log_count; i++)
		matches[i] = 1;
	if (!filter || !mt_filter_active(filter))
		return 0;
	result = check(filter, err);
	if (!result)
		result = match_stacks(matches, p, symbols, filter, err);
	if (!result)
		result = mt_filter_compile(&bounds, filter, p, err);
	for (uint32_t i = 0; i < p->log_count && !result; i++) {
		const struct mt_log_entry *e = &p->log[i];
		struct mt_allocation as = {
			.time_ns = e->time_ns,
			.thread = e->thread,
			.address = e->values[0],
			.size = e->values[1],
			.marker = marker,
		};

		matches[i] = matches[i] && mt_filter_allocation_matches(&bounds, &as);
		if (e->type == MT_LOG_MARKER)
			marker = e->text;
	}
	mt_filter_bounds_free(&bounds);
	return result;
}
