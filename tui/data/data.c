#include "tui/data/data.h"
#include "core/base/buffer.h"
#include "core/capture/import.h"
#include "core/convert/convert.h"
#include "core/export/number.h"
#include "core/model/load.h"
#include "core/query/wrappers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mt_data_init(struct mt_data *d)
{
	*d = (struct mt_data){.sort = MT_METRIC_LEAKED_SIZE};
	mt_profile_init(&d->whole);
	d->profile = d->whole;
	mt_symbols_init(&d->symbols);
	d->filter = mt_filter_new();
}

void mt_data_free(struct mt_data *d)
{
	mt_matching_free(d->matching);
	mt_worker_free(d->listing);
	mt_surveying_free(d->surveying);
	mt_symbolizer_free(d->symbolizer);
	mt_client_free(d->client);
	mt_import_free(d->import);
	mt_tree_free(d->tree);
	mt_tree_free(d->old_tree);
	mt_selection_free(&d->selection);
	mt_filter_free(d->filter);
	mt_symbols_free(&d->symbols);
	mt_matched_free(&d->matched);
	mt_matched_free(&d->kept);
	free(d->kept_text);
	mt_profile_free(&d->whole);
	if (d->reader)
		mt_trace_reader_free(d->reader);
	mt_ranking_free(&d->ranking);
	free(d->command);
}

static void outdate_tree(struct mt_data *d)
{
	if (!d->tree)
		return;
	d->old_tree = d->tree; /* there is none: this one took it */
	d->tree = NULL;
}

void mt_data_move(struct mt_data *to, struct mt_data *from)
{
	bool events = from->matching != NULL;

	mt_matching_free(from->matching); /* these know where the recording is */
	mt_surveying_free(from->surveying);
	mt_worker_free(from->listing);
	*to = *from;
	*from = (struct mt_data){0};
	to->matching = NULL;
	to->timeline_asked = to->matched.own;
	to->timeline_runs = false;
	to->surveying = NULL;
	to->listing = NULL;
	outdate_tree(to); /* it points to where the profile was */
	if (events)
		mt_data_begin_filters(to);
}

static void name_command(struct mt_data *d)
{
	free(d->command);
	d->command = mt_profile_command(&d->whole);
}

/* path: of the trace; NULL: a session's */
static void start_symbolizer(struct mt_data *d, const char *path)
{
	struct mt_resolver_options options = {
		.root_pid = d->live ? d->whole.info.pid : 0,
		.trace = path,
	};

	d->symbolizer = mt_symbolizer_new(&options);
	mt_symbolizer_feed(d->symbolizer, &d->whole);
}

/* The names that the trace brings. A damaged block is as none: then they are looked up again. */
static bool read_symbols(struct mt_data *d, struct mt_trace_reader *reader)
{
	struct mt_buffer payload = {0};
	bool found = false;

	for (uint32_t i = mt_trace_reader_count(reader); i-- > 0 && !found;) {
		if (mt_trace_reader_block(reader, i)->type != MT_BLOCK_SYMBOLS)
			continue;
		found = true;
		if (mt_trace_reader_payload(reader, i, &payload, NULL) < 0
			|| mt_symbols_decode(&d->symbols, payload.data, payload.len, NULL) < 0) {
			mt_symbols_free(&d->symbols);
			mt_symbols_init(&d->symbols);
			break;
		}
	}
	mt_buffer_free(&payload);
	return d->symbols.frame_count > 0;
}

/* Once the program has ended nothing is left to be read. */
static void end_import(struct mt_data *d)
{
	mt_import_free(d->import);
	d->import = NULL;
	d->live = false;
}

static int open_recording(struct mt_data *d, const char *path, int (*progress)(void *, double),
	void *context, struct mt_err *err)
{
	int result;

	d->import = mt_import_open(path, &d->whole, err);
	if (!d->import)
		return err && err->code ? err->code : -EIO;
	result = mt_import_update(d->import, progress, context, err);
	if (result < 0)
		return result;
	d->live = d->followed = mt_import_lives(d->import);
	start_symbolizer(d, path);
	name_command(d);
	if (!d->live)
		end_import(d);
	return 0;
}

