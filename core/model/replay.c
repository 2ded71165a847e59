#include "core/model/replay.h"

#include <errno.h>
#include <stdlib.h>

#define CHUNK 4096u /* numbers are followed in chunks, each freed when all of its blocks are gone */
#define NO_PREVIOUS UINT64_MAX

enum state { STATE_NONE, STATE_LIVE, STATE_RELEASED, STATE_GONE };

struct cell {
	uint64_t size;
	uint64_t thread_sequence;
	uint32_t group;
	uint32_t thread : 30, state : 2;
};

struct mt_replay_chunk {
	uint32_t left; /* numbers that are not gone yet, those to come included */
	uint64_t *usable; /* usable sizes that were noted, else 0; NULL: none */
	struct cell cells[CHUNK];
};

void mt_replay_init(struct mt_replay *r, struct mt_profile *profile)
{
	*r = (struct mt_replay){0};
	mt_model_init(&r->model, profile);
}

static void free_chunk(struct mt_replay_chunk *chunk)
{
	if (chunk)
		free(chunk->usable);
	free(chunk);
}

void mt_replay_free(struct mt_replay *r)
{
	for (uint64_t i = 0; i < r->chunk_count; i++)
		free_chunk(r->chunks[i]);
	free(r->chunks);
	mt_model_free_memory(&r->model);
	*r = (struct mt_replay){0};
}

static int fault(struct mt_replay *r, const char *text)
{
	r->fault = text;
	return -EINVAL;
}

/* NULL: the number was never given, or its block is gone. */
static struct cell *find(const struct mt_replay *r, uint64_t number)
{
	if (number >= r->next_number || !r->chunks[number / CHUNK])
		return NULL;
	struct cell *c = &r->chunks[number / CHUNK]->cells[number % CHUNK];

	return c->state == STATE_GONE ? NULL : c;
}

static void gone(struct mt_replay *r, uint64_t number, struct cell *c)
{
	struct mt_replay_chunk **chunk = &r->chunks[number / CHUNK];

	c->state = STATE_GONE;
	if (!--(*chunk)->left) {
		free_chunk(*chunk);
		*chunk = NULL;
	}
}

static struct mt_block block_of(const struct cell *c)
{
	return (struct mt_block){.size = c->size, .group = c->group, .thread = c->thread,
		.thread_sequence = c->thread_sequence};
}

static int allocate(struct mt_replay *r, const struct mt_event *e)
{
	const struct mt_profile *p = r->model.profile;
	bool reallocated = e->type == MT_EVENT_REALLOCATE;

	if (e->number != r->next_number)
		return fault(r, "an allocation has a number that does not follow the one before");
	if (e->group >= p->group_count)
		return fault(r, "an allocation names a group that is not defined");
	if (reallocated && e->previous >= e->number && e->previous != NO_PREVIOUS)
		return fault(r, "a realloc continues a block that was not there");
	struct mt_block b = {.address = e->address, .size = e->size, .number = e->number, .time_ns = e->time_ns,
		.group = e->group, .thread = e->thread};

	mt_model_allocate(&r->model, &b, reallocated);
	if (e->number % CHUNK == 0) {
		MT_GROW(r->chunks, r->chunk_count, r->chunk_capacity);
		r->chunks[r->chunk_count] = mt_alloc(sizeof **r->chunks);
		r->chunks[r->chunk_count++]->left = CHUNK;
	}
	r->chunks[e->number / CHUNK]->cells[e->number % CHUNK] = (struct cell){.size = b.size,
		.thread_sequence = b.thread_sequence, .group = b.group, .thread = b.thread, .state = STATE_LIVE};
	r->next_number++;
	r->last = MT_REPLAY_ALLOCATED;
	struct cell *previous = reallocated ? find(r, e->previous) : NULL;

	if (previous && previous->state == STATE_RELEASED)
		gone(r, e->previous, previous);
	return 0;
}

