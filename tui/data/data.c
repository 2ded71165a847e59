#include "tui/data/data.h"
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/query/wrappers.h"
#include "tui/data/lost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of the recording is another generation. */
static void look(struct mt_data *d)
{
	const struct mt_generation *now = &d->recording->now;

	d->whole = now->profile;
	d->symbols = now->symbols;
	d->reader = now->reader;
	d->image = d->recording->image;
}

/* So that views have something to show before anything is open. */
static const struct mt_generation *nothing(void)
{
	static struct mt_generation empty;

	if (!empty.profile)
		mt_generation_init(&empty);
	return &empty;
}

void mt_data_init(struct mt_data *d)
{
	*d = (struct mt_data){.sort = MT_METRIC_LEAKED_SIZE,
		.whole = nothing()->profile,
		.symbols = nothing()->symbols};
	d->profile = *d->whole;
	d->filter = mt_filter_new();
}

void mt_data_free(struct mt_data *d)
{
	mt_worker_free(d->matching);
	free(d->matching_text);
	mt_worker_free(d->listing);
	mt_history_worker_free(d->history_worker);
	mt_tree_free(d->tree);
	mt_tree_free(d->old_tree);
	mt_selection_free(&d->selection);
	mt_filter_free(d->filter);
	mt_matched_free(&d->matched);
	mt_matched_free(&d->kept);
	free(d->kept_text);
	mt_ranking_free(&d->ranking);
	free(d->command);
	mt_lost_forget(d);
	mt_recording_free(d->moment);
	mt_recording_free(d->recording);
	mt_family_free(&d->members);
	free(d->unread);
	free(d->troubles);
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
	*to = *from;
	*from = (struct mt_data){0};
	outdate_tree(to); /* it points to where the profile was */
}

static int opened(struct mt_data *d, struct mt_recording *recording)
{
	d->recording = recording;
	d->client = recording->client;
	d->live = recording->live;
	d->followed = recording->import;
	look(d);
	return 0;
}

int mt_data_open(struct mt_data *d, const char *path, int (*progress)(void *, const char *, double),
	void *context, struct mt_err *err)
{
	struct mt_open_options options = {.progress = progress, .context = context};
	struct mt_recording *recording = mt_recording_open(path, &options, err);

	if (!recording)
		return err->code;
	if (!mt_recording_read_names(recording, NULL))
		mt_recording_begin_names(recording);
	opened(d, recording);
	d->command = mt_profile_command(d->whole);
	mt_data_begin_filters(d);
	return 0;
}

/* What it is called: "1,556 recordings, the first of make -j4". The first of the members stands for
 * all. */
static char *set_words(const struct mt_set_opened *set)
{
	char recordings[MT_NUMBER_OF_LEN];

	mt_number_of(recordings, set->count, "recording");
	return set->members.count > 1
		? mt_format("%s, the first of %s", recordings, set->members.items[1].command)
		: mt_strdup(recordings);
}

int mt_data_open_set(struct mt_data *d, char *const *paths, uint32_t count,
	enum mt_set_stacks stacks, const char *cache, int (*progress)(void *, const char *, double),
	void *context, struct mt_err *err)
{
	struct mt_open_options options = {.progress = progress, .context = context};
	struct mt_set_opened set;
	int status = mt_set_open(&set, paths, count, stacks, cache, &options, err);

	if (status < 0)
		return status;
	opened(d, set.recording);
	d->command = set_words(&set);
	d->members = set.members;
	d->unread = set.unread;
	d->troubles = set.troubles;
	mt_data_begin_filters(d);
	return 0;
}

int mt_data_attach(struct mt_data *d, const char *session_name, pid_t process, unsigned frame_ms,
	struct mt_err *err)
{
	struct mt_recording *recording = mt_recording_attach(session_name, process, err);

	if (!recording)
		return err->code ? err->code : -ENOENT;
	opened(d, recording);
	mt_client_interval(d->client, frame_ms);
	d->command = mt_strdup(mt_client_entry(d->client)->command);
	mt_data_begin_filters(d);
	mt_data_update(d, true);
	return 0;
}

/* ---- how groups grow ---- */

#define HISTORY_SOON 20000000u /* events: about a second of another processor's time */

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
	uint32_t most = mt_history_worker_has_series(d->history_worker)
		? MT_SITE_HISTORY_GROUPS_MAX
		: MT_RANKING_MOST;
	char number[MT_NUMBER_LEN];

	if (d->ranking.score_count || d->whole->group_count <= most
		|| !(mt_history_worker_has_series(d->history_worker) || d->client || d->followed))
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
	uint32_t most = mt_history_worker_has_series(d->history_worker)
		? MT_SITE_HISTORY_GROUPS_MAX
		: MT_RANKING_MOST;
	bool sampled = d->live && !mt_history_worker_has_series(d->history_worker)
		&& (d->client || d->recording->import);

	if (d->ranking.score_count || d->whole->group_count > most)
		return false;
	if (d->history_worker)
		mt_history_worker_ask_series(d->history_worker);
	return sampled
		|| (mt_history_worker_has_series(d->history_worker)
			&& !mt_history_worker_had_series(d->history_worker));
}

void mt_data_rank(const struct mt_data *d, uint32_t group, struct mt_rank *rank)
{
	if (!mt_ranking_get(&d->ranking, d->whole, group, rank))
		mt_rank_totals(rank, &d->profile, &d->profile.groups[group]);
}