int mt_data_open(struct mt_data *d, const char *path, int (*progress)(void *, double),
	void *context, struct mt_err *err)
{
	if (strcmp(path, "-") && mt_import_recognises(path))
		return open_recording(d, path, progress, context, err);
	struct mt_converted converted;
	struct mt_trace_reader *reader =
		mt_convert_open(path, 0, progress, context, &converted, err);
	int result;

	if (!reader)
		return err && err->code ? err->code : -EIO;
	result = mt_profile_load(&d->whole, reader, progress, context, err);
	if (result >= 0)
		result = mt_profile_check_readable(&d->whole, reader, err);
	d->reader = reader;
	d->spooled = converted.bytes || !strcmp(path, "-");
	if (result >= 0 && !read_symbols(d, reader))
		start_symbolizer(d, path);
	if (result < 0)
		return result;
	name_command(d);
	mt_data_begin_filters(d);
	return 0;
}

int mt_data_attach(struct mt_data *d, const char *session_name, pid_t process, unsigned frame_ms,
	struct mt_err *err)
{
	d->client = mt_client_connect_process(session_name, process, err);
	if (!d->client)
		return err && err->code ? err->code : -ENOENT;
	mt_client_interval(d->client, frame_ms);
	d->live = true;
	d->command = mt_strdup(mt_client_entry(d->client)->command);
	mt_data_update(d, true);
	return 0;
}

/* ---- how groups grow ---- */

#define SURVEY_SOON 20000000u /* events: about a second of another processor's time */

uint32_t mt_data_history(const struct mt_data *d, uint32_t group, uint64_t *out, uint32_t most)
{
	uint32_t count = mt_ranking_history(&d->ranking, group, out, most);
	uint64_t least = UINT64_MAX, largest = 0, bottom;

	/* From the beginning on: from nothing. */
	if (!d->live || !count || d->ranking.time_ns[0] <= 2 * d->ranking.step_ns)
		return count;
	for (uint32_t i = 0; i < count; i++) {
		least = out[i] < least ? out[i] : least;
		largest = out[i] > largest ? out[i] : largest;
	}
	bottom = least < largest - largest / 8 ? least : largest - largest / 8;
	for (uint32_t i = 0; i < count; i++)
		out[i] -= bottom;
	return count;
}

bool mt_data_unsampled(const struct mt_data *d, char *out, size_t len)
{
	uint32_t most = d->surveying ? MT_SURVEY_GROUPS_MAX : MT_RANKING_MOST;
	char number[MT_NUMBER_LEN];

	if (d->ranking.score_count || d->whole.group_count <= most
		|| !(d->surveying || d->client || d->followed))
		return false;
	mt_number_count(number, most);
	snprintf(out, len, "too many groups to sample (over %s)", number);
	return true;
}

const char *mt_data_thread(char out[64], const struct mt_profile *p, uint32_t thread)
{
	uint32_t tid = thread < p->thread_count ? p->threads[thread].tid : thread, same = 0;
	uint32_t name = thread < p->thread_count ? p->threads[thread].name : 0;
	const char *words = mt_strings_get(&p->strings, name);

	for (uint32_t i = 0; i < p->thread_count && same < 2; i++)
		same += p->threads[i].name == name;
	if (!*words)
		snprintf(out, 64, "%u", tid);
	else if (same > 1)
		snprintf(out, 64, "%.40s/%u", words, tid);
	else
		snprintf(out, 64, "%.60s", words);
	return out;
}

bool mt_data_is_suspect(const struct mt_data *d, const struct mt_group *group)
{
	return mt_metric_value(&d->profile, group, MT_METRIC_SUSPECT) >= MT_RANK_SUSPECT;
}

