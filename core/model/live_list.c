#include "core/model/live_list.h"
#include "core/model/profile.h"
#include "core/trace/varint.h"

#include <stdlib.h>

#define TIME_US_MAX ((1ull << 62) / 1000)

/* X(column): one after another, so that neighbours are alike */
#define COLUMNS(X) \
	X(number) \
	X(size) \
	X(key) \
	X(group) \
	X(thread) \
	X(usable)
enum {
#define X(name) +1
	COLUMN_COUNT = 0 COLUMNS(X),
#undef X
};

void mt_live_list_free(struct mt_live_list *l)
{
	free(l->blocks);
	free(l->restores);
	*l = (struct mt_live_list){0};
}

/* Multiples of 16, which addresses are, become small. */
static uint64_t turn_right(uint64_t code)
{
	return code >> 5 | code << 59;
}

static uint64_t turn_left(uint64_t code)
{
	return code << 5 | code >> 59;
}

static int by_number(const void *a, const void *b)
{
	const struct mt_live_list_block *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static bool has(const struct mt_live_list *l, uint64_t number)
{
	const struct mt_live_list_block key = {.number = number};

	return l->count && bsearch(&key, l->blocks, l->count, sizeof key, by_number);
}

/* ---- writing --------------------------------------------------------------------------------- */

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

/* Two arrays of a part's size: a radix sort goes from one to the other. */
struct part {
	struct mt_live_list_block *blocks, *spare;
	uint32_t count;
};

static void sort_by_digit(struct part *p, unsigned shift)
{
	uint32_t places[DIGITS] = {0}, place = 0;
	struct mt_live_list_block *sorted = p->spare;

	for (uint32_t i = 0; i < p->count; i++)
		places[p->blocks[i].number >> shift & (DIGITS - 1)]++;
	for (uint32_t i = 0; i < DIGITS; i++) {
		uint32_t here = places[i];

		places[i] = place;
		place += here;
	}
	for (uint32_t i = 0; i < p->count; i++)
		sorted[places[p->blocks[i].number >> shift & (DIGITS - 1)]++] = p->blocks[i];
	p->spare = p->blocks;
	p->blocks = sorted;
}

static void sort(struct part *p)
{
	uint64_t differ = 0;

	for (uint32_t i = 1; i < p->count; i++)
		differ |= p->blocks[i].number ^ p->blocks[0].number;
	for (unsigned shift = 0; shift < 64 && differ >> shift; shift += DIGIT_BITS)
		if (differ >> shift & (DIGITS - 1))
			sort_by_digit(p, shift);
}

/* There is room. */
static inline void put(struct mt_buffer *column, uint64_t value)
{
	column->len = (size_t)(mt_varint_put(column->data + column->len, value) - column->data);
}

static void add_columns(struct mt_buffer *payload, const struct mt_live_list_block *blocks,
	uint32_t count)
{
	struct mt_live_list_block before = {0};
#define X(name) \
	struct mt_buffer name = {0}; \
	mt_buffer_reserve(&name, (size_t)count *MT_VARINT_MAX + 1);
	COLUMNS(X)
#undef X

	for (uint64_t i = 0; i < count; i++) {
		const struct mt_live_list_block *b = &blocks[i];

		put(&number, b->number - before.number);
		put(&size, b->size);
		put(&key, turn_right(mt_zigzag(b->key - before.key)));
		put(&group, b->group);
		put(&thread, mt_zigzag((uint64_t)b->thread - before.thread));
		put(&usable, b->usable);
		before = *b;
	}
	mt_varint_add(payload, count);
#define X(name) \
	mt_buffer_add(payload, name.data, name.len); \
	mt_buffer_free(&name);
	COLUMNS(X)
#undef X
}

static void add_restores(struct mt_buffer *payload, const struct mt_live_list_source *s)
{
	mt_varint_add(payload, s->restore_count);
	for (uint32_t i = 0; i < s->restore_count; i++) {
		const struct mt_live_list_restore *r = &s->restores[i];
		uint64_t released_us = r->released_ns / 1000;

		mt_varint_add(payload, r->number);
		mt_varint_add(payload, r->released_at);
		mt_varint_add(payload, released_us);
		mt_varint_add(payload, r->restored_at - r->released_at);
		mt_varint_add(payload, r->restored_ns / 1000 - released_us);
	}
}

static bool fill(struct part *p, const struct mt_live_list_source *s)
{
	uint32_t more = 1;

	for (p->count = 0; p->count < MT_LIVE_LIST_PART && more; p->count += more)
		more = s->next(s->context, p->blocks + p->count, MT_LIVE_LIST_PART - p->count);
	sort(p);
	return more;
}

int mt_live_list_write(const struct mt_live_list_source *s, struct mt_trace_writer *w,
	struct mt_err *err)
{
	struct part p = {
		.blocks = mt_resize(NULL, MT_LIVE_LIST_PART * sizeof *p.blocks),
		.spare = mt_resize(NULL, MT_LIVE_LIST_PART * sizeof *p.blocks),
	};
	uint64_t parts = 0, blocks = 0;
	bool more = true;
	int error = 0;

	while (more && !error) {
		struct mt_buffer payload = {0};

		more = fill(&p, s);
		blocks += p.count;
		mt_varint_add(&payload, parts++);
		mt_varint_add(&payload, !more);
		add_columns(&payload, p.blocks, p.count);
		if (!more) {
			mt_varint_add(&payload, blocks);
			mt_varint_add(&payload, s->next_number);
			mt_varint_add(&payload,
				mt_trace_writer_events(s->events ? s->events : w, 0));
			add_restores(&payload, s);
		}
		error = mt_trace_writer_block(w, MT_BLOCK_LIVE_BLOCKS, payload.data, payload.len,
			err);
		mt_buffer_free(&payload);
	}
	free(p.blocks);
	free(p.spare);
	return error;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct mt_live_list *to;
	struct mt_trace_reader *reader;
	struct mt_trace_reader *list; /* the same, unless the list is in a file of its own */
	const struct mt_profile *profile;
	bool (*wanted)(void *context, const struct mt_live_list_block *);
	void *context;
	uint64_t event_blocks;
	struct mt_trace_running end; /* of the last of these */
	uint64_t seen, bytes, most_number;
	bool last, unsorted;
	struct mt_live_list_block *blocks; /* of a part */
};

static void read_columns(const struct reading *r, struct mt_cursor *in, uint64_t count)
{
	const struct mt_profile *p = r->profile;
	struct mt_live_list_block *b = r->blocks, before = {0};

	for (uint64_t i = 0; i < count; i++)
		b[i].number = before.number += mt_cursor_varint(in);
	for (uint64_t i = 0; i < count; i++)
		b[i].size = mt_cursor_varint(in);
	for (uint64_t i = 0; i < count; i++)
		b[i].key = before.key += mt_unzigzag(turn_left(mt_cursor_varint(in)));
	for (uint64_t i = 0; i < count; i++)
		b[i].group =
			(uint32_t)mt_cursor_bounded(in, p->group_count ? p->group_count - 1 : 0);
	for (uint64_t i = 0; i < count; i++) {
		before.thread += (uint32_t)mt_unzigzag(mt_cursor_varint(in));
		if (before.thread >= p->thread_count)
			before.thread = (uint32_t)mt_cursor_fail(in);
		b[i].thread = before.thread;
	}
	for (uint64_t i = 0; i < count; i++)
		b[i].usable = mt_cursor_varint(in);
}

/* Parts are sorted; all of them together are not. False: a part is not. */
static bool take_blocks(struct reading *r, uint64_t count)
{
	struct mt_live_list *l = r->to;

	for (uint64_t i = 0; i < count; i++) {
		const struct mt_live_list_block *b = &r->blocks[i];

		if (i && b->number <= b[-1].number)
			return false;
		if (b->number > r->most_number)
			r->most_number = b->number;
		r->seen++;
		r->bytes += b->size;
		if (r->wanted && !r->wanted(r->context, b))
			continue;
		r->unsorted |= l->count && l->blocks[l->count - 1].number >= b->number;
		MT_GROW(l->blocks, l->count, l->capacity);
		l->blocks[l->count++] = *b;
	}
	return true;
}

static void read_restores(struct reading *r, struct mt_cursor *in)
{
	struct mt_live_list *l = r->to;
	uint64_t count = mt_cursor_bounded(in, MT_LIVE_LIST_RESTORES);

	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct mt_live_list_restore e = {.number = mt_cursor_varint(in)};

		e.released_at = mt_cursor_bounded(in, l->next_number);
		e.released_ns = mt_cursor_bounded(in, TIME_US_MAX) * 1000;
		e.restored_at =
			e.released_at + mt_cursor_bounded(in, l->next_number - e.released_at);
		e.restored_ns = e.released_ns
			+ mt_cursor_bounded(in, TIME_US_MAX - e.released_ns / 1000) * 1000;
		MT_GROW(l->restores, l->restore_count, l->restore_capacity);
		l->restores[l->restore_count++] = e;
	}
}

