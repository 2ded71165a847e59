/* Event blocks are independent of each other: threads read and decode them ahead, each into a slot
 * of its own, and the calling thread takes the slots in the file's order. */
#include "core/base/thread.h"
#include "core/trace/block.h"
#include "core/trace/columns.h"
#include "core/trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORKERS_MAX 16u
#define BATCH 1024u /* events decoded at a time where nobody decodes ahead */
#define FEW 3u      /* event blocks for which no thread is started */
/* events a block, on the average, below which it takes longer to hand a block over than to decode
 * it */
#define SMALL 256u

struct decoding {
	struct mt_trace_input input;
	struct mt_buffer payload;
	struct mt_decoder *decoder;
};

struct slot {
	bool ready;
	struct mt_event *events;
	uint32_t count;
	int result; /* what follows the events */
	struct mt_trace_fault fault;
};

struct scan {
	struct mt_trace_reader *reader;
	const struct mt_trace_scan *wanted;
	struct mt_err *err;
	uint32_t *blocks; /* the event blocks that are wanted */
	uint32_t block_count;
	uint64_t event_count; /* in them */
	/* threads */
	pthread_t threads[WORKERS_MAX];
	uint32_t thread_count;
	pthread_mutex_t mutex;
	pthread_cond_t room, ready;
	struct slot *slots;
	uint32_t slot_count;
	uint32_t next, taken; /* places in blocks: to be decoded next; all before were consumed */
	bool stop;
};

static void decoding_free(struct decoding *d)
{
	mt_trace_input_free(&d->input);
	mt_buffer_free(&d->payload);
	mt_decoder_free(d->decoder);
}

/* Reads a block and begins with it. */
static int decoding_start(struct decoding *d, const struct mt_trace_reader *reader, uint32_t index,
	unsigned wants, struct mt_trace_fault *fault)
{
	struct mt_trace_place place;

	if (!d->decoder)
		d->decoder = mt_decoder_new();
	mt_trace_reader_place(reader, index, &place);
	int result = mt_trace_payload(&place, &d->input, &d->payload, fault);
	const char *reason = result
		? NULL
		: mt_decoder_start(d->decoder, mt_trace_reader_version(reader), d->payload.data,
			d->payload.len, mt_trace_reader_block(reader, index)->event_count, wants);

	if (!reason)
		return result;
	snprintf(fault->reason, sizeof fault->reason, "%s", reason);
	return -EBADMSG;
}

static uint32_t decoding_next(struct decoding *d, struct mt_event *events, uint32_t room,
	int *result, struct mt_trace_fault *fault)
{
	const char *reason;
	uint32_t count = mt_decoder_next(d->decoder, events, room, &reason);

	if (reason) {
		snprintf(fault->reason, sizeof fault->reason, "%s", reason);
		*result = -EBADMSG;
	}
	return count;
}

/* ---- ahead ---- */

static void fill(struct scan *s, struct decoding *d, struct slot *slot, uint32_t index)
{
	uint32_t left = mt_trace_reader_block(s->reader, index)->event_count, count;

	slot->count = 0;
	slot->result = decoding_start(d, s->reader, index, s->wanted->wants, &slot->fault);
	while (!slot->result && left) {
		count = decoding_next(d, slot->events + slot->count, left, &slot->result,
			&slot->fault);
		slot->count += count;
		left -= count;
	}
}

static void *work(void *context)
{
	struct scan *s = context;
	struct decoding d = {0};

	pthread_mutex_lock(&s->mutex);
	for (;;) {
		while (!s->stop && s->next < s->block_count && s->next - s->taken >= s->slot_count)
			pthread_cond_wait(&s->room, &s->mutex);
		if (s->stop || s->next >= s->block_count)
			break;
		uint32_t at = s->next++;
		struct slot *slot = &s->slots[at % s->slot_count];

		pthread_mutex_unlock(&s->mutex);
		if (!slot->events)
			slot->events = mt_resize(NULL, MT_BLOCK_EVENTS_MAX * sizeof *slot->events);
		fill(s, &d, slot, s->blocks[at]);
		pthread_mutex_lock(&s->mutex);
		slot->ready = true;
		pthread_cond_signal(&s->ready);
	}
	pthread_mutex_unlock(&s->mutex);
	decoding_free(&d);
	return NULL;
}

static int consume_ahead(struct scan *s, uint32_t index)
{
	struct slot *slot = &s->slots[s->taken % s->slot_count];
	int result = 0;

	pthread_mutex_lock(&s->mutex);
	while (!slot->ready)
		pthread_cond_wait(&s->ready, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
	if (slot->count)
		result = s->wanted->events(s->wanted->context, index, slot->events, slot->count);
	if (!result && slot->result)
		result =
			mt_trace_reader_fault(s->reader, index, slot->result, &slot->fault, s->err);
	pthread_mutex_lock(&s->mutex);
	slot->ready = false;
	s->taken++;
	pthread_cond_signal(&s->room);
	pthread_mutex_unlock(&s->mutex);
	return result;
}

/* If no thread can be started, the calling one does all of the work. */
static void start_threads(struct scan *s, uint32_t count)
{
	s->slot_count = count + 2;
	s->slots = mt_alloc(s->slot_count * sizeof *s->slots);
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->room, NULL);
	pthread_cond_init(&s->ready, NULL);
	while (s->thread_count < count
		&& !mt_thread_start(&s->threads[s->thread_count], "scan", work, s))
		s->thread_count++;
}