bool mt_data_scores_wait(const struct mt_data *d)
{
	uint32_t most = d->surveying ? MT_SURVEY_GROUPS_MAX : MT_RANKING_MOST;
	bool sampled = d->live && !d->surveying && (d->client || d->import);

	if (d->ranking.score_count || d->whole.group_count > most)
		return false;
	if (d->surveying)
		mt_surveying_ask_series(d->surveying);
	return sampled || (d->surveying && !mt_surveying_had_series(d->surveying));
}

void mt_data_rank(const struct mt_data *d, uint32_t group, struct mt_rank *rank)
{
	if (!mt_ranking_get(&d->ranking, &d->whole, group, rank))
		mt_rank_totals(rank, &d->profile, &d->profile.groups[group]);
}

void mt_data_survey(struct mt_data *d, uint32_t group)
{
	if (!d->surveying)
		return;
	if (group != MT_NO_GROUP)
		mt_surveying_ask_group(d->surveying, group);
	mt_surveying_ask_series(d->surveying);
}

void mt_data_survey_soon(struct mt_data *d)
{
	if (d->surveying
		&& mt_info_blocks_begun(&d->whole.info) + mt_info_blocks_ended(&d->whole.info)
			<= SURVEY_SOON)
		mt_surveying_ask_series(d->surveying);
}

bool mt_data_survey_collect(struct mt_data *d)
{
	struct mt_series series;

	if (!mt_surveying_collect(d->surveying, &series))
		return false;
	if (series.points) {
		mt_ranking_take(&d->ranking, &d->whole, &series);
		mt_layers_update(&d->layers, &d->whole, &d->ranking, d->live);
		mt_data_select(d);
	}
	return true;
}

/* ---- bringing up to date ---- */

/* The program executed another one: what was known by ids of groups and pcs is of the one
 * before. */
static void forget_image(struct mt_data *d)
{
	uint64_t generation = d->symbols.generation;

	mt_symbolizer_free(d->symbolizer);
	d->symbolizer = NULL;
	mt_symbols_free(&d->symbols);
	mt_symbols_init(&d->symbols);
	d->symbols.generation = generation + 1;
	mt_tree_free(d->tree);
	d->tree = NULL;
	mt_ranking_free(&d->ranking);
	d->ranking = (struct mt_ranking){0};
	d->layers.begun = false;
	d->image = mt_client_image(d->client);
	d->live = true;
}

static bool update_client(struct mt_data *d)
{
	struct mt_err err = {0};
	const struct mt_group *groups = d->whole.groups;
	uint32_t nodes = d->whole.node_count;
	int result = mt_client_update(d->client, &d->whole, &err);
	/* What was torn while it was read is begun anew, and may not be there yet: nothing may
	 * point to what was. */
	bool another = mt_client_image(d->client) != d->image;
	bool begun = d->whole.groups != groups || d->whole.node_count != nodes;

	if (another)
		forget_image(d);
	if (d->whole.info.ended)
		d->live = false;
	if (result < 0) {
		d->live = false;
		d->recorder_gone = true;
		mt_client_drain(d->client);
		return true;
	}
	if (!result)
		return another || begun;
	if (!d->symbolizer)
		start_symbolizer(d, NULL);
	else
		mt_symbolizer_feed(d->symbolizer, &d->whole);
	mt_ranking_add(&d->ranking, &d->whole);
	mt_layers_update(&d->layers, &d->whole, &d->ranking, d->live);
	return true;
}

/* Time passes even where nothing else changes. */
static void update_import(struct mt_data *d)
{
	int result = mt_import_update(d->import, NULL, NULL, NULL);

	mt_symbolizer_feed(d->symbolizer, &d->whole);
	mt_ranking_add(&d->ranking, &d->whole);
	mt_layers_update(&d->layers, &d->whole, &d->ranking, d->live);
	if (result < 0 || !mt_import_lives(d->import))
		end_import(d);
}

