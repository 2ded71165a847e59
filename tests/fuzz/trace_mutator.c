/* Inputs of trace_fuzz.c made of others: numbers, streams, fields and blocks are changed, put in,
 * taken out and moved, and the lengths around them are made right, so that a decoder sees numbers
 * in the places where it looks for them. Flipped bytes alone hardly get behind the lengths. */
#include "core/base/buffer.h"
#include "core/trace/columns.h"
#include "core/trace/trace.h"
#include "core/trace/varint.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/trace_input.h"

#include <stdlib.h>

#define BLOCKS 256u
#define EXTENDED_MOST 4088u /* bytes, with room for their check */

static uint64_t state;

static uint64_t below(uint64_t bound)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 11) % bound;
}

/* ---- numbers in bytes ---- */

/* Values at the bounds that readers check, or near the one that was there. */
static uint64_t strange_number(uint64_t before)
{
	static const uint64_t bounds[] = {0, 1, 63, 64, 127, 128, 255, 4095, 4096, 65535, 65536,
		262144, 262145, UINT32_MAX, 1ull << 32, 1ull << 47, 1ull << 62, INT64_MAX,
		UINT64_MAX};

	switch (below(6)) {
	case 0: return bounds[below(sizeof bounds / sizeof *bounds)];
	case 1: return before + 1 + below(3);
	case 2: return before - 1 - below(3);
	case 3: return before ^ 1ull << below(64);
	case 4: return below(40);
	default: return below(1ull << below(64));
	}
}

/* Puts bytes in the place of `gone` bytes. */
static void splice(struct mt_buffer *b, size_t at, size_t gone, const uint8_t *bytes, size_t len)
{
	struct mt_buffer changed = {0};

	mt_buffer_reserve(&changed, b->len + len + 1);
	mt_buffer_add(&changed, b->data, at);
	if (len)
		mt_buffer_add(&changed, bytes, len);
	mt_buffer_add(&changed, b->data + at + gone, b->len - at - gone);
	mt_buffer_free(b);
	*b = changed;
}

/* Where a number begins, by the byte before it. */
static size_t number_at(const struct mt_buffer *b)
{
	size_t at = b->len ? below(b->len) : 0;

	while (at && at < b->len && b->data[at - 1] & 0x80)
		at++;
	return at;
}

static void replace_number(struct mt_buffer *b, size_t at, uint64_t value)
{
	struct mt_cursor c = {b->data + at, b->data + b->len, false};
	uint8_t bytes[MT_VARINT_MAX];

	mt_cursor_varint(&c);
	splice(b, at, (size_t)(c.at - (b->data + at)), bytes,
		(size_t)(mt_varint_put(bytes, value) - bytes));
}

/* More of the same than a table in the reader may have room for. How many there are is often the
 * first or the second number. */
static void repeat(struct mt_buffer *b, size_t at)
{
	size_t len = 1 + below(4), times = 1 + below(600), count_at = below(2);
	struct mt_buffer runs = {0};

	if (b->len - at < len)
		return;
	for (size_t i = 0; i < times; i++)
		mt_buffer_add(&runs, b->data + at, len);
	splice(b, at, 0, runs.data, runs.len);
	if (below(2))
		replace_number(b, count_at, times);
	mt_buffer_free(&runs);
}

static void change_numbers(struct mt_buffer *b)
{
	size_t at = number_at(b), from = number_at(b);
	struct mt_cursor c = {b->data + at, b->data + b->len, false};
	struct mt_cursor other = {b->data + from, b->data + b->len, false};
	uint64_t value = mt_cursor_varint(&c), copied = mt_cursor_varint(&other);
	uint8_t bytes[MT_VARINT_MAX];

	switch (below(16)) {
	case 0: splice(b, at, (size_t)(c.at - (b->data + at)), NULL, 0); break;
	case 1:
	case 2:
		splice(b, at, 0, bytes,
			(size_t)(mt_varint_put(bytes, strange_number(value)) - bytes));
		break;
	case 3: replace_number(b, at, copied); break;
	case 4: repeat(b, at); break;
	case 5: b->len = below(2) ? b->len : at; break;
	default: replace_number(b, at, strange_number(value));
	}
}

static void change_bytes(struct mt_buffer *b)
{
	if (b->len)
		b->data[below(b->len)] = (uint8_t)below(256);
}

/* ---- parts that have ids and lengths: streams of events, fields of extensions ---- */

struct part {
	uint64_t id;
	struct mt_buffer bytes;
};

struct parts {
	unsigned count;
	struct part at[MT_STREAMS_MAX];
};

static void free_parts(struct parts *p)
{
	for (unsigned i = 0; i < p->count; i++)
		mt_buffer_free(&p->at[i].bytes);
}

static void change_id(struct parts *p, unsigned i)
{
	p->at[i].id = below(2) ? strange_number(p->at[i].id) : 2 * below(16) + below(2);
}

