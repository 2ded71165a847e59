/* Times of single allocations, and what they continue: each event block that has one is decoded as
 * far as its last one, by several threads, and only what these follow from. */
#include "core/base/thread.h"
#include "core/trace/columns.h"
#include "core/trace/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORKERS_MAX 16u
#define BATCH 512u /* events: they stay in the processor's first cache */
#define FEW 3u     /* event blocks for which no thread is started */

struct link {
	uint64_t number, previous;
};

struct searching {
	struct mt_trace_reader *reader;
	const struct mt_trace_lookup *wanted;
	atomic_uint next; /* place in blocks */
	atomic_bool stop;
	/* the first fault in the file's order */
	pthread_mutex_t mutex;
	uint32_t fault_at;
	int result;
	struct mt_trace_fault fault;
};

/* What a thread works with. */
struct searcher {
	struct searching *all;
	struct mt_trace_input input;
	struct mt_buffer payload;
	struct mt_decoder *decoder;
	struct mt_event events[BATCH];
	/* reallocs of the event block so far, by rising number */
	struct link *links;
	uint32_t link_count, link_capacity;
	struct mt_trace_origin *at, *end; /* items that are to be found */
	uint64_t first_number;
	bool begun;
};

static const struct link *find_link(const struct searcher *s, uint64_t number)
{
	uint32_t low = 0, high = s->link_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->links[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->link_count && s->links[low].number == number ? &s->links[low] : NULL;
}

static void follow(const struct searcher *s, struct mt_trace_origin *b)
{
	const struct link *link;

	b->root = b->number;
	b->reallocs = 0;
	b->earlier = false;
	while (!b->earlier && (link = find_link(s, b->root))) {
		if (link->previous >= link->number)
			break; /* of a block that was not recorded */
		b->root = link->previous;
		b->earlier = b->root < s->first_number;
		b->reallocs++;
	}
}

static void take(struct searcher *s, uint32_t count)
{
	for (uint32_t i = 0; i < count && s->at < s->end; i++) {
		const struct mt_event *e = &s->events[i];

		if (e->type > MT_EVENT_REALLOCATE)
			continue;
		if (!s->begun)
			s->first_number = e->number;
		s->begun = true;
		if (__builtin_expect(e->type == MT_EVENT_REALLOCATE, 0)) {
			MT_GROW(s->links, s->link_count, s->link_capacity);
			s->links[s->link_count++] = (struct link){e->number, e->previous};
		}
		if (__builtin_expect(e->number == s->at->number, 0)) {
			s->at->time_ns = e->time_ns;
			follow(s, s->at++);
		}
	}
}

static void find_links(struct searcher *s, uint32_t left, const char **reason)
{
	s->link_count = 0;
	s->begun = false;
	while (!*reason && left && s->at < s->end) {
		uint32_t count =
			mt_decoder_next(s->decoder, s->events, left < BATCH ? left : BATCH, reason);

		take(s, count);
		left -= count;
	}
}

static int search(struct searcher *s, uint32_t place, struct mt_trace_fault *fault)
{
	const struct mt_trace_lookup *w = s->all->wanted;
	uint32_t index = w->blocks[place];
	uint32_t count = mt_trace_reader_block(s->all->reader, index)->event_count;
	struct mt_trace_place at;
	const char *reason;

	s->at = w->items + w->first[place];
	s->end = w->items + (place + 1 < w->block_count ? w->first[place + 1] : w->count);
	mt_trace_reader_place(s->all->reader, index, &at);
	int result = mt_trace_payload(&at, &s->input, &s->payload, fault);

	if (result)
		return result;
	reason = mt_decoder_start(s->decoder, mt_trace_reader_version(s->all->reader),
		s->payload.data, s->payload.len, count, w->links ? MT_TRACE_LINKS : MT_TRACE_TIMES);
	if (!reason && w->links)
		find_links(s, count, &reason);
	else if (!reason)
		s->at = mt_decoder_times(s->decoder, s->at, s->end, &reason);
	if (reason) {
		snprintf(fault->reason, sizeof fault->reason, "%s", reason);
		return -EBADMSG;
	}
	return s->at < s->end ? -EINVAL : 0;
}

static void note_fault(struct searching *a, uint32_t place, int result,
	const struct mt_trace_fault *fault)
{
	pthread_mutex_lock(&a->mutex);
	if (!a->result || place < a->fault_at) {
		a->result = result;
		a->fault_at = place;
		a->fault = *fault;
	}
	pthread_mutex_unlock(&a->mutex);
	atomic_store(&a->stop, true);
}

/* tells: it is the calling thread, which alone says how far all are. */
static void work(struct searching *a, bool tells)
{
	const struct mt_trace_lookup *w = a->wanted;
	struct searcher *s = mt_alloc(sizeof *s);
	uint32_t place;

	s->all = a;
	s->decoder = mt_decoder_new();
	while (!atomic_load(&a->stop) && (place = atomic_fetch_add(&a->next, 1)) < w->block_count) {
		struct mt_trace_fault fault = {0};
		int result = search(s, place, &fault);

		if (!result && tells && w->progress
			&& w->progress(w->context, (double)place / w->block_count))
			result = -ECANCELED;
		if (result)
			note_fault(a, place, result, &fault);
	}
	mt_trace_input_free(&s->input);
	mt_buffer_free(&s->payload);
	mt_decoder_free(s->decoder);
	free(s->links);
	free(s);
}

static void *work_beside(void *searching)
{
	work(searching, false);
	return NULL;
}

static uint32_t helpers(const struct mt_trace_lookup *w)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t count = w->workers ? w->workers : processors > 0 ? (uint32_t)processors : 1;

	if (w->block_count < FEW)
		return 0;
	return (count < WORKERS_MAX ? count : WORKERS_MAX) - 1;
}

int mt_trace_reader_look_up(struct mt_trace_reader *reader, const struct mt_trace_lookup *wanted,
	struct mt_err *err)
{
	struct searching a = {.reader = reader, .wanted = wanted};
	pthread_t threads[WORKERS_MAX];
	uint32_t count = 0, most = helpers(wanted);

	pthread_mutex_init(&a.mutex, NULL);
	while (count < most && !mt_thread_start(&threads[count], "origins", work_beside, &a))
		count++;
	work(&a, true);
	while (count)
		pthread_join(threads[--count], NULL);
	pthread_mutex_destroy(&a.mutex);
	if (!a.result || a.result == -EINVAL || a.result == -ECANCELED)
		return a.result;
	return mt_trace_reader_fault(reader, wanted->blocks[a.fault_at], a.result, &a.fault, err);
}
