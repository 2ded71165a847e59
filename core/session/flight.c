#include "core/session/flight.h"
#include "core/session/internal.h"

#include "core/model/payload.h"

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
#define COPY_AT_ONCE (4u << 20) /* between two pulses */
#define LOG_ENTRY_BYTES 24u     /* of the file, as a rule */
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
	mt_births_init(f->merge);
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
	mt_buffer_free(&f->final);
}

static uint64_t least_span(const struct mt_flight *f)
{
	return f->limit / 16;
}

bool mt_flight_is_due(const struct mt_flight *f)
{
	return f->cap && f->path && mt_trace_writer_bytes(f->writer) - f->since >= f->span;
}

/* ---- a checkpoint ---------------------------------------------------------------------------- */

/* Threads that wait for room see that the recorder lives. */
static void pulse(void *flight)
{
	struct mt_flight *f = flight;

	if (f->merge)
		mt_segment_tick(f->merge->segment);
}

static void block_at(void *flight, uint64_t index, struct mt_checkpoint_block *out)
{
	mt_births_block(((struct mt_flight *)flight)->merge, index, out);
}

/* As it will stand in the file, into made; returns its time. All that it names is defined. */
static uint64_t make_checkpoint(struct mt_flight *f, struct mt_buffer *made)
{
	const struct mt_model *m = f->model;
	struct mt_checkpoint_source source = {
		.profile = f->profile,
		.block = block_at,
		.pulse = pulse,
		.context = f,
	};
	struct mt_checkpoint c = {
		.time_ns = f->merge->now_ns,
		.next_number = f->merge->next_number,
		.thread_count = f->profile->thread_count,
	};

	c.threads = mt_alloc(((size_t)c.thread_count + 1) * sizeof *c.threads);
	for (uint32_t t = 0; t < c.thread_count && t < m->thread_capacity; t++)
		c.threads[t] =
			(struct mt_checkpoint_thread){m->threads[t].sequence, m->threads[t].last};
	mt_model_settle(f->model);
	pulse(f);
	c.block_count = mt_births_collect(f->merge);
	pulse(f);
	mt_checkpoint_make(f->writer, &c, &source, made);
	mt_births_done(f->merge->births);
	free(c.threads);
	return c.time_ns;
}

static int put_checkpoint(struct mt_flight *f, const struct mt_buffer *made, uint64_t time_ns,
	struct mt_err *err)
{
	f->last = mt_trace_writer_count(f->writer);
	f->last_ns = time_ns;
	f->checkpoints++;
	int error = mt_trace_writer_put(f->writer, made, err);

	f->since = mt_trace_writer_bytes(f->writer);
	return error;
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

/* Definitions, then what was there from block `from` on, then the checkpoint; NULL: none. */
static int write_new(struct mt_flight *f, struct mt_definitions *definitions, uint32_t from,
	const struct mt_buffer *made, uint64_t time_ns, struct mt_err *err)
{
	int error = mt_definitions_write(definitions, f->writer, f->profile, err), more = 1;
	uint32_t first = mt_trace_writer_count(f->writer);

	while (!error && more > 0) {
		more = mt_trace_writer_copy(f->writer, &from, COPY_AT_ONCE, err);
		error = more < 0 ? more : 0;
		pulse(f);
	}
	if (error || !made) {
		f->last = first;
		return error;
	}
	return put_checkpoint(f, made, time_ns, err);
}

/* A new file takes the name of the old one; on an error the old one is there as before. */
static int exchange(struct mt_flight *f, uint32_t from, const struct mt_buffer *made,
	uint64_t time_ns, struct mt_err *err)
{
	struct mt_definitions definitions = {0};
	uint64_t history_ns = from < mt_trace_writer_count(f->writer) ? f->last_ns : time_ns;
	struct mt_flight before = *f;
	char *name = NULL;
	int fd = open_new(f, &name, err), error = fd < 0 ? fd : 0;

	if (!error) {
		error = mt_trace_writer_switch(f->writer, fd, err);
		if (!error)
			error = write_new(f, &definitions, from, made, time_ns, err);
		if (!error && rename(name, f->path) < 0)
			error = mt_fail(err, -errno, "cannot replace %s: %s", f->path,
				strerror(errno));
		if (error) {
			unlink(name);
			mt_trace_writer_back(f->writer);
			*f = before;
		} else {
			mt_trace_writer_keep(f->writer);
			*f->definitions = definitions;
			f->profile->info.history_from_ns = history_ns;
			f->exchanges++;
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
	uint64_t half = f->limit / 2, taken = definitions + 2 * checkpoint, least = least_span(f);

	return half > taken + 2 * least ? (half - taken) / 2 : least;
}

/* Whether the old file and a new one of this size fit beside each other, with some room to go
 * on. */
static bool both_fit(const struct mt_flight *f, uint64_t size)
{
	return size + least_span(f) <= f->limit / 2
		&& mt_trace_writer_bytes(f->writer) + size + f->limit / 64 <= f->limit;
}

/* By how much of the history is kept: since the last checkpoint, or none. */
static int make_room(struct mt_flight *f, const struct mt_buffer *made, uint64_t time_ns)
{
	uint64_t definitions = definition_bytes(f);
	uint64_t tail = f->last == MT_NO_CHECKPOINT
		? UINT64_MAX / 2
		: mt_trace_writer_copied(f->writer, f->last);
	uint32_t from = f->last;
	struct mt_err err = {0};

	if (!both_fit(f, definitions + tail + made->len)) {
		from = UINT32_MAX;
		if (!both_fit(f, definitions + made->len) && too_large(f, definitions + made->len))
			return 1;
	}
	return exchange(f, from, made, time_ns, &err) < 0 ? failed(f, &err) : 0;
}

int mt_flight_turn(struct mt_flight *f, struct mt_err *err)
{
	struct mt_buffer made = {0};
	uint64_t time_ns = make_checkpoint(f, &made), definitions = definition_bytes(f);
	uint64_t least = definitions + made.len;
	int result = 0;

	mt_model_reopen(f->model, time_ns); /* late events may follow the checkpoint */
	if (least + least_span(f) > f->limit / 2)
		result = too_large(f, least);
	f->span = span_between(f, definitions, made.len);
	if (!result && mt_trace_writer_bytes(f->writer) + made.len + f->span <= f->limit / 2)
		result = put_checkpoint(f, &made, time_ns, err);
	else if (!result)
		result = make_room(f, &made, time_ns);
	mt_buffer_free(&made);
	f->profile->info.file_bytes = mt_trace_writer_bytes(f->writer);
	return result;
}

/* ---- the end --------------------------------------------------------------------------------- */

void mt_flight_end(struct mt_flight *f)
{
	if (f->cap)
		f->final_ns = make_checkpoint(f, &f->final);
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
	while (more) {
		payload.len = 0;
		more = mt_totals_add_part(&payload, f->profile, &next);
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
	uint64_t definitions = definition_bytes(f);
	uint64_t tail = f->last == MT_NO_CHECKPOINT
		? UINT64_MAX / 2
		: mt_trace_writer_copied(f->writer, f->last);
	uint64_t least = definitions + f->final.len;
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
	if (exchange(f, keep ? f->last : UINT32_MAX, keep ? NULL : &f->final, f->final_ns, &why)
		< 0)
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
