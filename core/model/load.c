#include "core/model/load.h"
#include "core/model/blind.h"
#include "core/model/checkpoint.h"
#include "core/model/payload.h"
#include "core/model/replay.h"
#include "core/model/verdicts.h"

#include <errno.h>
#include <stdlib.h>

struct loader {
	struct mt_profile *profile;
	struct mt_trace_reader *reader;
	int (*progress)(void *context, double fraction);
	void *context;
	struct mt_err *err;
	struct mt_buffer payload;
	struct mt_replay replay;
	uint32_t defined; /* definitions of the blocks below are loaded */
};

static void start_over(struct mt_profile *p)
{
	mt_profile_free(p);
	mt_profile_init(p);
}

static int reject(struct loader *l, const struct mt_trace_block *block, const char *what)
{
	mt_trace_reader_note_damage(l->reader, block->offset, what);
	return mt_fail(l->err, -EINVAL,
		"the trace %s cannot be loaded: in the block at offset %llu, %s",
		mt_trace_reader_path(l->reader), (unsigned long long)block->offset, what);
}

static bool is_definition(enum mt_block_type type)
{
	return (type >= MT_BLOCK_START && type <= MT_BLOCK_GROUPS) || type == MT_BLOCK_LOG
		|| type == MT_BLOCK_BLIND || type == MT_BLOCK_DOMAINS || type == MT_BLOCK_FUNCTIONS;
}

static int load_definition(struct loader *l, uint32_t index)
{
	const struct mt_trace_block *block = mt_trace_reader_block(l->reader, index);
	int result = mt_trace_reader_payload(l->reader, index, &l->payload, l->err);

	if (result)
		return result;
	const char *fault = mt_definitions_read(l->profile, mt_trace_reader_version(l->reader),
		block->type, &l->payload);

	return fault ? reject(l, block, fault) : 0;
}

/* ---- by totals ---- */

/* Index of the first totals block that no events follow, or the number of blocks. */
static uint32_t find_totals(const struct mt_trace_reader *reader)
{
	uint32_t count = mt_trace_reader_count(reader), found = count;

	for (uint32_t i = count; i-- > 0;) {
		enum mt_block_type type = mt_trace_reader_block(reader, i)->type;

		if (type == MT_BLOCK_TOTALS)
			found = i;
		if (type == MT_BLOCK_EVENTS)
			break;
	}
	return found;
}

/* 1: loaded; 0: the totals cannot be used; negative: the definitions are senseless. */
static int load_totals(struct loader *l)
{
	uint32_t count = mt_trace_reader_count(l->reader), groups = 0;
	bool complete = false;

	if (find_totals(l->reader) == count)
		return 0;
	for (uint32_t i = 0; i < count && !complete; i++) {
		const struct mt_trace_block *block = mt_trace_reader_block(l->reader, i);
		const char *fault;

		if (is_definition(block->type)) {
			int result = load_definition(l, i);

			if (result == -EBADMSG)
				return 0;
			if (result)
				return result;
		} else if (block->type == MT_BLOCK_TOTALS) {
			if (mt_trace_reader_payload(l->reader, i, &l->payload, l->err))
				return 0;
			fault = mt_totals_read(l->profile, mt_trace_reader_version(l->reader),
				&l->payload, &groups, &complete);
			if (fault) {
				reject(l, block, fault);
				return 0;
			}
		}
	}
	return complete;
}

/* ---- by replay ---- */

/* What the replay itself counts is not taken from an info block, which may be older or newer. */
static int load_info(struct loader *l, uint32_t index)
{
	const struct mt_trace_block *block = mt_trace_reader_block(l->reader, index);
	struct mt_info counted = l->profile->info, *info = &l->profile->info;
	struct mt_memory memory;

	if (mt_trace_reader_payload(l->reader, index, &l->payload, NULL))
		return 0; /* noted as damage; all numbers stay exact without it */
	const char *fault =
		mt_info_read(l->profile, mt_trace_reader_version(l->reader), &l->payload, &memory);

	if (!fault && info->wall_ns > MT_REPLAY_TIME_MAX)
		fault = "the time is out of range";
	if (fault)
		return reject(l, block, fault);
	mt_model_advance(&l->replay.model, info->wall_ns, 0);
	if (memory.rss_bytes)
		l->replay.model.memory = memory;
	info->allocations = counted.allocations;
	info->frees = counted.frees;
	info->reallocations = counted.reallocations;
	info->allocated_bytes = counted.allocated_bytes;
	info->peak_bytes = counted.peak_bytes;
	info->peak_ns = counted.peak_ns;
	info->temporary_count = counted.temporary_count;
	return 0;
}

