#include "core/session/flight.h"
#include "core/session/internal.h"

#include "core/model/payload.h"
#include "core/model/verdicts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_LEAST 1024u
#define EVENTS_MOST 65536u
/* shares of the size: of a block that compresses well, in events, and of any block, in bytes */
#define EVENTS_SHARE 64u
#define BLOCK_SHARE 64u
#define COPY_AT_ONCE (4u << 20)   /* between two pulses */
#define HISTORY_LEAST (64u << 20) /* bytes that the history of blocks may take at any rate, */
#define HISTORY_OF_BLOCK 32u      /* and for each live block */
#define LOG_ENTRY_BYTES 24u       /* of the file, as a rule */
#define INDEX_ENTRY_BYTES 104u
#define INDEX_BYTES 4096u /* of the rest, at most */

static uint32_t most_events(const struct mt_flight *f)
{
	uint64_t most = f->cap / EVENTS_SHARE;

	return (uint32_t)(most > EVENTS_MOST ? EVENTS_MOST : most);
}

static uint32_t least_events(const struct mt_flight *f)
{
	uint64_t least = f->cap / 512;

	return (uint32_t)(least < EVENTS_LEAST ? EVENTS_LEAST
			: least > EVENTS_MOST  ? EVENTS_MOST
					       : least);
}

void mt_flight_init(struct mt_flight *f, uint64_t cap, bool stop)
{
	f->cap = f->limit = cap;
	f->stop = stop;
	f->last = MT_NO_CHECKPOINT;
	f->span = cap / 4;
	mt_block_history_init(f->merge);
	f->merge->block_events = least_events(f);
	f->profile->log_most = cap / 16 / LOG_ENTRY_BYTES < MT_LOG_MAX
		? (uint32_t)(cap / 16 / LOG_ENTRY_BYTES)
		: MT_LOG_MAX;
}

void mt_flight_has_flushed(struct mt_flight *f, uint32_t events, uint64_t bytes)
{
	uint32_t *full = &f->merge->block_events;

	if (!f->cap || events < *full)
		return;
	if (bytes > f->cap / BLOCK_SHARE)
		*full = least_events(f);
	else if (bytes * 2 <= f->cap / BLOCK_SHARE && *full * 2 <= most_events(f))
		*full *= 2;
}

void mt_flight_free(struct mt_flight *f)
{
	mt_flight_making_free(f);
	free(f->last_head.threads);
}

static uint64_t least_span(const struct mt_flight *f)
{
	return f->limit / 16;
}

/* Bytes of events that may be written while a checkpoint is made. */
static uint64_t making_span(const struct mt_flight *f)
{
	return least_span(f) / 2;
}

bool mt_flight_is_due(const struct mt_flight *f)
{
	if (!f->cap || !f->path || f->making.under_way)
		return false;
	return mt_trace_writer_bytes(f->writer) - f->since >= f->span
		|| mt_block_history_bytes(f->merge->history)
		>= HISTORY_LEAST + HISTORY_OF_BLOCK * f->model->live_count;
}

/* ---- a checkpoint ---------------------------------------------------------------------------- */

/* Threads that wait for room see that the recorder lives. */
static void pulse(void *flight)
{
	struct mt_flight *f = flight;

	if (f->merge)
		mt_segment_tick(f->merge->segment);
}

/* Event blocks of the file whose events come after the instant of the checkpoint that was made. */
static uint32_t events_since(const struct mt_flight *f)
{
	return mt_trace_writer_events(f->writer, f->making.first_event);
}

/* A checkpoint is the last one from now on: the one that was made, whose head is taken, or the one
 * that was it before. place: the block with which it begins; events: so many event blocks in front
 * of it come after its instant. */
static void set_last(struct mt_flight *f, bool made, uint32_t place, uint32_t events)
{
	if (made) {
		free(f->last_head.threads);
		f->last_head = f->making.maker.head;
		f->making.maker.head.threads = NULL;
	}
	f->last_head.events = events;
	f->last = place;
	f->since = mt_trace_writer_bytes(f->writer);
}

static int put_head(struct mt_flight *f, const struct mt_checkpoint *head, struct mt_err *err)
{
	struct mt_buffer made = {0};

	mt_checkpoint_make_head(f->writer, head, &made);
	int error = mt_trace_writer_put(f->writer, &made, err);

	mt_buffer_free(&made);
	return error;
}

/* Bytes of the checkpoint that was made; its head is the same but for a few bytes. */
static uint64_t made_bytes(const struct mt_flight *f)
{
	struct mt_buffer head = {0};

	mt_checkpoint_make_head(f->writer, &f->making.maker.head, &head);
	uint64_t bytes = head.len + f->making.maker.made.len;

	mt_buffer_free(&head);
	return bytes;
}