static void end_threads(struct scan *s)
{
	if (!s->slots)
		return;
	pthread_mutex_lock(&s->mutex);
	s->stop = true;
	pthread_cond_broadcast(&s->room);
	pthread_mutex_unlock(&s->mutex);
	for (uint32_t i = 0; i < s->thread_count; i++)
		pthread_join(s->threads[i], NULL);
	for (uint32_t i = 0; i < s->slot_count; i++)
		free(s->slots[i].events);
	free(s->slots);
	pthread_cond_destroy(&s->ready);
	pthread_cond_destroy(&s->room);
	pthread_mutex_destroy(&s->mutex);
}

/* ---- here and now ---- */

static int consume_here(struct scan *s, struct decoding *d, struct mt_event *batch, uint32_t index)
{
	uint32_t left = mt_trace_reader_block(s->reader, index)->event_count;
	struct mt_trace_fault fault;
	int result = decoding_start(d, s->reader, index, s->wanted->wants, &fault);

	while (!result && left) {
		uint32_t count =
			decoding_next(d, batch, left < BATCH ? left : BATCH, &result, &fault);

		left -= count;
		if (!result) {
			int ended = s->wanted->events(s->wanted->context, index, batch, count);

			if (ended)
				return ended;
		}
	}
	return result ? mt_trace_reader_fault(s->reader, index, result, &fault, s->err) : 0;
}

/* ---- all ---- */

static void choose_blocks(struct scan *s)
{
	const struct mt_trace_scan *w = s->wanted;

	s->blocks = mt_resize(NULL, ((size_t)(w->end - w->first) + 1) * sizeof *s->blocks);
	for (uint32_t i = w->first; i < w->end; i++) {
		const struct mt_trace_block *block = mt_trace_reader_block(s->reader, i);

		if (block->type != MT_BLOCK_EVENTS || (w->skip && w->skip(w->context, i)))
			continue;
		s->blocks[s->block_count++] = i;
		s->event_count += block->event_count;
	}
}

static uint32_t thread_count(const struct scan *s)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t count = s->wanted->workers;

	if (s->block_count < FEW)
		return 0;
	if (!count && s->event_count / s->block_count >= SMALL && processors > 0)
		count = (uint32_t)processors;
	if (count > WORKERS_MAX)
		count = WORKERS_MAX;
	return count > 1 ? count : 0;
}

static int consume_all(struct scan *s, struct decoding *d, struct mt_event *batch)
{
	const struct mt_trace_scan *w = s->wanted;
	uint32_t at = 0;
	int result = 0;

	for (uint32_t i = w->first; i < w->end && !result; i++) {
		bool wanted = at < s->block_count && s->blocks[at] == i;

		if (!wanted && mt_trace_reader_block(s->reader, i)->type == MT_BLOCK_EVENTS)
			continue;
		if (w->block)
			result = w->block(w->context, i);
		if (wanted && !result)
			result = s->thread_count ? consume_ahead(s, i)
						 : consume_here(s, d, batch, i);
		at += wanted;
	}
	return result;
}

int mt_trace_reader_scan(struct mt_trace_reader *reader, const struct mt_trace_scan *wanted,
	struct mt_err *err)
{
	struct scan s = {.reader = reader, .wanted = wanted, .err = err};
	struct decoding d = {0};
	struct mt_event *batch = NULL;

	choose_blocks(&s);
	uint32_t threads = thread_count(&s);

	if (threads)
		start_threads(&s, threads);
	if (!s.thread_count)
		batch = mt_resize(NULL, BATCH * sizeof *batch);
	int result = consume_all(&s, &d, batch);

	end_threads(&s);
	decoding_free(&d);
	free(batch);
	free(s.blocks);
	return result;
}

/* ---- one block, event by event ---- */

struct one {
	int (*visit)(void *context, const struct mt_event *);
	void *context;
};

static int visit_each(void *context, uint32_t index, const struct mt_event *events, uint32_t count)
{
	const struct one *one = context;
	int result = 0;

	(void)index;
	for (uint32_t i = 0; i < count && !result; i++)
		result = one->visit(one->context, &events[i]);
	return result;
}

int mt_trace_reader_events(struct mt_trace_reader *r, uint32_t index,
	int (*visit)(void *context, const struct mt_event *), void *context, struct mt_err *err)
{
	struct one one = {visit, context};
	const struct mt_trace_block *block = mt_trace_reader_block(r, index);

	if (!block)
		return mt_fail(err, -EINVAL, "the trace %s has no block %u",
			mt_trace_reader_path(r), index);
	if (block->type != MT_BLOCK_EVENTS)
		return mt_fail(err, -EINVAL, "block %u of the trace %s holds no events", index,
			mt_trace_reader_path(r));
	return mt_trace_reader_scan(r,
		&(struct mt_trace_scan){
			.first = index,
			.end = index + 1,
			.workers = 1,
			.wants = MT_TRACE_ADDRESSES,
			.events = visit_each,
			.context = &one,
		},
		err);
}