static int load_events(void *context, uint32_t index, const struct mt_event *events, uint32_t count)
{
	struct loader *l = context;

	/* an info block may have told of a later time before */
	if (count)
		mt_model_reopen(&l->replay.model, events[0].time_ns);
	if (!mt_replay_events(&l->replay, events, NULL, count))
		return 0;
	return reject(l, mt_trace_reader_block(l->reader, index), l->replay.fault);
}

static int load_block(void *context, uint32_t index)
{
	struct loader *l = context;
	const struct mt_trace_block *block = mt_trace_reader_block(l->reader, index);
	double file_bytes = (double)mt_trace_reader_file_bytes(l->reader);

	if (is_definition(block->type))
		return index < l->defined ? 0 : load_definition(l, index);
	if (block->type == MT_BLOCK_INFO)
		return load_info(l, index);
	if (block->type == MT_BLOCK_EVENTS && l->progress
		&& l->progress(l->context, (double)block->offset / file_bytes))
		return mt_fail(l->err, -ECANCELED, "loading %s was cancelled",
			mt_trace_reader_path(l->reader));
	return 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct resume {
	struct loader *loader;
	struct mt_checkpoint checkpoint;
	uint64_t count, bytes; /* of live blocks */
};

static int resume_block(void *context, const struct mt_checkpoint_block *b)
{
	struct resume *r = context;

	if (!r->loader->replay.live.ring) /* the totals are there by now */
		mt_replay_resume(&r->loader->replay, r->loader->profile, &r->checkpoint);
	mt_replay_add(&r->loader->replay, b);
	struct mt_weight w = mt_profile_weigh(r->loader->profile, b->group, b->number, b->size);

	r->count += b->released ? 0 : w.blocks;
	r->bytes += b->released ? 0 : w.bytes;
	return 0;
}

/* The replay begins at the checkpoint. -EBADMSG, -ENODATA: it is of no use. */
static int resume_at(struct loader *l, uint32_t index, uint32_t *first)
{
	struct resume r = {.loader = l};
	int result = 0;

	for (uint32_t i = 0; i < index && !result; i++)
		if (is_definition(mt_trace_reader_block(l->reader, i)->type))
			result = load_definition(l, i);
	if (!result)
		result = mt_checkpoint_load(&r.checkpoint, l->reader, index, l->profile,
			resume_block, &r, l->err);
	if (!result && !l->replay.live.ring)
		mt_replay_resume(&l->replay, l->profile, &r.checkpoint);
	if (!result
		&& (l->replay.model.live_count != r.count
			|| l->replay.model.live_bytes != r.bytes)) {
		mt_trace_reader_note_damage(l->reader,
			mt_trace_reader_block(l->reader, index)->offset,
			"the checkpoint there cannot be used: "
			"its live blocks do not add up to its totals");
		result = -EBADMSG;
	}
	*first = r.checkpoint.resume;
	l->defined = index;
	mt_checkpoint_free(&r.checkpoint);
	return result;
}

/* At the last checkpoint that can be used, or at the program's start. */
static int begin_replay(struct loader *l, uint32_t *first)
{
	bool sound = !mt_trace_reader_damage(l->reader, NULL);
	uint32_t at = mt_trace_reader_count(l->reader);

	while ((at = mt_checkpoint_before(l->reader, at)) != MT_NO_CHECKPOINT) {
		int result = resume_at(l, at, first);

		if (!result && sound)
			mt_trace_reader_pass_over(l->reader);
		if (!result || (result != -EBADMSG && result != -ENODATA))
			return result;
		mt_replay_free(&l->replay);
		start_over(l->profile);
		l->defined = 0;
	}
	if (mt_checkpoint_of_start(l->reader) != MT_NO_CHECKPOINT)
		return mt_fail(l->err, -EINVAL,
			"the trace %s cannot be loaded: it was recorded with --max-size, and "
			"none of "
			"its checkpoints can be read, so what came before its events is unknown",
			mt_trace_reader_path(l->reader));
	mt_replay_init(&l->replay, l->profile);
	*first = 0;
	if (sound)
		mt_trace_reader_pass_over(l->reader);
	return 0;
}

static int load_replay(struct loader *l)
{
	struct mt_info *info = &l->profile->info;
	struct mt_trace_scan scan = {
		.end = mt_trace_reader_count(l->reader),
		.events = load_events,
		.block = load_block,
		.context = l,
	};
	bool whole = mt_trace_reader_complete(l->reader);
	int result = begin_replay(l, &scan.first);

	if (result) {
		mt_replay_free(&l->replay);
		return result;
	}
	result = mt_trace_reader_scan(l->reader, &scan, l->err);

	if (result == -EBADMSG) { /* damage: what stands before it is the trace */
		whole = false;
		result = 0;
	}
	mt_model_settle(&l->replay.model);
	info->events = larger(info->events, l->replay.events);
	info->implied_frees = larger(info->implied_frees, l->replay.implied_frees);
	info->counters[MT_COUNTER_UNTOLD_FREES] =
		larger(info->counters[MT_COUNTER_UNTOLD_FREES], l->replay.untold_frees);
	/* The events do not tell of which kind a free is that found no block. */
	uint64_t *unfound = mt_info_unfound(info);
	uint64_t others = mt_info_unfound_frees(info) - *unfound;

	*unfound = larger(*unfound + others, l->replay.unknown_frees) - others;
	info->slack_bytes = mt_replay_slack(&l->replay);
	if (!whole) {
		info->recorder_lost = 1;
		info->ended = info->stopped = 0;
	}
	mt_replay_free(&l->replay);
	return result;
}

/* Of the last leak check. Without it all else stays exact. */
static void load_verdicts(struct loader *l)
{
	uint32_t i = mt_trace_reader_count(l->reader);

	while (i-- > 0 && mt_trace_reader_block(l->reader, i)->type != MT_BLOCK_VERDICTS)
		;
	if (i == UINT32_MAX || mt_trace_reader_payload(l->reader, i, &l->payload, NULL))
		return;
	struct mt_verdicts *v = mt_alloc(sizeof *v);
	const char *fault = mt_verdicts_decode(v, &l->payload, l->profile->group_count);

	if (fault) {
		reject(l, mt_trace_reader_block(l->reader, i), fault);
		free(v);
		return;
	}
	mt_profile_take_verdicts(l->profile, v);
}

const struct mt_source_facts mt_trace_facts = {
	.resolution_ns = 1000,
	.loss = MT_SOURCE_LOSS_COUNTED,
	.domains = MT_SOURCE_HEAP | MT_SOURCE_POOLS | MT_SOURCE_MAPPINGS,
	.in_session = true,
};

int mt_profile_load(struct mt_profile *p, struct mt_trace_reader *reader,
	int (*progress)(void *context, double fraction), void *context, struct mt_err *err)
{
	struct loader l = {
		.profile = p,
		.reader = reader,
		.progress = progress,
		.context = context,
		.err = err,
	};

	start_over(p);
	int result = load_totals(&l);

	if (!result) {
		start_over(p);
		result = load_replay(&l);
	}
	if (result < 0) {
		start_over(p);
	} else {
		uint32_t start = mt_checkpoint_of_start(reader);

		p->info.history_from_ns = start == MT_NO_CHECKPOINT
			? 0
			: mt_trace_reader_block(reader, start)->first_ns;
		p->info.file_bytes = mt_trace_reader_file_bytes(reader);
		mt_blind_derive_old(p);
		load_verdicts(&l);
		if (err)
			*err = (struct mt_err){0};
	}
	mt_buffer_free(&l.payload);
	return result < 0 ? result : 0;
}

int mt_profile_check_readable(const struct mt_profile *p, const struct mt_trace_reader *reader,
	struct mt_err *err)
{
	const struct mt_info *info = &p->info;
	bool started = info->pid || info->start_unix_ns || p->argument_count;
	bool some = info->events || p->group_count || p->thread_count || p->module_count
		|| p->log_count;
	const char *path = mt_trace_reader_path(reader), *reason;
	uint64_t damage = mt_trace_reader_damage(reader, &reason);

	if (some || (!damage && mt_trace_reader_complete(reader)))
		return 0;
	if (!mt_trace_reader_is_cut(reader))
		return mt_fail(err, -ENODATA,
			"%s: cannot be read: it is damaged from byte %llu on (%s); record the "
			"program again",
			path, (unsigned long long)damage, reason);
	if (!started)
		return mt_fail(err, -ENODATA, "%s: contains no recording: it ends after its header",
			path);
	return 0;
}
