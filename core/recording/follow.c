#include "core/recording/parts.h"

#include <stdio.h>
#include <string.h>

/* The process executed another program: what was known by ids of groups and pcs is of the one
 * before. */
static void forget_image(struct mt_recording *r)
{
	mt_symbolizer_free(r->symbolizer);
	r->symbolizer = NULL;
	mt_generation_forget_symbols(&r->now);
	r->image = mt_client_image(r->client);
	r->live = true;
}

static unsigned update_client(struct mt_recording *r)
{
	struct mt_profile *profile = mt_generation_change_profile(&r->now);
	struct mt_err err = {0};
	unsigned news = 0;

	if (!profile)
		return 0;
	uint64_t lineage = profile->lineage;
	int result = mt_client_update(r->client, profile, &err);

	if (mt_client_image(r->client) != r->image) {
		forget_image(r);
		news |= MT_NEWS_IMAGE;
	}
	if (profile->info.ended)
		r->live = false;
	if (result < 0) {
		mt_recording_note_lost_recorder(r);
		mt_client_drain(r->client);
		return news | MT_NEWS_END;
	}
	/* What was torn while it was read is begun again, and may not be there yet. */
	if (!result)
		return profile->lineage != lineage ? news | MT_NEWS_VOID : news;
	if (r->symbolizer)
		mt_symbolizer_feed(r->symbolizer, profile);
	else if (!r->nameless)
		mt_recording_begin_names(r);
	return news | MT_NEWS_TOTALS;
}

/* The file cannot be read any more: what was read stays, and the reason is a fact. */
static void lose_import(struct mt_recording *r, struct mt_profile *profile, const char *why)
{
	mt_recording_end_import(r);
	snprintf(r->fault, sizeof r->fault, "%s", why);
	r->damaged = true;
	profile->info.recorder_lost = 1;
}

/* Time passes even where nothing else changes. */
static unsigned update_import(struct mt_recording *r)
{
	struct mt_profile *profile = mt_generation_change_profile(&r->now);
	struct mt_err err = {0};

	if (!profile)
		return 0;
	int result = mt_import_update(r->import, NULL, NULL, &err);

	if (r->symbolizer)
		mt_symbolizer_feed(r->symbolizer, r->now.profile);
	if (result >= 0 && mt_import_lives(r->import))
		return MT_NEWS_TOTALS;
	if (result < 0)
		lose_import(r, profile, err.text);
	else
		mt_recording_end_import(r);
	r->live = false;
	return MT_NEWS_TOTALS | MT_NEWS_END;
}

static unsigned collect_names(struct mt_recording *r)
{
	struct mt_symbols *symbols = mt_generation_change_symbols(&r->now);

	r->names_wait = !symbols;
	if (!symbols || !mt_symbolizer_collect(r->symbolizer, symbols))
		return 0;
	return mt_symbolizer_busy(r->symbolizer)
		? MT_NEWS_NAMES
		: MT_NEWS_NAMES | MT_NEWS_ALL_NAMES;
}

unsigned mt_recording_update(struct mt_recording *r, bool published)
{
	unsigned news = 0;

	if (published && r->import)
		news |= update_import(r);
	if (published && r->client && !r->lost_recorder)
		news |= update_client(r);
	if (r->symbolizer)
		news |= collect_names(r);
	return news;
}

/* Whether numbers of groups, nodes and pcs are the same ones. */
static bool is_of(const struct mt_profile *seen, const struct mt_profile *read)
{
	const struct mt_info *a = &seen->info, *b = &read->info;

	return !b->recorder_lost && a->pid == b->pid && a->start_unix_ns == b->start_unix_ns
		&& seen->group_count == read->group_count && seen->node_count == read->node_count
		&& seen->pc_count == read->pc_count && a->allocations == b->allocations
		&& a->frees == b->frees;
}

bool mt_recording_take_trace(struct mt_recording *r, const struct mt_recording *trace)
{
	if (!is_of(r->now.profile, trace->now.profile))
		return false;
	mt_generation_share_totals(&r->now, &trace->now);
	return true;
}

struct mt_symbols *mt_recording_change_symbols(struct mt_recording *r)
{
	return mt_generation_change_symbols(&r->now);
}

bool mt_recording_names_busy(const struct mt_recording *r)
{
	return r->symbolizer && (r->names_wait || mt_symbolizer_busy(r->symbolizer));
}

void mt_recording_note_lost_recorder(struct mt_recording *r)
{
	r->lost_recorder = true;
	r->live = false;
}

struct mt_facts mt_recording_facts(struct mt_recording *r)
{
	struct mt_trace_reader *reader = r->now.reader;
	uint64_t damage = reader ? mt_trace_reader_damage(reader, NULL) : 0;

	if (r->import) {
		const char *fault = mt_import_fault(r->import, &r->damaged);

		r->fault[0] = '\0';
		if (fault)
			snprintf(r->fault, sizeof r->fault, "%s: %s", r->path, fault);
	}
	return (struct mt_facts){
		.source = r->source,
		.fault = *r->fault ? r->fault : NULL,
		.note = *r->note ? r->note : NULL,
		.running = r->live && (r->client || r->import),
		.damaged = r->damaged,
		.damaged_at = damage && !mt_trace_reader_is_cut(reader) ? damage : 0,
	};
}

const char *mt_recording_trace_path(const struct mt_recording *r)
{
	bool piped = r->path && !strcmp(r->path, "-");

	return r->now.reader && r->source->in_session && !piped
		? mt_trace_reader_path(r->now.reader)
		: NULL;
}
