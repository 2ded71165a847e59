/* The store of resolved pcs and its form in a trace's symbol block:
 *   u32 version, strings, text bytes, frames, pcs
 *   u32 suppressions: a string; u32 embedded: 0 the program has no __lsan_default_suppressions, 1
 *   that is what it
 *       returns, 2 it could not be read (version 1 has neither)
 *   text: the strings of ids 1…, each NUL-terminated
 *   frames: function, raw_function, source, line as u32 each, in the order of pcs
 *   pcs: u32 number of frames; u32 bytes from the beginning of the function that is not inlined,
 *       plus 1, or 0: not known (version 3; versions 1 and 2 do not have it)
 * All little-endian. That a frame is inlined follows from its place: all but the last of a pc
 * are. */
#include "core/symbol/symbol.h"

#include "core/symbol/internal.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_VERSION 3u
#define HEADER_LEN 28u
#define HEADER_LEN_1 20u
#define FRAME_LEN 16u
#define PC_LEN 8u
#define PC_LEN_2 4u

void mt_symbols_init(struct mt_symbols *s)
{
	*s = (struct mt_symbols){.lineage = mt_unique()};
	mt_strings_init(&s->strings);
}

void mt_symbols_free(struct mt_symbols *s)
{
	mt_strings_free(&s->strings);
	free(s->frames);
	free(s->pcs);
	free(s->judged);
	memset(s, 0, sizeof *s);
}

void mt_symbols_add_frame(struct mt_symbols *s, const struct mt_frame *frame)
{
	MT_GROW(s->frames, s->frame_count, s->frame_capacity);
	s->frames[s->frame_count++] = *frame;
}

void mt_symbols_set(struct mt_symbols *s, uint32_t pc, uint32_t first)
{
	for (uint32_t i = first; i < s->frame_count; i++)
		s->frames[i].inlined = i + 1 < s->frame_count;
	while (s->pc_count <= pc) {
		MT_GROW(s->pcs, s->pc_count, s->pc_capacity);
		s->pcs[s->pc_count++] = (struct mt_pc_symbols){0, 0, 0};
	}
	s->pcs[pc] = (struct mt_pc_symbols){first, s->frame_count - first, 0};
	s->generation++;
}

void mt_symbols_set_offset(struct mt_symbols *s, uint32_t pc, uint32_t offset)
{
	s->pcs[pc].offset = offset;
}

static uint32_t copy_string(struct mt_symbols *to, const struct mt_symbols *from, uint32_t id)
{
	return id ? mt_strings_add(&to->strings, mt_strings_get(&from->strings, id)) : 0;
}

void mt_symbols_copy_pc(struct mt_symbols *to, uint32_t to_pc, const struct mt_symbols *from,
	uint32_t from_pc)
{
	struct mt_pc_symbols place = from->pcs[from_pc];
	uint32_t first = to->frame_count;

	for (uint32_t i = 0; i < place.count; i++) {
		struct mt_frame frame = from->frames[place.first + i];
		uint32_t function = copy_string(to, from, frame.function);

		frame.raw_function = frame.raw_function == frame.function
			? function
			: copy_string(to, from, frame.raw_function);
		frame.function = function;
		frame.source = copy_string(to, from, frame.source);
		mt_symbols_add_frame(to, &frame);
	}
	mt_symbols_set(to, to_pc, first);
	mt_symbols_set_offset(to, to_pc, place.offset);
}

/* ---- block ---- */

static void put(struct mt_buffer *out, uint32_t value)
{
	value = htole32(value);
	mt_buffer_add(out, &value, sizeof value);
}

static uint32_t get(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return le32toh(value);
}

void mt_symbols_encode(const struct mt_symbols *s, struct mt_buffer *out)
{
	uint32_t frames = 0;
	size_t text_at, header = out->len;

	for (uint32_t i = 0; i < s->pc_count; i++)
		frames += s->pcs[i].count;
	put(out, BLOCK_VERSION);
	put(out, s->strings.count ? s->strings.count : 1);
	put(out, 0);
	put(out, frames);
	put(out, s->pc_count);
	put(out, s->suppressions);
	put(out, s->embedded);
	text_at = out->len;
	for (uint32_t i = 1; i < s->strings.count; i++) {
		const char *text = mt_strings_get(&s->strings, i);

		mt_buffer_add(out, text, strlen(text) + 1);
	}
	uint32_t text_len = htole32((uint32_t)(out->len - text_at));
	memcpy(out->data + header + 8, &text_len, sizeof text_len);
	for (uint32_t i = 0; i < s->pc_count; i++) {
		for (uint32_t k = 0; k < s->pcs[i].count; k++) {
			const struct mt_frame *frame = &s->frames[s->pcs[i].first + k];

			put(out, frame->function);
			put(out, frame->raw_function);
			put(out, frame->source);
			put(out, frame->line);
		}
	}
	for (uint32_t i = 0; i < s->pc_count; i++) {
		put(out, s->pcs[i].count);
		put(out, s->pcs[i].offset);
	}
}

