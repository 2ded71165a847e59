#include "core/capture/maps.h"
#include "core/base/buffer.h"
#include "core/base/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void mt_maps_free(struct mt_maps *m)
{
	free(m->pieces.items);
	*m = (struct mt_maps){0};
}

static uint64_t end_of(const struct mt_map *piece)
{
	return piece->address + piece->length;
}

static bool ends_beyond(const void *pieces, uint32_t at, uint64_t address)
{
	return end_of(&((const struct mt_map *)pieces)[at]) > address;
}

/* Index of the first piece that ends beyond the address. */
static uint32_t find(const struct mt_maps *m, uint64_t address)
{
	return mt_search(0, m->pieces.count, ends_beyond, m->pieces.items, address);
}

static void account(struct mt_maps *m, const struct mt_map *piece, bool added)
{
	uint64_t *bytes = piece->protection == PROT_NONE ? &m->reserved_bytes
		: piece->flags & MAP_ANONYMOUS           ? &m->anonymous_bytes
							 : &m->file_bytes;

	*bytes += added ? piece->length : -piece->length;
	if (m->anonymous_bytes + m->file_bytes > m->peak_bytes)
		m->peak_bytes = m->anonymous_bytes + m->file_bytes;
}

static void insert(struct mt_maps *m, uint32_t at, const struct mt_map *pieces, uint32_t count)
{
	struct mt_map_list *l = &m->pieces;

	if (count > l->capacity - l->count) {
		l->capacity = 2 * (l->count + count);
		l->items = mt_resize(l->items, (size_t)l->capacity * sizeof *l->items);
	}
	memmove(&l->items[at + count], &l->items[at], (l->count - at) * sizeof *l->items);
	memcpy(&l->items[at], pieces, count * sizeof *pieces);
	l->count += count;
}

static void erase(struct mt_maps *m, uint32_t from, uint32_t to)
{
	struct mt_map_list *l = &m->pieces;

	if (to < l->count)
		memmove(&l->items[from], &l->items[to], (l->count - to) * sizeof *l->items);
	l->count -= to - from;
}

static struct mt_map part(const struct mt_map *piece, uint64_t from, uint64_t to)
{
	struct mt_map share = *piece;

	share.address = from > piece->address ? from : piece->address;
	share.length = (to < end_of(piece) ? to : end_of(piece)) - share.address;
	return share;
}

static uint64_t range_end(uint64_t address, uint64_t length)
{
	return length > UINT64_MAX - address ? UINT64_MAX : address + length;
}

void mt_maps_shares(const struct mt_maps *m, uint64_t address, uint64_t length,
	struct mt_map_list *shares)
{
	uint64_t end = range_end(address, length);

	for (uint32_t at = find(m, address);
		at < m->pieces.count && m->pieces.items[at].address < end; at++) {
		MT_GROW(shares->items, shares->count, shares->capacity);
		shares->items[shares->count++] = part(&m->pieces.items[at], address, end);
	}
}

uint32_t mt_maps_remove(struct mt_maps *m, uint64_t address, uint64_t length,
	struct mt_map_list *removed)
{
	uint64_t end = range_end(address, length);
	uint32_t first = find(m, address), at = first;
	struct mt_map before = {0}, behind = {0};

	if (removed)
		mt_maps_shares(m, address, length, removed);
	for (; at < m->pieces.count && m->pieces.items[at].address < end; at++) {
		const struct mt_map *piece = &m->pieces.items[at];
		struct mt_map share = part(piece, address, end);

		if (piece->address < address)
			before = part(piece, 0, address);
		if (end_of(piece) > end)
			behind = part(piece, end, UINT64_MAX);
		account(m, &share, false);
	}
	erase(m, first, at);
	if (behind.length)
		insert(m, first, &behind, 1);
	if (before.length)
		insert(m, first, &before, 1);
	return at - first;
}

uint32_t mt_maps_add(struct mt_maps *m, const struct mt_map *piece)
{
	uint32_t replaced = mt_maps_remove(m, piece->address, piece->length, NULL);

	insert(m, find(m, piece->address), piece, 1);
	account(m, piece, true);
	return replaced;
}

static bool continues(const struct mt_map *a, const struct mt_map *b)
{
	return end_of(a) == b->address && a->time_ns == b->time_ns && a->node == b->node
		&& a->flags == b->flags && a->protection == b->protection;
}

/* What was one piece before it was split is one again. */
static void join(struct mt_maps *m, uint32_t left)
{
	struct mt_map *items = m->pieces.items;

	if (left + 1 >= m->pieces.count || !continues(&items[left], &items[left + 1]))
		return;
	items[left].length += items[left + 1].length;
	erase(m, left + 1, left + 2);
}

static void put_back(struct mt_maps *m, const struct mt_map *piece)
{
	uint32_t at = find(m, piece->address);

	insert(m, at, piece, 1);
	account(m, piece, true);
	join(m, at);
	if (at)
		join(m, at - 1);
}

void mt_maps_restore(struct mt_maps *m, const struct mt_map_list *removed)
{
	for (uint32_t i = 0; i < removed->count; i++) {
		const struct mt_map *piece = &removed->items[i];
		uint64_t at = piece->address, end = end_of(piece);

		while (at < end) {
			uint32_t next = find(m, at);
			struct mt_map *there =
				next < m->pieces.count ? &m->pieces.items[next] : NULL;
			uint64_t after = there && there->address <= at ? end_of(there) : 0;
			uint64_t to = there && there->address < end ? there->address : end;

			if (after) {
				at = after;
				continue;
			}
			struct mt_map share = part(piece, at, to);

			put_back(m, &share);
			at = to;
		}
	}
}

void mt_maps_add_list(struct mt_maps *m, const struct mt_map_list *list)
{
	struct mt_map_list there = {0};
	uint64_t from, to;
	uint32_t at;

	if (!list->count)
		return;
	from = list->items[0].address;
	to = end_of(&list->items[list->count - 1]);
	mt_maps_remove(m, from, to - from, &there);
	at = find(m, from);
	insert(m, at, list->items, list->count); /* at once: there may be many */
	for (uint32_t i = 0; i < list->count; i++)
		account(m, &list->items[i], true);
	join(m, at + list->count - 1);
	if (at)
		join(m, at - 1);
	mt_maps_restore(m, &there); /* between them */
	free(there.items);
}