/* One more, with some numbers, in front of another one. */
static void insert_part(struct parts *p)
{
	unsigned at = (unsigned)below(p->count + 1);

	if (p->count == MT_STREAMS_MAX)
		return;
	memmove(p->at + at + 1, p->at + at, (p->count - at) * sizeof *p->at);
	p->count++;
	p->at[at] = (struct part){.id = at ? p->at[at - 1].id + 1 + below(3) : below(4)};
	for (uint64_t n = below(6); n-- > 0;)
		mt_varint_add(&p->at[at].bytes, strange_number(2));
}

static void remove_part(struct parts *p, unsigned i)
{
	mt_buffer_free(&p->at[i].bytes);
	p->count--;
	memmove(p->at + i, p->at + i + 1, (p->count - i) * sizeof *p->at);
}

static void change_part(struct parts *p)
{
	unsigned i = p->count ? (unsigned)below(p->count) : 0;

	if (!p->count || !below(12)) {
		insert_part(p);
		return;
	}
	switch (below(12)) {
	case 0: change_id(p, i); break;
	case 1: remove_part(p, i); break;
	case 2: change_bytes(&p->at[i].bytes); break;
	default: change_numbers(&p->at[i].bytes);
	}
}

/* ---- event blocks ---- */

struct events {
	uint64_t first, base;
	bool positional; /* versions before 8: streams have places, not ids */
	struct parts streams;
};

static bool read_streams(struct events *e, const struct mt_buffer *payload)
{
	struct mt_cursor c = {payload->data, payload->data + payload->len, false};
	uint64_t lengths[MT_STREAMS_MAX];

	e->first = mt_cursor_varint(&c);
	e->base = mt_cursor_varint(&c);
	unsigned count = (unsigned)mt_cursor_bounded(&c, MT_STREAMS_MAX);

	for (unsigned i = 0; i < count; i++) {
		e->streams.at[i] =
			(struct part){.id = e->positional ? 2 * i : mt_cursor_varint(&c)};
		lengths[i] = mt_cursor_varint(&c);
	}
	for (unsigned i = 0; i < count; i++, e->streams.count++) {
		const uint8_t *bytes = mt_cursor_bytes(&c, lengths[i]);

		if (!bytes)
			return false;
		if (lengths[i])
			mt_buffer_add(&e->streams.at[i].bytes, bytes, lengths[i]);
	}
	return !c.bad;
}

static void write_streams(const struct events *e, struct mt_buffer *payload)
{
	payload->len = 0;
	mt_varint_add(payload, e->first);
	mt_varint_add(payload, e->base);
	mt_varint_add(payload, below(64) ? e->streams.count : strange_number(e->streams.count));
	for (unsigned i = 0; i < e->streams.count; i++) {
		if (!e->positional)
			mt_varint_add(payload, e->streams.at[i].id);
		mt_varint_add(payload, e->streams.at[i].bytes.len);
	}
	for (unsigned i = 0; i < e->streams.count; i++)
		if (e->streams.at[i].bytes.len)
			mt_buffer_add(payload, e->streams.at[i].bytes.data,
				e->streams.at[i].bytes.len);
}

/* A head byte says what an event is and which streams have an entry for it. */
static void change_head(struct mt_buffer *heads)
{
	uint8_t head = (uint8_t)below(256);
	size_t at = heads->len ? below(heads->len) : 0;

	switch (heads->len ? below(4) : 0) {
	case 0: splice(heads, at, 0, &head, 1); break;
	case 1: splice(heads, at, 1, &head, 0); break;
	case 2: heads->data[at] = head; break;
	default: heads->data[at] ^= (uint8_t)(1u << below(8));
	}
}

/* Returns how many heads there are. */
static uint16_t change_events(struct mt_buffer *payload, bool positional, uint16_t count)
{
	struct events e = {.positional = positional};

	if (!read_streams(&e, payload) || !e.streams.count) {
		change_numbers(payload);
		free_parts(&e.streams);
		return count;
	}
	switch (below(8)) {
	case 0: e.first = strange_number(e.first); break;
	case 1: e.base = strange_number(e.base); break;
	case 2:
	case 3: change_head(&e.streams.at[0].bytes); break;
	default: change_part(&e.streams);
	}
	write_streams(&e, payload);
	if (e.streams.count && e.streams.at[0].id >> 1 == MT_COLUMN_HEAD && below(16))
		count = (uint16_t)e.streams.at[0].bytes.len;
	free_parts(&e.streams);
	return count;
}

/* ---- extensions ---- */