static int put_checkpoint(struct mt_flight *f, uint32_t events, struct mt_err *err)
{
	struct mt_checkpoint head = f->making.maker.head;
	int error;

	head.events = events;
	error = put_head(f, &head, err);
	f->checkpoints++;
	return error ? error : mt_trace_writer_put(f->writer, &f->making.maker.made, err);
}

/* ---- another file ---------------------------------------------------------------------------- */

/* The file at path must be the one that is written. */
static int open_new(const struct mt_flight *f, char **name, struct mt_err *err)
{
	struct stat ours;
	int fd = mt_trace_writer_fd(f->writer);

	if (fstat(fd, &ours) < 0 || !mt_output_is_at(f->path, fd))
		return mt_fail(err, -ESTALE, "%s was deleted or replaced", f->path);
	*name = mt_format("%s.%d.new", f->path, (int)getpid());
	fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && fchmod(fd, ours.st_mode & 0777) < 0) {
		close(fd);
		unlink(*name);
		fd = -1;
	}
	return fd >= 0 ? fd : mt_fail(err, -errno, "cannot create %s: %s", *name, strerror(errno));
}

static int copy_blocks(struct mt_flight *f, uint32_t from, uint32_t end, struct mt_err *err)
{
	int more = 1;

	while (more > 0) {
		more = mt_trace_writer_copy(f->writer, &from, end, COPY_AT_ONCE, err);
		pulse(f);
	}
	return more;
}

/* Blocks of the old file that a new one takes over. */
struct tail {
	/* the last checkpoint, or MT_NO_CHECKPOINT; the block behind its parts */
	uint32_t checkpoint, checkpoint_end;
	uint32_t events; /* from this block on events come after the checkpoint's instant */
	uint32_t end;
};

static struct tail find_tail(const struct mt_flight *f, bool keep)
{
	struct tail t = {MT_NO_CHECKPOINT, 0, f->making.first_event,
		mt_trace_writer_count(f->writer)};

	if (!keep)
		return t;
	t.checkpoint = f->last;
	t.checkpoint_end = f->last + mt_checkpoint_parts(&f->last_head);
	t.events = mt_trace_writer_events_back(f->writer, f->last, f->last_head.events);
	return t;
}

/* The last checkpoint and the events after its instant. Without it the new one takes its place. */
static int copy_tail(struct mt_flight *f, const struct tail *t, struct mt_err *err)
{
	struct mt_checkpoint head = f->last_head;
	int error;

	if (t->checkpoint == MT_NO_CHECKPOINT) {
		error = put_checkpoint(f, 0, err);
		return error ? error : copy_blocks(f, t->events, t->end, err);
	}
	head.events = 0;
	error = put_head(f, &head, err);
	if (!error)
		error = copy_blocks(f, t->checkpoint + 1, t->checkpoint_end, err);
	if (!error)
		error = copy_blocks(f, t->events, t->checkpoint, err);
	return error ? error : copy_blocks(f, t->checkpoint_end, t->end, err);
}

/* A new file takes the name of the old one; on an error the old one is there as before. keep: the
 * history since the last checkpoint; add: the new checkpoint, behind that. */
static int exchange(struct mt_flight *f, bool keep, bool add, struct mt_err *err)
{
	struct mt_definitions definitions = {0};
	const struct tail tail = find_tail(f, keep);
	uint64_t history_ns = keep ? f->last_head.time_ns : f->making.maker.head.time_ns;
	uint32_t events = events_since(f), place = 0, checkpoints = f->checkpoints;
	char *name = NULL;
	int fd = open_new(f, &name, err), error = fd < 0 ? fd : 0;

	if (!error) {
		error = mt_trace_writer_switch(f->writer, fd, err);
		if (!error)
			error = mt_definitions_write(&definitions, f->writer, f->profile, err);
		place = mt_trace_writer_count(f->writer);
		if (!error)
			error = copy_tail(f, &tail, err);
		if (!error && add) {
			place = mt_trace_writer_count(f->writer);
			error = put_checkpoint(f, events, err);
		}
		if (!error && rename(name, f->path) < 0)
			error = mt_fail(err, -errno, "cannot replace %s: %s", f->path,
				strerror(errno));
		if (error) {
			unlink(name);
			mt_trace_writer_back(f->writer);
			f->checkpoints = checkpoints;
		} else {
			mt_trace_writer_keep(f->writer);
			*f->definitions = definitions;
			f->profile->info.history_from_ns = history_ns;
			f->exchanges++;
			set_last(f, add || !keep, place, add ? events : 0);
		}
	}
	free(name);
	return error;
}

/* ---- what does not fit ----------------------------------------------------------------------- */

/* Of what must be in every file: the old one and a new one, and a history in each. */
#define SHARES 6
enum { SAY_EXCEEDED = 1, SAY_STOPPED, SAY_FAILED, SAY_NAMELESS };