struct block {
	uint32_t strings, text_len, frames, pcs, pc_len, suppressions, embedded;
	const uint8_t *text, *frame, *pc;
	uint32_t *id; /* string of the block -> string of the store: a block may hold one twice */
};

static int read_header(struct block *b, const uint8_t *data, size_t len, struct mt_err *err)
{
	uint32_t header = len >= 4 && get(data) == 1 ? HEADER_LEN_1 : HEADER_LEN;

	if (len < header)
		return mt_fail(err, -EINVAL, "The symbol block ends within its header (%zu bytes)",
			len);
	if (!get(data) || get(data) > BLOCK_VERSION)
		return mt_fail(err, -EINVAL,
			"The symbol block has version %u; this memtui reads versions 1 to %u",
			get(data), BLOCK_VERSION);
	b->pc_len = get(data) < BLOCK_VERSION ? PC_LEN_2 : PC_LEN;
	b->strings = get(data + 4);
	b->text_len = get(data + 8);
	b->frames = get(data + 12);
	b->pcs = get(data + 16);
	b->suppressions = header == HEADER_LEN ? get(data + 20) : 0;
	b->embedded = header == HEADER_LEN ? get(data + 24) : MT_EMBEDDED_NONE;
	if (header + b->text_len + (uint64_t)b->frames * FRAME_LEN + (uint64_t)b->pcs * b->pc_len
		!= len)
		return mt_fail(err, -EINVAL,
			"The symbol block has %zu bytes, which contradicts its header", len);
	b->text = data + header;
	b->frame = b->text + b->text_len;
	b->pc = b->frame + (size_t)b->frames * FRAME_LEN;
	if (b->strings < 1 || b->strings - 1 > b->text_len)
		return mt_fail(err, -EINVAL, "The symbol block claims %u strings in %u bytes",
			b->strings, b->text_len);
	if (b->suppressions >= b->strings || b->embedded > MT_EMBEDDED_UNREADABLE)
		return mt_fail(err, -EINVAL,
			"The suppressions of the symbol block refer to an undefined string");
	return 0;
}

static int read_strings(struct block *b, struct mt_symbols *s, struct mt_err *err)
{
	const uint8_t *at = b->text, *end = b->text + b->text_len;

	b->id = mt_alloc((size_t)b->strings * sizeof *b->id);
	for (uint32_t i = 1; i < b->strings; i++) {
		const uint8_t *nul = memchr(at, 0, (size_t)(end - at));

		if (!nul)
			return mt_fail(err, -EINVAL, "String %u of the symbol block has no end", i);
		b->id[i] = mt_strings_add_len(&s->strings, (const char *)at, (size_t)(nul - at));
		at = nul + 1;
	}
	if (at != end)
		return mt_fail(err, -EINVAL, "The symbol block has text beyond its last string");
	return 0;
}

static int read_frames(struct block *b, struct mt_symbols *s, struct mt_err *err)
{
	for (uint32_t i = 0; i < b->frames; i++) {
		const uint8_t *at = b->frame + (size_t)i * FRAME_LEN;
		uint32_t function = get(at), raw = get(at + 4), source = get(at + 8);

		if (function >= b->strings || raw >= b->strings || source >= b->strings)
			return mt_fail(err, -EINVAL,
				"Frame %u of the symbol block refers to an undefined string", i);
		if (!b->id[function])
			return mt_fail(err, -EINVAL, "Frame %u of the symbol block has no function",
				i);
		mt_symbols_add_frame(s,
			&(struct mt_frame){b->id[function], b->id[raw], b->id[source], get(at + 12),
				0});
	}
	return 0;
}

static int read_pcs(struct block *b, struct mt_symbols *s, struct mt_err *err)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < b->pcs; i++) {
		const uint8_t *at = b->pc + (size_t)i * b->pc_len;
		uint32_t count = get(at), offset = b->pc_len == PC_LEN ? get(at + 4) : 0;

		if (count > b->frames - first)
			return mt_fail(err, -EINVAL,
				"Address %u of the symbol block claims frames beyond the last", i);
		MT_GROW(s->pcs, s->pc_count, s->pc_capacity);
		s->pcs[s->pc_count++] = (struct mt_pc_symbols){count ? first : 0, count, offset};
		for (uint32_t k = 0; k + 1 < count; k++)
			s->frames[first + k].inlined = 1;
		first += count;
	}
	if (first != b->frames)
		return mt_fail(err, -EINVAL,
			"The symbol block has frames that belong to no address");
	return 0;
}

int mt_symbols_decode(struct mt_symbols *s, const void *payload, size_t len, struct mt_err *err)
{
	struct block b = {0};
	uint64_t generation = s->generation;
	int status;

	mt_symbols_free(s);
	mt_symbols_init(s);
	status = read_header(&b, payload, len, err);
	if (!status)
		status = read_strings(&b, s, err);
	if (!status)
		status = read_frames(&b, s, err);
	if (!status)
		status = read_pcs(&b, s, err);
	if (!status) {
		s->suppressions = b.id[b.suppressions];
		s->embedded = b.embedded;
	}
	free(b.id);
	if (status) {
		mt_symbols_free(s);
		mt_symbols_init(s);
	}
	s->generation = generation + 1;
	return status;
}