void mt_data_site_history(struct mt_data *d, uint32_t group)
{
	if (!d->history_worker)
		return;
	if (group != MT_NO_GROUP && !d->frozen)
		mt_history_worker_ask_group(d->history_worker, group);
	mt_history_worker_ask_series(d->history_worker);
}

void mt_data_site_history_soon(struct mt_data *d)
{
	if (mt_history_worker_has_series(d->history_worker)
		&& mt_info_blocks_begun(&d->whole->info) + mt_info_blocks_ended(&d->whole->info)
			<= HISTORY_SOON)
		mt_history_worker_ask_series(d->history_worker);
}

/* What follows from the ranking. */
static void ranked(struct mt_data *d)
{
	mt_layers_update(&d->layers, d->whole, &d->ranking, d->live);
	mt_suspect_update(&d->suspect, &d->ranking, d->whole, d->live);
}

bool mt_data_site_history_collect(struct mt_data *d)
{
	struct mt_series series;

	if (!mt_history_worker_collect(d->history_worker, &series))
		return false;
	if (series.points) {
		mt_ranking_take(&d->ranking, d->whole, &series);
		ranked(d);
		mt_data_select(d);
	}
	return true;
}

/* ---- bringing up to date ---- */

/* What was known by ids of groups and pcs is of the program before. */
static void forget_image(struct mt_data *d)
{
	mt_tree_free(d->tree);
	d->tree = NULL;
	mt_ranking_free(&d->ranking);
	d->ranking = (struct mt_ranking){0};
	d->layers.begun = false;
	d->suspect = (struct mt_suspect){0};
	mt_lost_forget(d);
	d->live = true;
	mt_data_other_events(d);
}

/* Notes in the names which functions are wrappers. Those that somebody else holds wait. */
static bool judge(struct mt_data *d)
{
	struct mt_symbols *symbols = mt_wrappers_have_judged(d->wrappers, d->symbols)
		? NULL
		: mt_recording_change_symbols(d->recording);

	if (symbols)
		mt_wrappers_judge(d->wrappers, symbols);
	return symbols;
}

bool mt_data_update(struct mt_data *d, bool published)
{
	unsigned news = d->frozen ? 0 : mt_recording_update(d->recording, published);

	look(d);
	d->recorder_gone |= d->recording->lost_recorder;
	if (news & MT_NEWS_IMAGE)
		forget_image(d);
	d->live &= d->recording->live;
	if (news & MT_NEWS_TOTALS) {
		mt_ranking_add(&d->ranking, d->whole);
		ranked(d);
	}
	if (news & MT_NEWS_ALL_NAMES)
		mt_data_names_known(d);
	if (!judge(d) && !news)
		return false;
	mt_data_select(d);
	mt_data_renew(d);
	return true;
}

bool mt_data_busy(struct mt_data *d)
{
	return !d->frozen && mt_recording_names_busy(d->recording);
}

void mt_data_lose_recorder(struct mt_data *d)
{
	mt_recording_note_lost_recorder(d->recording);
	d->recorder_gone = true;
	d->live = false;
}

bool mt_data_take_trace(struct mt_data *d, const struct mt_recording *trace)
{
	if (!mt_recording_take_trace(d->recording, trace))
		return false;
	look(d);
	mt_data_other_events(d);
	mt_data_site_history(d, MT_NO_GROUP);
	mt_data_select(d);
	return true;
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
	struct mt_profile whole = *d->whole; /* which threads may read: scores are put beside it */

	whole.scores = d->ranking.scores;
	whole.score_count = d->ranking.score_count;
	/* Arrays of a recording that goes on have moved. */
	d->profile = matched ? d->matched.profile : whole;
	d->profile.scores = whole.scores;
	d->profile.score_count = whole.score_count;
	judge(d);
	/* An error here is a regex that took too long on some name: the selection then lacks these
	 * groups. */
	mt_select_by(&d->selection, &d->profile, d->sort_all ? &whole : &d->profile, d->symbols,
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
		mt_data_site_history(d, MT_NO_GROUP);
	mt_data_select(d);
}

struct mt_tree *mt_data_tree(struct mt_data *d)
{
	if (!d->tree) {
		d->tree = mt_tree_again(d->old_tree, &d->profile, d->symbols, &d->selection,
			d->inverted ? MT_TREE_FROM_OWN : MT_TREE_TOP_DOWN, d->sort);
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
	const struct mt_info *info = &d->whole->info;

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

const char *mt_data_sum(char out[17], const struct mt_profile *p, uint64_t value, enum mt_unit unit)
{
	out[0] = '~';
	mt_data_format(out + mt_info_is_sampled(&p->info), value, unit);
	return out;
}

const char *mt_data_metric(char out[17], const struct mt_data *d, const struct mt_group *group,
	enum mt_metric metric)
{
	if (metric == MT_METRIC_SUSPECT && mt_data_scores_wait(d))
		return strcpy(out, "..");
	if (!mt_metric_is_known(&d->profile, group, metric))
		return strcpy(out, "-");
	out[0] = '~';
	mt_data_format(out + mt_metric_is_estimated(&d->profile, group, metric),
		mt_metric_value(&d->profile, group, metric),
		mt_metric_info(&d->profile, metric)->unit);
	return out;
}

double mt_data_percent(const struct mt_data *d, uint64_t value, enum mt_metric metric)
{
	uint64_t all = mt_metric_value(&d->profile, &d->selection.sum, metric);

	return all ? 100.0 * (double)value / (double)all : 0;
}
