/* Filters: at once where the groups' totals answer them, else in a thread that goes over the
 * events. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/query/filter_match.h"
#include "tui/data/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGE_NS 2500000000u /* which is worth a word */

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

	mt_filter_allow_absent(filter, true); /* what is not there yet; the rest was checked */
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

	bool follows = d->live && d->client;

	if (!follows && (!d->reader || !has_events(d->reader)))
		return;
	d->events++;
	mt_worker_free(d->matching);
	mt_worker_free(d->listing);
	mt_history_worker_free(d->history_worker);
	d->matching = mt_worker_new(&work);
	d->listing = mt_listing_new();
	if (follows) {
		mt_worker_follow(d->matching, d->recording);
		mt_worker_follow(d->listing, d->recording);
		d->history_worker = mt_history_worker_follow(d->recording);
	} else {
		d->history_worker = mt_history_worker_new(&d->recording->now);
	}
}

/* Whether the fields can be answered from what is there. */
static int check(const struct mt_data *d, const struct mt_filter *filter, struct mt_err *err)
{
	struct mt_filter_bounds bounds = {0};
	int result = mt_filter_compile(&bounds, filter, d->whole, err);

	mt_filter_bounds_free(&bounds);
	if (result < 0 || !mt_filter_needs(filter))
		return result;
	if (d->matching && d->live && d->frozen)
		return mt_fail(err, -EBUSY,
			"single blocks are as of now, but the screen is frozen; unfreeze it first");
	if (d->matching)
		return 0;
	if (d->members.count)
		return mt_fail(err, -ENOTSUP,
			"this field selects individual blocks, which each recording has by itself: "
			"open one, or ask all with 'memtui groups --filter=... TRACES'");
	if (d->reader)
		return mt_fail(err, -ENOTSUP,
			"this field selects individual blocks, but the trace has only totals; "
			"use fields of groups");
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
static void put_in_force(struct mt_data *d, const char *text, struct mt_matched matched,
	struct mt_recording *moment)
{
	struct mt_filter_bounds bounds = {0};

	/* what was true at a moment is not kept */
	if (d->kept_text && same(d->filter, d->kept_text) && !d->moment) {
		mt_matched_free(&d->kept);
		d->kept = d->matched;
	} else {
		mt_matched_free(&d->matched);
	}
	mt_recording_free(d->moment);
	d->moment = moment;
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
	d->timeline_runs = d->renews = false;
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
		put_in_force(d, text, kept, NULL);
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
		put_in_force(d, text, (struct mt_matched){0}, NULL);
	free(text);
}

int mt_data_filter(struct mt_data *d, const char *text, struct mt_err *err)
{
	struct mt_filter *filter = mt_filter_new_of(d->whole);
	int result = mt_filter_parse(filter, text, err);

	mt_filter_allow_absent(filter, d->live); /* a thread that will be there */
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
		put_in_force(d, text, (struct mt_matched){0}, NULL);
	}
	mt_filter_free(filter);
	return result;
}

/* ---- a program that runs --------------------------------------------------------------------- */

bool mt_data_may_renew(const struct mt_data *d, const struct mt_worker *worker)
{
	return d->live && d->client && !d->frozen && mt_worker_may_renew(worker);
}

void mt_data_renew(struct mt_data *d)
{
	char *text;

	if (d->matching_text && !mt_worker_asked(d->matching)) { /* there was nothing yet */
		text = mt_strdup(d->matching_text);
		start(d, text);
		free(text);
	} else if (d->moment && !d->matching_text && mt_data_is_matched(d)
		&& mt_data_may_renew(d, d->matching)) {
		text = mt_filter_text(d->filter);
		start(d, text);
		d->renews = true;
		free(text);
	}
}

const char *mt_data_age_words(char out[32], const struct mt_data *d, uint64_t moment_ns)
{
	uint64_t now = d->whole->info.wall_ns;
	char age[MT_NUMBER_LEN];

	out[0] = '\0';
	if (!moment_ns || now < moment_ns + AGE_NS)
		return out;
	mt_number_time(age, now - moment_ns);
	snprintf(out, 32, "%s ago", age);
	return out;
}

uint64_t mt_data_moment_ns(const struct mt_data *d)
{
	return d->moment ? d->moment->now.profile->info.wall_ns : 0;
}

/* Whether the screen knows all groups that the moment has: it may not have looked since, and does
 * not while it is frozen. */
static bool has_caught_up(struct mt_data *d, const struct mt_recording *moment)
{
	if (!moment || moment->now.profile->group_count <= d->whole->group_count)
		return true;
	mt_data_update(d, true);
	return moment->now.profile->group_count <= d->whole->group_count;
}

/* The process has not allocated yet, or has just executed another program: news will come. */
static bool comes_later(const struct mt_data *d, int result)
{
	return d->live && (result == -ENODATA || result == -ESTALE || result == -EAGAIN);
}

void mt_data_other_events(struct mt_data *d)
{
	char *text = mt_data_wanted(d);
	bool matched = mt_data_is_matched(d) || mt_data_pending(d);

	mt_data_cancel(d);
	mt_data_begin_filters(d);
	if (matched) {
		put_in_force(d, "", (struct mt_matched){0}, NULL);
		mt_data_filter(d, text, NULL);
	}
	free(text);
}

/* ---- the answer ------------------------------------------------------------------------------ */

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
	if (d->matching && !d->live && !d->timeline_asked && !d->matching_text) {
		char *text = mt_filter_text(d->filter);

		start(d, text);
		d->timeline_asked = d->timeline_runs = true;
		free(text);
	}
	*unfiltered = d->live || (d->client && !d->matching)
		? "all groups: a running program's timeline is not filtered "
		: d->matching ? "all groups, until the filter is applied "
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
	d->timeline_asked = d->timeline_runs = d->renews = false;
	return pending;
}

const char *mt_data_pending(const struct mt_data *d)
{
	return d->timeline_runs || d->renews ? NULL : d->matching_text;
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
	bool renewed = d->renews;

	if (!result || comes_later(d, result))
		return 0;
	struct mt_recording *moment = mt_worker_moment(d->matching);

	d->matching_text = NULL;
	if (result > 0 && !has_caught_up(d, moment)) { /* then it is asked again */
		d->matching_text = text;
		mt_matched_free(&matched);
		mt_recording_free(moment);
		return 0;
	}
	d->timeline_runs = d->renews = false;
	if (result > 0)
		put_in_force(d, text, matched, moment);
	free(text);
	/* what is in force stays there, and is asked again as long as the program runs */
	return result < 0 && renewed ? 0 : result;
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
