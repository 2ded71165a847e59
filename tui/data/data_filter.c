/* Filters: at once where the groups' totals answer them, else in a thread that goes over the
 * events. */
#include "core/base/buffer.h"
#include "core/query/filter_match.h"
#include "tui/data/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool mt_data_is_matched(const struct mt_data *d)
{
	return mt_filter_needs(d->filter) != 0;
}

static bool has_events(const struct mt_trace_reader *reader)
{
	for (uint32_t i = 0; i < mt_trace_reader_count(reader); i++)
		if (mt_trace_reader_block(reader, i)->type == MT_BLOCK_EVENTS)
			return true;
	return false;
}

/* In the thread of the worker. */
static int match(const struct mt_source *source, const void *text, void *result, struct mt_err *err)
{
	struct mt_filter *filter = mt_filter_new_of(source->profile);
	int status = mt_filter_parse(filter, text, err);

	if (!status)
		status = mt_match(result, source, filter, MT_MATCH_HISTORY, err);
	mt_filter_free(filter);
	return status;
}

static void free_matched(void *matched)
{
	mt_matched_free(matched);
}

void mt_data_begin_filters(struct mt_data *d)
{
	static const struct mt_worker_kind work = {.words = "to filter in",
		.result_size = sizeof(struct mt_matched),
		.run = match,
		.free_request = free,
		.free_result = free_matched};

	if (!d->reader || !has_events(d->reader))
		return;
	d->matching = mt_worker_new(&work);
	d->listing = mt_listing_new();
	d->history_worker = mt_history_worker_new(&d->recording->now);
}

/* Whether the fields can be answered from what is there. */
static int check(const struct mt_data *d, const struct mt_filter *filter, struct mt_err *err)
{
	struct mt_filter_bounds bounds = {0};
	int result = mt_filter_compile(&bounds, filter, d->whole, err);

	mt_filter_bounds_free(&bounds);
	if (result < 0 || !mt_filter_needs(filter) || d->matching)
		return result;
	if (d->reader)
		return mt_fail(err, -ENOTSUP,
			"this field selects individual blocks, but the trace has only totals; "
			"use fields of groups");
	if (d->live || d->client)
		return mt_fail(err, -ENOTSUP,
			"this field selects individual blocks, but a running program has only "
			"totals; use fields of groups, or open the saved trace");
	return mt_fail(err, -ENOTSUP,
		"this field selects individual blocks, but a stand-alone recording has none in "
		"order; use fields of groups, or a trace made by 'memtui pack'");
}

static bool same(const struct mt_filter *a, const char *text)
{
	char *one = mt_filter_text(a);
	bool equal = !strcmp(one, text);

	free(one);
	return equal;
}

/* Another filter is in force, with what it leaves of the recording. Parsed into the filter that is
 * there, which keeps what its patterns know of names. */
static void put_in_force(struct mt_data *d, const char *text, struct mt_matched matched)
{
	struct mt_filter_bounds bounds = {0};

	if (d->kept_text && same(d->filter, d->kept_text)) {
		mt_matched_free(&d->kept);
		d->kept = d->matched;
	} else {
		mt_matched_free(&d->matched);
	}
	d->matched = matched;
	d->timeline_asked = matched.own;
	mt_filter_name_columns(d->filter, d->whole);
	mt_filter_parse(d->filter, text, NULL);
	d->ranged =
		mt_filter_get(d->filter, MT_FILTER_FROM) || mt_filter_get(d->filter, MT_FILTER_TO);
	if (mt_filter_compile(&bounds, d->filter, d->whole, NULL) < 0)
		d->ranged = false;
	d->from_ns = bounds.from_ns;
	d->to_ns = bounds.to_ns < d->whole->info.wall_ns ? bounds.to_ns : d->whole->info.wall_ns;
	mt_filter_bounds_free(&bounds);
	mt_data_select(d);
}

/* text may be what is asked already. */
static void start(struct mt_data *d, const char *text)
{
	char *asked = mt_strdup(text);

	d->asked++;
	d->timeline_runs = false;
	mt_worker_start(d->matching, &d->recording->now, mt_strdup(text));
	free(d->matching_text);
	d->matching_text = asked;
}

static int ask(struct mt_data *d, const char *text)
{
	if (mt_data_pending(d) && !strcmp(mt_data_pending(d), text))
		return 1;
	mt_data_cancel(d);
	if (same(d->filter, text))
		return 0;
	if (d->kept_text && d->kept.own && !strcmp(d->kept_text, text)) {
		struct mt_matched kept = d->kept;

		d->kept = (struct mt_matched){0};
		put_in_force(d, text, kept);
		return 0;
	}
	start(d, text);
	return 1;
}

/* Until single allocations are known, or where they are not: what the rest of the filter leaves.
 * What was typed before its last word was there is nothing to show, unless it is nearly the
 * same. */
static void show_groups(struct mt_data *d, struct mt_filter *filter)
{
	char *text;

	if (mt_data_is_matched(d))
		return;
	for (int i = 0; i < MT_FILTER_COUNT; i++)
		if (mt_filter_info((enum mt_filter_field)i)->scope != MT_FILTER_SCOPE_GROUP)
			mt_filter_set(filter, (enum mt_filter_field)i, NULL, NULL);
	text = mt_filter_text(filter);
	if (!same(d->filter, text))
		put_in_force(d, text, (struct mt_matched){0});
	free(text);
}

