#include "core/capture/events.h"

#include <string.h>

#define BLOCK_EVENTS 65536

static void emit(struct mt_merge *m, const struct mt_event *e)
{
	if (!m->writer)
		return;
	mt_trace_writer_event(m->writer, e);
	if (++m->unflushed >= BLOCK_EVENTS && m->flush)
		m->flush(m->context);
}

static void emit_block(struct mt_merge *m, const struct mt_ring *r, const struct mt_block *b,
	enum mt_event_type type, uint8_t kind)
{
	emit(m, &(struct mt_event){.type = (uint8_t)type, .kind = kind, .thread = r->thread, .group = b->group,
		.time_ns = m->now_ns, .number = b->number, .size = b->size, .address = b->address});
}

/* Time never goes back, and never beyond the moment at which the heads were read. */
static void set_time(struct mt_merge *m, uint64_t stamp)
{
	uint64_t ns = mt_clock_ns(m->clock, stamp);

	if (ns > m->limit_ns)
		ns = m->limit_ns;
	if (ns > m->now_ns)
		m->now_ns = ns;
}

/* The block at an address that is allocated now: its free was lost. */
static void imply_free(struct mt_merge *m, struct mt_ring *r, struct mt_block *found)
{
	mt_model_free(m->model, found, m->now_ns);
	emit_block(m, r, found, MT_EVENT_IMPLIED_FREE, MT_KIND_FREE);
	mt_match_remove(&m->match, found);
	m->model->profile->info.implied_frees++;
}

/* Nothing lives at the address afterwards. */
static void clear_address(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d, unsigned nesting)
{
	struct mt_block *found = mt_match_find(&m->match, d->pointer);

	if (found && mt_merge_fetch(m, d, false, nesting))
		found = mt_match_find(&m->match, d->pointer);
	if (found)
		imply_free(m, r, found);
}

static struct mt_block *find_block(struct mt_merge *m, const struct mt_decoded *d, unsigned nesting)
{
	struct mt_block *found = mt_match_find(&m->match, d->pointer);

	if (__builtin_expect(!found, 0) && mt_merge_fetch(m, d, true, nesting))
		found = mt_match_find(&m->match, d->pointer);
	return found;
}

static void unknown_free(struct mt_merge *m, const struct mt_ring *r, const struct mt_decoded *d)
{
	m->model->profile->info.unknown_frees++;
	emit(m, &(struct mt_event){.type = MT_EVENT_UNKNOWN_FREE, .kind = mt_tables_kind(&m->tables, d->node),
		.thread = r->thread, .time_ns = m->now_ns, .address = d->pointer});
}

static void on_allocation(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	const struct mt_block *previous)
{
	struct mt_block b = {.address = d->pointer, .size = d->size, .number = m->next_number++,
		.time_ns = m->now_ns, .group = mt_tables_group(&m->tables, d->node), .thread = r->thread};

	mt_model_allocate(m->model, &b, previous != NULL);
	mt_match_insert(&m->match, &b);
	emit(m, &(struct mt_event){.type = previous ? MT_EVENT_REALLOCATE : MT_EVENT_ALLOCATE, .thread = b.thread,
		.group = b.group, .time_ns = b.time_ns, .number = b.number, .previous = previous ? previous->number : 0,
		.size = b.size, .address = b.address});
}

static void on_free(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d, unsigned nesting)
{
	struct mt_block *found = find_block(m, d, nesting);

	if (!found) {
		unknown_free(m, r, d);
		return;
	}
	mt_model_free(m->model, found, m->now_ns);
	emit_block(m, r, found, MT_EVENT_FREE, mt_tables_kind(&m->tables, d->node));
	mt_match_remove(&m->match, found);
}

static void on_release(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d, unsigned nesting)
{
	struct mt_block *found = find_block(m, d, nesting);
	struct mt_release *open;

	if (r->release_count == MT_RING_RELEASES) /* left by longjmp: the oldest will not be completed */
		memmove(r->releases, r->releases + 1, --r->release_count * sizeof *r->releases);
	open = &r->releases[r->release_count++];
	*open = (struct mt_release){.known = found != NULL};
	if (!found) {
		unknown_free(m, r, d);
		return;
	}
	open->block = *found;
	mt_model_release(m->model, &open->block, m->now_ns);
	emit_block(m, r, found, MT_EVENT_RELEASE, MT_KIND_REALLOC);
	mt_match_remove(&m->match, found);
}

static void on_reallocation(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d)
{
	struct mt_release *open = r->release_count ? &r->releases[--r->release_count] : NULL;

	if (!open)
		m->model->profile->info.invalid_records++;
	on_allocation(m, r, d, open && open->known ? &open->block : NULL);
}

static void on_restore(struct mt_merge *m, struct mt_ring *r)
{
	struct mt_release *open = r->release_count ? &r->releases[--r->release_count] : NULL;
	struct mt_block *there;

	if (!open) {
		m->model->profile->info.invalid_records++;
		return;
	}
	if (!open->known)
		return;
	there = mt_match_find(&m->match, open->block.address);
	if (there)
		imply_free(m, r, there);
	mt_model_restore(m->model, &open->block, m->now_ns);
	mt_match_insert(&m->match, &open->block);
	emit_block(m, r, &open->block, MT_EVENT_RESTORE, 0);
}

static void on_thread(struct mt_merge *m, struct mt_ring *r, uint32_t index)
{
	uint32_t thread = mt_tables_thread(&m->tables, index);

	if (r->has_thread && thread != r->thread)
		r->release_count = 0;
	r->thread = thread;
	r->has_thread = true;
}

/* MARKs and what made no sense; false for events proper. */
static bool consume_other(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d)
{
	switch (d->type) {
	case MT_DECODED_THREAD:
		on_thread(m, r, d->node);
		return true;
	case MT_DECODED_GAP:
		m->gap_lost += d->size;
		r->release_count = 0;
		return true;
	case MT_DECODED_INVALID:
		m->model->profile->info.invalid_records++;
		return true;
	}
	if (!r->has_thread) {
		m->model->profile->info.invalid_records++;
		r->thread = mt_tables_unknown_thread(&m->tables);
		r->has_thread = true;
	}
	return false;
}

void mt_event_consume(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d, unsigned nesting)
{
	set_time(m, d->time);
	if (__builtin_expect(d->type >= MT_DECODED_THREAD || !r->has_thread, 0) && consume_other(m, r, d))
		return;
	m->model->profile->info.events++;
	switch (d->type) {
	case MT_RECORD_ALLOC:
		clear_address(m, r, d, nesting);
		on_allocation(m, r, d, NULL);
		break;
	case MT_RECORD_FREE:
		on_free(m, r, d, nesting);
		break;
	case MT_RECORD_RELEASE:
		on_release(m, r, d, nesting);
		break;
	case MT_RECORD_REALLOC:
		clear_address(m, r, d, nesting);
		on_reallocation(m, r, d);
		break;
	case MT_RECORD_RESTORE:
		on_restore(m, r);
		break;
	}
}