static void change_extension(struct mt_buffer *extension)
{
	struct mt_cursor c = {extension->data, extension->data + extension->len, false};
	struct parts fields = {0};

	while (mt_cursor_left(&c) && fields.count < MT_STREAMS_MAX) {
		struct part *f = &fields.at[fields.count++];
		uint64_t id = mt_cursor_varint(&c), len = mt_cursor_varint(&c);
		const uint8_t *bytes = mt_cursor_bytes(&c, len);

		*f = (struct part){.id = id};
		if (bytes && len)
			mt_buffer_add(&f->bytes, bytes, len);
	}
	change_part(&fields);
	extension->len = 0;
	for (unsigned i = 0; i < fields.count; i++) {
		mt_varint_add(extension, fields.at[i].id);
		mt_varint_add(extension, fields.at[i].bytes.len);
		if (fields.at[i].bytes.len)
			mt_buffer_add(extension, fields.at[i].bytes.data, fields.at[i].bytes.len);
	}
	free_parts(&fields);
}

/* ---- blocks ---- */

static void change_told(uint8_t *told)
{
	uint64_t at = below(INPUT_TOLD_LEN / 8), value;

	memcpy(&value, told + 8 * at, 8);
	value = strange_number(value);
	memcpy(told + 8 * at, &value, 8);
}

static void change_block(struct input_block *b, bool positional)
{
	struct mt_buffer payload = {0}, extension = {0};

	mt_buffer_add(&payload, b->payload, b->len);
	mt_buffer_add(&extension, b->extension, b->extended);
	switch (below(16)) {
	case 0:
		b->flags |= INPUT_TOLD;
		change_told(b->told);
		break;
	case 1: b->flags ^= (uint8_t)(1u << below(2)); break;
	case 2: b->type = (uint8_t)(below(4) ? below(MT_BLOCK_TYPES + 2) : below(256)); break;
	case 3: change_bytes(&payload); break;
	case 4:
	case 5:
	case 6: change_extension(&extension); break;
	default:
		if (b->type == MT_BLOCK_EVENTS)
			b->events = change_events(&payload, positional, b->events);
		else
			change_numbers(&payload);
	}
	b->payload = payload.data;
	b->len = payload.len;
	b->extension = extension.data;
	b->extended = extension.len;
}

static void move_blocks(struct input_block *blocks, unsigned *count)
{
	unsigned from = (unsigned)below(*count), to = (unsigned)below(*count);
	struct input_block moved = blocks[from];

	switch (below(3)) {
	case 0:
		memmove(blocks + from, blocks + from + 1, (*count - from - 1) * sizeof *blocks);
		(*count)--;
		break;
	case 1:
		if (*count == BLOCKS)
			break;
		memmove(blocks + to + 1, blocks + to, (*count - to) * sizeof *blocks);
		blocks[to] = moved;
		(*count)++;
		break;
	default: blocks[from] = blocks[to]; blocks[to] = moved;
	}
}

static void put(struct mt_buffer *out, const struct input_block *b)
{
	uint16_t extended = (uint16_t)(b->extended < EXTENDED_MOST ? b->extended : EXTENDED_MOST);
	uint16_t len = (uint16_t)(b->len < UINT16_MAX ? b->len : UINT16_MAX);
	const uint8_t head[INPUT_HEAD] = {b->type, b->flags, (uint8_t)b->events,
		(uint8_t)(b->events >> 8), (uint8_t)extended, (uint8_t)(extended >> 8),
		(uint8_t)len, (uint8_t)(len >> 8)};

	mt_buffer_add(out, head, sizeof head);
	if (b->flags & INPUT_TOLD)
		mt_buffer_add(out, b->told, sizeof b->told);
	if (extended)
		mt_buffer_add(out, b->extension, extended);
	if (len)
		mt_buffer_add(out, b->payload, len);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	static struct input_block blocks[BLOCKS];
	struct mt_buffer out = {0};
	unsigned count = 0;
	uint8_t file = size ? data[0] : 0;

	state = 0x9e3779b97f4a7c15ull ^ seed * 0x100000001b3ull;
	for (size_t at = 1, len; at < size && count < BLOCKS; at += len) {
		len = input_block(data + at, size - at, EXTENDED_MOST, &blocks[count]);
		if (!len)
			break;
		count++;
	}
	if (!below(20))
		file ^= (uint8_t)(below(2) ? 1u << (6 + below(2)) : below(6));
	if (count && !below(4))
		move_blocks(blocks, &count);
	unsigned chosen = count ? (unsigned)below(count) : BLOCKS;
	bool positional = (file & INPUT_VERSIONS) % 5 != 0;
	struct input_block *changed = chosen < count ? &blocks[chosen] : NULL;

	if (changed)
		change_block(changed, positional);
	mt_buffer_add(&out, &file, 1);
	for (unsigned i = 0; i < count; i++)
		put(&out, &blocks[i]);
	if (changed) {
		free((void *)(uintptr_t)changed->payload);
		free((void *)(uintptr_t)changed->extension);
	}
	size = out.len < most ? out.len : most;
	memcpy(data, out.data, size);
	mt_buffer_free(&out);
	return size;
}