bool mt_data_update(struct mt_data *d, bool published)
{
	bool changed = false;

	if (published && d->import && !d->frozen) {
		update_import(d);
		changed = true;
	}

	if (published && d->client && !d->frozen && !d->recorder_gone)
		changed = update_client(d);
	/* Names stay as they are while a filter reads them. */
	d->names_wait = d->symbolizer
		&& (d->held
			|| (d->matching
				&& (mt_matching_runs(d->matching) || mt_worker_runs(d->listing))));
	if (d->symbolizer && !d->frozen && !d->names_wait
		&& mt_symbolizer_collect(d->symbolizer, &d->symbols)) {
		changed = true;
		if (!mt_symbolizer_busy(d->symbolizer))
			mt_data_names_known(d);
	}
	if (changed)
		mt_data_select(d);
	return changed;
}

bool mt_data_busy(struct mt_data *d)
{
	return d->symbolizer && !d->frozen && (d->names_wait || mt_symbolizer_busy(d->symbolizer));
}

void mt_data_freeze(struct mt_data *d, bool frozen, unsigned frame_ms)
{
	d->frozen = frozen;
	if (d->client && !d->recorder_gone) {
		mt_client_interval(d->client, frozen ? 0 : frame_ms);
		mt_data_update(d, !frozen);
	}
}

void mt_data_select(struct mt_data *d)
{
	bool matched = mt_data_is_matched(d);
	struct mt_profile whole = d->whole; /* which threads may read: scores are put beside it */

	whole.scores = d->ranking.scores;
	whole.score_count = d->ranking.score_count;
	/* Arrays of a recording that goes on have moved. */
	d->profile = matched ? d->matched.profile : whole;
	d->profile.scores = whole.scores;
	d->profile.score_count = whole.score_count;
	mt_wrappers_judge(d->wrappers, &d->symbols);
	/* An error here is a regex that took too long on some name: the selection then lacks these
	 * groups. */
	mt_select_by(&d->selection, &d->profile, d->sort_all ? &whole : &d->profile, &d->symbols,
		matched ? NULL : d->filter, d->sort, d->ascending, NULL);
	if (d->on_selected)
		d->on_selected(d->on_selected_context, d);
	outdate_tree(d);
	d->generation++;
}

void mt_data_sort(struct mt_data *d, enum mt_metric metric, bool ascending)
{
	d->sort = metric;
	d->ascending = ascending;
	if (metric == MT_METRIC_SUSPECT)
		mt_data_survey(d, MT_NO_GROUP);
	mt_data_select(d);
}

struct mt_tree *mt_data_tree(struct mt_data *d)
{
	if (!d->tree) {
		d->tree = mt_tree_again(d->old_tree, &d->profile, &d->symbols, &d->selection,
			d->inverted, d->sort);
		d->old_tree = NULL;
	}
	return d->tree;
}

void mt_data_invert(struct mt_data *d)
{
	d->inverted = !d->inverted;
	outdate_tree(d);
	d->generation++;
}

uint64_t mt_data_lost(const struct mt_data *d)
{
	const struct mt_info *info = &d->whole.info;

	return info->lost_events + info->implied_frees + info->unknown_frees + info->invalid_records
		+ info->counters[MT_COUNTER_UNSEEN_LIBRARIES];
}

const char *mt_data_format(char out[16], uint64_t value, enum mt_unit unit)
{
	if (unit == MT_UNIT_BYTES)
		mt_number_size(out, value);
	else if (unit == MT_UNIT_TIME)
		mt_number_time(out, value);
	else
		mt_number_count(out, value);
	return out;
}

const char *mt_data_metric(char out[17], const struct mt_data *d, const struct mt_group *group,
	enum mt_metric metric)
{
	if (metric == MT_METRIC_SUSPECT && mt_data_scores_wait(d))
		return strcpy(out, "..");
	out[0] = '~';
	mt_data_format(out + mt_metric_is_estimated(&d->profile, group, metric),
		mt_metric_value(&d->profile, group, metric), mt_metric_info(metric)->unit);
	return out;
}

double mt_data_percent(const struct mt_data *d, uint64_t value, enum mt_metric metric)
{
	uint64_t all = mt_metric_value(&d->profile, &d->selection.sum, metric);

	return all ? 100.0 * (double)value / (double)all : 0;
}