/* What the last part says of all of them. */
static bool read_rest(struct reading *r, struct mt_cursor *in)
{
	uint64_t count = mt_cursor_varint(in);

	r->to->next_number = mt_cursor_varint(in);
	bool sound = count == r->seen && mt_cursor_varint(in) == r->event_blocks
		&& (!count || r->most_number < r->to->next_number);

	if (sound)
		read_restores(r, in);
	return sound;
}

static bool read_part(struct reading *r, const struct mt_buffer *payload, uint64_t part)
{
	struct mt_cursor in = {payload->data, payload->data + payload->len, false};
	bool mine = mt_cursor_varint(&in) == part;

	r->last = mt_cursor_bounded(&in, 1);
	uint64_t count = mt_cursor_bounded(&in, mt_cursor_left(&in) / COLUMN_COUNT);

	if (!mine || in.bad || count > MT_LIVE_LIST_PART || count > r->end.live_count - r->seen)
		return false;
	read_columns(r, &in, count);
	if (in.bad || !take_blocks(r, count))
		return false;
	return (!r->last || read_rest(r, &in)) && !in.bad && in.at == in.end;
}

/* Sorts the wanted ones. False: one is there twice. */
static bool sort_wanted(const struct reading *r)
{
	struct mt_live_list *l = r->to;

	if (!r->unsorted)
		return true;
	qsort(l->blocks, l->count, sizeof *l->blocks, by_number);
	for (uint64_t i = 1; i < l->count; i++)
		if (l->blocks[i].number == l->blocks[i - 1].number)
			return false;
	return true;
}

