/* What is beside the heap: maps, calls, markers, pauses, gaps. Each is logged. */
#include "core/capture/events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LOST_MAX (1ull << 44) /* more than a gap can lose */
#define PIECES_MAX (1u << 20) /* damage could double them with each mark: no program has so many */

static struct mt_info *info_of(struct mt_merge *m)
{
	return &m->model->profile->info;
}

static unsigned function_of(const struct mt_merge *m, const struct mt_decoded *d, uint32_t node)
{
	if (d->pointer > MT_FUNCTION_NONE && d->pointer < MT_FUNCTION_COUNT)
		return (unsigned)d->pointer;
	return m->model->profile->nodes[node].pc;
}

static void add_entry(struct mt_merge *m, const struct mt_ring *r, enum mt_log_type type,
	uint32_t node, const uint64_t *values, unsigned count)
{
	struct mt_log_entry e = {
		.time_ns = m->now_ns,
		.type = type,
		.thread = r->thread,
		.node = node,
	};

	memcpy(e.values, values, count * sizeof *values);
	mt_profile_add_log(m->model->profile, &e);
}

/* ---- maps ---- */

static void publish_maps(struct mt_merge *m)
{
	struct mt_info *info = info_of(m);

	info->mapped_anonymous_bytes = m->maps.anonymous_bytes;
	info->mapped_file_bytes = m->maps.file_bytes;
	info->mapped_peak_bytes = m->maps.peak_bytes;
	info->mapped_reserved_bytes = m->maps.reserved_bytes;
}

/* Of the program's machine, which the tracer has named before it wrote a record. */
static uint64_t page_bytes(struct mt_merge *m)
{
	struct mt_info *info = info_of(m);

	if (!info->page_bytes)
		mt_merge_machine(m);
	return info->page_bytes ? info->page_bytes : MT_WIRE_PAGE;
}

/* Whole pages are mapped, whatever was asked for; the break alone is kept to the byte. */
static uint64_t mapped_length(struct mt_merge *m, uint64_t length, unsigned function)
{
	uint64_t page = page_bytes(m);

	return function == MT_FUNCTION_BRK || length > UINT64_MAX - page
		? length
		: (length + page - 1) / page * page;
}

static struct mt_unmap *find_unmap(struct mt_ring *r, uint64_t address, uint64_t length)
{
	for (uint32_t back = 1; back <= MT_RING_UNMAPS && back <= r->unmap_count; back++) {
		struct mt_unmap *u = &r->unmaps[(r->unmap_count - back) % MT_RING_UNMAPS];

		if (u->open && u->address == address && u->length == length)
			return u;
	}
	return NULL;
}

static void on_unmap(struct mt_merge *m, struct mt_ring *r, const uint64_t *values,
	unsigned function, uint32_t node)
{
	struct mt_unmap *u = &r->unmaps[r->unmap_count++ % MT_RING_UNMAPS];

	u->address = values[0];
	u->length = values[1];
	u->removed.count = 0;
	u->open = true;
	mt_maps_remove(&m->maps, values[0], mapped_length(m, values[1], function), &u->removed);
	info_of(m)->unmaps++;
	add_entry(m, r, MT_LOG_UNMAP, node, values, 2);
}

static void on_unmap_failed(struct mt_merge *m, struct mt_ring *r, const uint64_t *values,
	uint32_t node)
{
	struct mt_unmap *u = find_unmap(r, values[0], values[1]);

	if (!u) {
		info_of(m)->invalid_records++;
		return;
	}
	u->open = false;
	mt_maps_restore(&m->maps, &u->removed);
	info_of(m)->unmaps--;
	add_entry(m, r, MT_LOG_UNMAP_FAILED, node, values, 2);
}

/* False: counted as invalid. */
static bool is_range(struct mt_merge *m, const struct mt_map *map)
{
	if (map->length && map->length <= UINT64_MAX - map->address)
		return true;
	info_of(m)->invalid_records++;
	return false;
}

static void on_map(struct mt_merge *m, struct mt_ring *r, const uint64_t *values, unsigned function,
	uint32_t node)
{
	struct mt_map map = {
		.address = values[0],
		.length = mapped_length(m, values[1], function),
		.time_ns = m->now_ns,
		.node = node,
		.protection = (uint32_t)values[2],
		.flags = (uint32_t)(values[2] >> 32),
	};
	uint32_t replaced;

	if (!is_range(m, &map))
		return;
	replaced = mt_maps_add(&m->maps, &map);
	if (function == MT_FUNCTION_MMAP && !(map.flags & MAP_FIXED))
		info_of(m)->implied_unmaps += replaced;
	info_of(m)->maps++;
	add_entry(m, r, MT_LOG_MAP, node, values, 4);
}

/* From an old range to where they are in a new one. What is longer now was one mapping and is so
 * still: the last of them reaches to the end. */
static void move_shares(struct mt_map_list *shares, uint64_t from, uint64_t old_length, uint64_t to,
	uint64_t length)
{
	uint32_t count = 0;

	for (; count < shares->count && shares->items[count].address - from < length; count++) {
		struct mt_map *share = &shares->items[count];
		uint64_t left = length - (share->address - from);
		bool grown = length > old_length && count + 1 == shares->count;

		share->address += to - from;
		if (grown || share->length > left)
			share->length = left;
	}
	shares->count = count;
}