static void write_size(char *out, size_t size, uint64_t bytes)
{
	if (bytes < 10 << 20)
		snprintf(out, size, "%.1fK", (double)bytes / 1024);
	else
		snprintf(out, size, "%.1fM", (double)bytes / (1 << 20));
}

/* Into the log, so that the trace says it itself. */
static void say(struct mt_flight *f, uint64_t what, uint64_t needed, const char *why)
{
	char cap[32], size[32], *text;
	uint64_t enough = (SHARES * needed + (1 << 20) - 1) >> 20; /* MiB */

	write_size(cap, sizeof cap, f->cap);
	write_size(size, sizeof size, needed);
	if (what == SAY_FAILED)
		text = mt_format("the trace could not be reduced to --max-size %s: %s; %s", cap,
			why, f->stop ? "the recording was stopped" : "the trace keeps growing");
	else if (what == SAY_STOPPED)
		text = mt_format("the recording was stopped: stacks and live blocks take %s, "
				 "and --max-size %s must hold them twice, in the old and in the "
				 "new file; give %lluM or more",
			size, cap, (unsigned long long)enough);
	else if (what == SAY_NAMELESS)
		text = mt_format("the names of functions do not fit into --max-size %s; they "
				 "are looked up when the trace is read",
			cap);
	else
		text = mt_format("the trace may exceed --max-size %s: stacks and live blocks "
				 "take %s, and it must hold them twice, in the old and in the "
				 "new file; give %lluM or more",
			cap, size, (unsigned long long)enough);
	mt_profile_add_log(f->profile,
		&(struct mt_log_entry){
			.time_ns = f->model->now_ns,
			.type = MT_LOG_LIMIT,
			.thread = MT_NO_THREAD,
			.text = mt_strings_add(&f->profile->strings, text),
			.values = {f->cap, needed, what},
		});
	free(text);
}

/* 1: stop. Else there is a new limit, which grows with what lives and not with time. */
static int too_large(struct mt_flight *f, uint64_t needed)
{
	if (f->stop) {
		say(f, SAY_STOPPED, needed, NULL);
		return 1;
	}
	if (!f->said_exceeded)
		say(f, SAY_EXCEEDED, needed, NULL);
	f->said_exceeded = true;
	if (f->limit < SHARES * needed)
		f->limit = SHARES * needed;
	return 0;
}