static void keep_restores_of_wanted(struct mt_live_list *l)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->restore_count; i++)
		if (has(l, l->restores[i].number))
			l->restores[kept++] = l->restores[i];
	l->restore_count = kept;
}

/* Finds the first LIVE block that no events follow, or the first of a file of their own, and what
 * the last events say of what lives then. False: there is none, or that is not exact. */
static bool find(struct reading *r, uint32_t *at)
{
	struct mt_trace_facts *facts = mt_alloc(sizeof *facts);
	uint32_t count = mt_trace_reader_count(r->reader), found = count, last = 0;
	bool exact, beside = r->list != r->reader;

	for (uint32_t i = 0; i < count; i++) {
		enum mt_block_type type = mt_trace_reader_block(r->reader, i)->type;

		if (type == MT_BLOCK_EVENTS) {
			r->event_blocks++;
			last = i;
			found = count;
		} else if (type == MT_BLOCK_LIVE_BLOCKS && found == count) {
			found = i;
		}
	}
	exact = r->event_blocks && mt_trace_reader_facts(r->reader, last, facts) && facts->exact;
	if (exact)
		r->end = mt_trace_reader_block(r->reader, last)->running;
	free(facts);
	*at = beside ? 0 : found;
	return exact && (beside || found < count);
}

static bool read_parts(struct reading *r, uint32_t at)
{
	struct mt_buffer payload = {0};
	bool sound = true;

	for (uint64_t part = 0; sound && !r->last; part++, at++) {
		const struct mt_trace_block *b = mt_trace_reader_block(r->list, at);

		sound = b && b->type == MT_BLOCK_LIVE_BLOCKS
			&& !mt_trace_reader_payload(r->list, at, &payload, NULL)
			&& read_part(r, &payload, part);
	}
	mt_buffer_free(&payload);
	return sound && r->seen == r->end.live_count && r->bytes == r->end.live_bytes;
}

int mt_live_list_read(struct mt_live_list *l, struct mt_trace_reader *reader,
	const struct mt_profile *profile,
	bool (*wanted)(void *context, const struct mt_live_list_block *), void *context)
{
	struct reading r = {
		.to = l,
		.reader = reader,
		.list = mt_trace_reader_list(reader) ? mt_trace_reader_list(reader) : reader,
		.profile = profile,
		.wanted = wanted,
		.context = context,
	};
	uint32_t at;

	*l = (struct mt_live_list){0};
	if (!find(&r, &at))
		return 1;
	r.blocks = mt_resize(NULL, MT_LIVE_LIST_PART * sizeof *r.blocks);
	bool sound = read_parts(&r, at) && sort_wanted(&r);

	free(r.blocks);
	if (sound)
		keep_restores_of_wanted(l);
	else
		mt_live_list_free(l);
	return sound ? 0 : 1;
}