/* The old range may have been of several mappings, with holes between them. */
static void on_remap(struct mt_merge *m, struct mt_ring *r, const struct mt_extensions *x,
	uint32_t node)
{
	const uint64_t *values = x->values;
	uint64_t from = values[2], taken = values[3], stays = values[4];
	struct mt_map_list kept = {0}, *shares = &kept;
	struct mt_unmap *u = taken ? find_unmap(r, from, taken) : NULL;
	struct mt_map unknown = {
		.address = values[0],
		.length = mapped_length(m, values[1], MT_FUNCTION_MREMAP),
		.time_ns = m->now_ns,
		.node = node,
		.protection = PROT_READ | PROT_WRITE,
		.flags = MAP_ANONYMOUS,
	};

	if (u) {
		u->open = false;
		info_of(m)->unmaps--;
		shares = &u->removed;
	}
	if (!is_range(m, &unknown))
		return;
	if (!taken)
		mt_maps_shares(&m->maps, from, stays ? stays : 1, &kept);
	if (shares->count > 1 && shares->count + m->maps.pieces.count > PIECES_MAX) {
		info_of(m)->invalid_records++;
		shares->count = 1;
	}
	if (shares->count) {
		move_shares(shares, from,
			mapped_length(m, taken ? taken : stays, MT_FUNCTION_MREMAP),
			unknown.address, unknown.length);
		mt_maps_add_list(&m->maps, shares);
	} else if (!x->paused) { /* of what was mapped before the recording nothing is known */
		mt_maps_add(&m->maps, &unknown);
	} else {
		return;
	}
	free(kept.items);
	add_entry(m, r, MT_LOG_MAP, node, values, 4);
}

/* ---- the rest ---- */

static void on_gap(struct mt_merge *m, struct mt_ring *r, const uint64_t *values)
{
	uint64_t began = mt_clock_ns(m->clock, values[0]), allocations = values[1];
	uint64_t frees = values[2];

	r->release_count = 0;
	if (allocations > LOST_MAX || frees > LOST_MAX) {
		info_of(m)->invalid_records++;
		return;
	}
	m->gap_lost += allocations + frees;
	m->gap_frees += frees;
	m->unrecorded |= allocations > 0;
	if (frees)
		mt_merge_note_lossy(m);
	add_entry(m, r, MT_LOG_GAP, 0,
		(const uint64_t[]){began < m->now_ns ? began : m->now_ns, allocations, frees}, 3);
}

static void on_user(struct mt_merge *m, const struct mt_ring *r, const struct mt_extensions *x,
	unsigned function, uint32_t node)
{
	struct mt_log_entry e = {
		.time_ns = m->now_ns,
		.thread = r->thread,
		.node = node,
		.type = function == MT_FUNCTION_PAUSE    ? MT_LOG_PAUSE
			: function == MT_FUNCTION_RESUME ? MT_LOG_RESUME
							 : MT_LOG_MARKER,
	};
	const char *text = (const char *)x->values;
	size_t len = strnlen(text, x->value_count * sizeof *x->values);

	if (m->model->profile->log_count < MT_LOG_MAX)
		e.text = mt_strings_add_len(&m->model->profile->strings, text, len);
	if (e.type == MT_LOG_MARKER)
		e.values[0] = m->next_number + 1;
	else
		info_of(m)->paused = e.type == MT_LOG_PAUSE;
	m->unrecorded |= e.type == MT_LOG_PAUSE;
	mt_profile_add_log(m->model->profile, &e);
}

void mt_merge_pause(struct mt_merge *m, bool paused, uint64_t time_ns)
{
	const struct mt_profile *p = m->model->profile;
	uint64_t logged = p->log_count ? p->log[p->log_count - 1].time_ns : 0;
	uint64_t earliest = time_ns ? m->model->now_ns : logged;
	struct mt_log_entry e = {
		.time_ns = time_ns > earliest ? time_ns : earliest,
		.type = paused ? MT_LOG_PAUSE : MT_LOG_RESUME,
		.thread = MT_NO_THREAD,
	};

	info_of(m)->paused = paused;
	m->unrecorded |= paused;
	mt_profile_add_log(m->model->profile, &e);
}

void mt_merge_mark(struct mt_merge *m, const char *text, uint64_t time_ns)
{
	struct mt_log_entry e = {
		.time_ns = time_ns > m->model->now_ns ? time_ns : m->model->now_ns,
		.type = MT_LOG_MARKER,
		.thread = MT_NO_THREAD,
		.values = {m->next_number + 1},
	};

	if (m->model->profile->log_count < MT_LOG_MAX)
		e.text = mt_strings_add(&m->model->profile->strings, text);
	mt_profile_add_log(m->model->profile, &e);
}

void mt_mark_consume(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d)
{
	uint32_t node = d->type == MT_DECODED_GAP ? 0 : mt_id_map_node(&m->tables, d->node);
	unsigned function = function_of(m, d, node);
	struct mt_extensions x;

	mt_ring_extensions(r, r->consumed, d->end, &x); /* values that are gone by now are zeroes */
	switch (d->type) {
	case MT_DECODED_GAP: on_gap(m, r, x.values); break;
	case MT_DECODED_MAP:
		if (function == MT_FUNCTION_MREMAP)
			on_remap(m, r, &x, node);
		else
			on_map(m, r, x.values, function, node);
		break;
	case MT_DECODED_UNMAP: on_unmap(m, r, x.values, function, node); break;
	case MT_DECODED_UNMAP_FAILED: on_unmap_failed(m, r, x.values, node); break;
	case MT_DECODED_CALL: add_entry(m, r, MT_LOG_CALL, node, x.values, 3); break;
	case MT_DECODED_USER: on_user(m, r, &x, function, node); break;
	}
	publish_maps(m);
}