/* The old file stays. */
static int failed(struct mt_flight *f, const struct mt_err *why)
{
	if (!f->said_failed)
		say(f, SAY_FAILED, 0, why->text);
	f->said_failed = true;
	f->since = mt_trace_writer_bytes(f->writer);
	f->span = least_span(f); /* until the next try */
	return f->stop;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Bytes of the file without events and checkpoints. */
static uint64_t definition_bytes(const struct mt_flight *f)
{
	return mt_trace_writer_bytes(f->writer) - mt_trace_writer_copied(f->writer, 0);
}

static uint64_t span_between(const struct mt_flight *f, uint64_t definitions, uint64_t checkpoint)
{
	uint64_t half = f->limit / 2, least = least_span(f);
	uint64_t taken = definitions + 2 * checkpoint + 2 * making_span(f);

	return half > taken + 2 * least ? (half - taken) / 2 : least;
}

/* Whether the old file and a new one of this size fit beside each other, with some room to go
 * on. */
static bool both_fit(const struct mt_flight *f, uint64_t size)
{
	return size + least_span(f) <= f->limit / 2
		&& mt_trace_writer_bytes(f->writer) + size + f->limit / 64 <= f->limit;
}

/* Bytes of events from an instant on, or more than there can be. */
static uint64_t bytes_since_last(const struct mt_flight *f)
{
	if (f->last == MT_NO_CHECKPOINT)
		return UINT64_MAX / 2;
	return mt_trace_writer_copied(f->writer,
		mt_trace_writer_events_back(f->writer, f->last, f->last_head.events));
}

/* By how much of the history is kept: since the last checkpoint, or none. */
static int make_room(struct mt_flight *f, uint64_t checkpoint)
{
	uint64_t definitions = definition_bytes(f);
	uint64_t least =
		definitions + checkpoint + mt_trace_writer_copied(f->writer, f->making.first_event);
	bool keep = both_fit(f, definitions + bytes_since_last(f) + checkpoint);
	struct mt_err err = {0};

	if (!keep && !both_fit(f, least) && too_large(f, least))
		return 1;
	return exchange(f, keep, keep, &err) < 0 ? failed(f, &err) : 0;
}

/* The checkpoint is made: it goes into the file, or into a new one. */
static int place_checkpoint(struct mt_flight *f, struct mt_err *err)
{
	uint64_t checkpoint = made_bytes(f), definitions = definition_bytes(f);
	uint64_t least = definitions + checkpoint;
	int result = 0;

	if (least + least_span(f) > f->limit / 2)
		result = too_large(f, least);
	f->span = span_between(f, definitions, checkpoint);
	if (!result
		&& mt_trace_writer_bytes(f->writer) + checkpoint + f->span
			<= f->limit / 2 - making_span(f)) {
		uint32_t place = mt_trace_writer_count(f->writer), events = events_since(f);

		result = put_checkpoint(f, events, err);
		set_last(f, true, place, events);
	} else if (!result) {
		result = make_room(f, checkpoint);
	}
	f->profile->info.file_bytes = mt_trace_writer_bytes(f->writer);
	return result;
}

/* So many bytes of events were written meanwhile that more than a slice is due now. */
static bool is_late(const struct mt_flight *f)
{
	const struct mt_flight_making *k = &f->making;
	uint64_t bytes = mt_trace_writer_bytes(f->writer) - k->first_byte;

	return bytes >= making_span(f)
		|| (double)bytes / (double)making_span(f)
		> (double)k->done / (double)(2 * k->blocks + 1);
}

int mt_flight_turn(struct mt_flight *f, struct mt_err *err)
{
	bool more;

	if (!f->making.under_way)
		mt_flight_making_begin(f);
	do
		more = mt_flight_making_go_on(f);
	while (more && is_late(f));
	if (more)
		return 0;
	int result = place_checkpoint(f, err);

	mt_flight_making_free(f);
	return result;
}

/* ---- the end --------------------------------------------------------------------------------- */

void mt_flight_end(struct mt_flight *f)
{
	if (f->cap) {
		mt_flight_making_begin(f);
		while (mt_flight_making_go_on(f))
			;
	}
	f->merge = NULL;
}

/* Symbols (may be NULL), info and totals, as they will stand in the file. */
static void make_end(struct mt_flight *f, const struct mt_buffer *symbols, struct mt_buffer *made)
{
	struct mt_buffer payload = {0};
	uint32_t next = 0;
	bool more = true;

	if (symbols)
		mt_trace_writer_make(f->writer, MT_BLOCK_SYMBOLS, 0, symbols->data, symbols->len,
			made);
	if (symbols && f->profile->verdicts) {
		mt_verdicts_encode(f->profile->verdicts, &payload);
		mt_trace_writer_make(f->writer, MT_BLOCK_VERDICTS, 0, payload.data, payload.len,
			made);
	}
	while (more) {
		payload.len = 0;
		more = mt_totals_add_part(&payload, f->profile, &next, MT_TOTALS_GROUPS_MAX);
		mt_trace_writer_make(f->writer, MT_BLOCK_TOTALS, 0, payload.data, payload.len,
			made);
	}
	mt_buffer_free(&payload);
}

/* Whether what stands behind all events fits behind a file of this size. */
static bool end_fits(const struct mt_flight *f, uint64_t size, const struct mt_buffer *made)
{
	uint64_t index =
		(uint64_t)mt_trace_writer_count(f->writer) * INDEX_ENTRY_BYTES + INDEX_BYTES;

	return size + made->len + index <= f->limit;
}

/* Takes history away until the end fits; what cannot go, stays or is left out. */
static void make_room_for_end(struct mt_flight *f, struct mt_buffer *made)
{
	uint64_t definitions = definition_bytes(f), tail = bytes_since_last(f);
	uint64_t least = definitions + made_bytes(f);
	bool keep = end_fits(f, definitions + tail, made)
		&& mt_trace_writer_bytes(f->writer) + definitions + tail <= f->limit;
	struct mt_err why = {0};

	if (!keep && !end_fits(f, least, made) && f->stop) {
		say(f, SAY_NAMELESS, 0, NULL);
		made->len = 0;
		make_end(f, NULL, made);
	} else if (!keep && !end_fits(f, least, made) && !f->said_exceeded) {
		say(f, SAY_EXCEEDED, least + made->len, NULL);
	}
	if (exchange(f, keep, false, &why) < 0)
		failed(f, &why);
}

int mt_flight_complete(struct mt_flight *f, const struct mt_buffer *symbols, struct mt_err *err)
{
	struct mt_buffer made = {0};
	int error;

	make_end(f, symbols, &made);
	if (!end_fits(f, mt_trace_writer_bytes(f->writer), &made))
		make_room_for_end(f, &made);
	error = mt_definitions_write(f->definitions, f->writer, f->profile, err);
	if (!error)
		error = mt_info_write(f->writer, f->profile, err);
	if (!error)
		error = mt_trace_writer_put(f->writer, &made, err);
	if (!error)
		error = mt_trace_writer_finish(f->writer, err);
	mt_buffer_free(&made);
	return error;
}