static int end_block(struct mt_replay *r, const struct mt_event *e)
{
	struct cell *c = find(r, e->number);

	if (!c || c->state != STATE_LIVE)
		return fault(r, "a free names a block that is not live");
	struct mt_block b = block_of(c);

	r->last = MT_REPLAY_FREED;
	r->last_group = b.group;
	if (e->type == MT_EVENT_RELEASE) {
		mt_model_release(&r->model, &b, e->time_ns);
		c->thread_sequence = b.thread_sequence;
		c->state = STATE_RELEASED;
		return 0;
	}
	mt_model_free(&r->model, &b, e->time_ns);
	r->implied_frees += e->type == MT_EVENT_IMPLIED_FREE;
	gone(r, e->number, c);
	return 0;
}

static int restore(struct mt_replay *r, const struct mt_event *e)
{
	struct cell *c = find(r, e->number);

	if (!c || c->state != STATE_RELEASED)
		return fault(r, "a failed realloc names a block that was not released");
	struct mt_block b = block_of(c);

	mt_model_restore(&r->model, &b, e->time_ns);
	c->thread_sequence = b.thread_sequence;
	c->state = STATE_LIVE;
	return 0;
}

static int note(struct mt_replay *r, const struct mt_event *e)
{
	const struct mt_profile *p = r->model.profile;

	if (e->kind == MT_NOTE_USABLE && r->last == MT_REPLAY_ALLOCATED) {
		struct mt_replay_chunk *chunk = r->chunks[(r->next_number - 1) / CHUNK];

		if (!chunk->usable)
			chunk->usable = mt_alloc(CHUNK * sizeof *chunk->usable);
		chunk->usable[(r->next_number - 1) % CHUNK] = e->size;
		return 0;
	}
	if (e->kind != MT_NOTE_FREE_STACK || r->last != MT_REPLAY_FREED)
		return fault(r, "a note is not about the event before it");
	if (e->size >= p->node_count || p->nodes[e->size].pc >= MT_PC_FIRST)
		return fault(r, "the stack of a free is not defined");
	mt_model_free_site(&r->model, r->last_group, (uint32_t)e->size);
	return 0;
}

static uint64_t cell_slack(const struct mt_replay *r, const struct cell *c, uint64_t usable)
{
	const struct mt_profile *p = r->model.profile;

	if (c->state != STATE_LIVE)
		return 0;
	return mt_model_slack(p, c->group, c->size, usable);
}

uint64_t mt_replay_slack(const struct mt_replay *r)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < r->chunk_count; i++) {
		const struct mt_replay_chunk *chunk = r->chunks[i];

		for (uint32_t at = 0; chunk && at < CHUNK; at++)
			sum += cell_slack(r, &chunk->cells[at], chunk->usable ? chunk->usable[at] : 0);
	}
	return sum;
}

int mt_replay_event(void *context, const struct mt_event *e)
{
	struct mt_replay *r = context;

	if (e->thread >= r->model.profile->thread_count || e->thread >= 1u << 30)
		return fault(r, "an event names a thread that is not defined");
	if (e->time_ns > MT_REPLAY_TIME_MAX)
		return fault(r, "an event has a time out of range");
	if (e->type == MT_EVENT_NOTE)
		return note(r, e);
	r->events++;
	r->last = MT_REPLAY_NOTHING;
	switch ((enum mt_event_type)e->type) {
	case MT_EVENT_ALLOCATE:
	case MT_EVENT_REALLOCATE:
		return allocate(r, e);
	case MT_EVENT_FREE:
	case MT_EVENT_RELEASE:
	case MT_EVENT_IMPLIED_FREE:
		return end_block(r, e);
	case MT_EVENT_RESTORE:
		return restore(r, e);
	case MT_EVENT_UNKNOWN_FREE:
		r->unknown_frees++;
		return 0;
	case MT_EVENT_NOTE:
	case MT_EVENT_TYPES:
		break;
	}
	return fault(r, "an event is of an unknown type");
}