int mt_data_filter(struct mt_data *d, const char *text, struct mt_err *err)
{
	struct mt_filter *filter = mt_filter_new_of(d->whole);
	int result = mt_filter_parse(filter, text, err);

	if (!result)
		result = check(d, filter, err);
	if (!result && mt_filter_needs(filter)) {
		char *whole = mt_filter_text(filter);

		result = ask(d, whole);
		free(whole);
		if (result)
			show_groups(d, filter);
	} else if (result == -ENOTSUP) {
		mt_data_cancel(d);
		show_groups(d, filter);
	} else if (!result) {
		mt_data_cancel(d);
		put_in_force(d, text, (struct mt_matched){0});
	}
	mt_filter_free(filter);
	return result;
}

void mt_data_remember(struct mt_data *d)
{
	mt_matched_free(&d->kept);
	free(d->kept_text);
	d->kept_text = mt_filter_text(d->filter);
}

void mt_data_back(struct mt_data *d)
{
	mt_data_cancel(d);
	if (d->kept_text && !same(d->filter, d->kept_text))
		mt_data_filter(d, d->kept_text, NULL);
}

int mt_data_filter_time(struct mt_data *d, const char *from, const char *to, const char *alive_at,
	struct mt_err *err)
{
	const struct {
		enum mt_filter_field field;
		const char *value;
	} fields[] = {
		{MT_FILTER_FROM, from},
		{MT_FILTER_TO, to},
		{MT_FILTER_ALIVE_AT, alive_at},
		{MT_FILTER_ALIVE_AT_2, NULL},
	};
	struct mt_filter *filter = mt_filter_new_of(d->whole);
	char *text = mt_data_wanted(d);
	int result = mt_filter_parse(filter, text, err);

	free(text);
	for (size_t i = 0; !result && i < sizeof fields / sizeof *fields; i++)
		result = mt_filter_set(filter, fields[i].field, fields[i].value, err);
	if (!result) {
		text = mt_filter_text(filter);
		result = mt_data_filter(d, text, err);
		free(text);
	}
	mt_filter_free(filter);
	return result;
}

const struct mt_profile *mt_data_timeline(struct mt_data *d, const char **unfiltered)
{
	if (!mt_filter_active(d->filter) || d->matched.own) {
		*unfiltered = NULL;
		return d->matched.own ? &d->matched.profile : &d->profile;
	}
	if (d->matching && !d->timeline_asked && !d->matching_text) {
		char *text = mt_filter_text(d->filter);

		start(d, text);
		d->timeline_asked = d->timeline_runs = true;
		free(text);
	}
	*unfiltered = d->matching      ? "all groups, until the filter is applied "
		: d->live || d->client ? "all groups: a running program's timeline is not filtered "
				       : "all groups: no events to filter ";
	return &d->profile;
}

bool mt_data_timeline_runs(const struct mt_data *d)
{
	bool held = false;

	if (d->timeline_runs)
		mt_worker_progress(d->matching, &held);
	return d->timeline_runs && !held;
}

bool mt_data_cancel(struct mt_data *d)
{
	bool pending = mt_data_pending(d) != NULL;

	if (!d->matching_text)
		return false;
	mt_worker_cancel(d->matching);
	free(d->matching_text);
	d->matching_text = NULL;
	d->timeline_asked = d->timeline_runs = false;
	return pending;
}

const char *mt_data_pending(const struct mt_data *d)
{
	return d->timeline_runs ? NULL : d->matching_text;
}

char *mt_data_wanted(const struct mt_data *d)
{
	const char *pending = mt_data_pending(d);

	return pending ? mt_strdup(pending) : mt_filter_text(d->filter);
}

int mt_data_collect(struct mt_data *d, struct mt_err *err)
{
	struct mt_matched matched = {0};
	int result = d->matching ? mt_worker_collect(d->matching, &matched, err) : 0;
	char *text = d->matching_text;

	if (!result)
		return 0;
	d->matching_text = NULL;
	d->timeline_runs = false;
	if (result > 0)
		put_in_force(d, text, matched);
	free(text);
	return result;
}

bool mt_data_asks_names(const struct mt_data *d)
{
	static const enum mt_filter_field by_name[] = {MT_FILTER_FUNCTION_REGEX,
		MT_FILTER_SOURCE_REGEX, MT_FILTER_MODULE_REGEX, MT_FILTER_NEGATIVE_FUNCTION_REGEX,
		MT_FILTER_NEGATIVE_SOURCE_REGEX, MT_FILTER_NEGATIVE_MODULE_REGEX,
		MT_FILTER_BACKTRACE_DEPTH_MIN, MT_FILTER_BACKTRACE_DEPTH_MAX};

	for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
		if (mt_filter_get(d->filter, by_name[i]))
			return true;
	return false;
}

void mt_data_names_known(struct mt_data *d)
{
	char *text = mt_data_wanted(d);

	mt_matched_free(&d->kept);
	if (mt_data_pending(d) || (d->matched.own && mt_data_asks_names(d)))
		start(d, text);
	free(text);
}
