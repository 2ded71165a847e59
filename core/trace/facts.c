#include "core/trace/facts.h"

#include <stdlib.h>

enum field { FIELD_FIRST = 1, FIELD_HIGH, FIELD_THREADS, FIELD_EARLIER };

#define FIRST_SHIFT 14
#define WORDS (MT_SPAN_GRANULES / 64)

/* ---- fields ---- */

static void add_field(struct mt_buffer *b, enum field id, struct mt_buffer *content)
{
	mt_varint_add(b, id);
	mt_varint_add(b, content->len);
	if (content->len)
		mt_buffer_add(b, content->data, content->len);
	content->len = 0;
}

static void add_threads(struct mt_buffer *content, const struct mt_trace_sums *sums)
{
	uint32_t next = 0;

	mt_varint_add(content, sums->thread_count);
	for (uint32_t i = 0; i < sums->thread_count; i++) {
		mt_varint_add(content, sums->threads[i].thread - next);
		mt_varint_add(content, sums->threads[i].allocations);
		next = sums->threads[i].thread + 1;
	}
}

void mt_facts_add(struct mt_buffer *b, uint64_t first_number, bool continued,
	const struct mt_trace_sums *sums, const struct mt_trace_span *earlier, uint32_t count)
{
	struct mt_buffer content = {0};
	uint64_t last = 0;

	mt_varint_add(&content, first_number);
	mt_varint_add(&content, continued);
	add_field(b, FIELD_FIRST, &content);
	if (sums) {
		mt_varint_add(&content, sums->high_bytes);
		add_field(b, FIELD_HIGH, &content);
		if (sums->thread_count <= MT_TRACE_THREADS) {
			add_threads(&content, sums);
			add_field(b, FIELD_THREADS, &content);
		}
	}
	mt_varint_add(&content, count);
	for (uint32_t i = 0; i < count; i++) {
		mt_varint_add(&content, earlier[i].first - last);
		mt_varint_add(&content, earlier[i].last - earlier[i].first);
		last = earlier[i].last;
	}
	add_field(b, FIELD_EARLIER, &content);
	mt_buffer_free(&content);
}

static void get_threads(struct mt_cursor *c, struct mt_trace_facts *f)
{
	uint64_t next = 0;

	f->thread_count = (uint32_t)mt_cursor_bounded(c, MT_TRACE_THREADS);
	for (uint32_t i = 0; i < f->thread_count; i++) {
		uint64_t thread = next + mt_cursor_bounded(c, UINT32_MAX);

		if (thread >= UINT32_MAX)
			mt_cursor_fail(c);
		f->threads[i].thread = (uint32_t)thread;
		f->threads[i].allocations = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
		next = thread + 1;
	}
	f->knows_threads = true;
}

static void get_earlier(struct mt_cursor *c, struct mt_trace_facts *f)
{
	uint64_t last = 0;

	f->span_count = (uint32_t)mt_cursor_bounded(c, MT_TRACE_SPANS);
	for (uint32_t i = 0; i < f->span_count; i++) {
		struct mt_trace_span *s = &f->earlier[i];

		s->first = last + mt_cursor_bounded(c, UINT64_MAX - last);
		s->last = s->first + mt_cursor_bounded(c, UINT64_MAX - s->first);
		last = s->last;
	}
	f->knows_earlier = true;
}

bool mt_facts_read(struct mt_trace_facts *f, const uint8_t *bytes, size_t len)
{
	struct mt_cursor all = {bytes, bytes + len, false};
	bool has_first = false;

	f->continued = f->exact = f->knows_threads = f->knows_earlier = false;
	f->thread_count = f->span_count = 0;
	while (mt_cursor_left(&all) && !all.bad) {
		uint64_t id = mt_cursor_varint(&all), size = mt_cursor_varint(&all);
		const uint8_t *content = mt_cursor_bytes(&all, size);
		struct mt_cursor c = {content, content ? content + size : NULL, !content};

		if (id == FIELD_FIRST) {
			f->first_number = mt_cursor_varint(&c);
			f->continued = mt_cursor_bounded(&c, 1);
			has_first = true;
		} else if (id == FIELD_HIGH) {
			f->high_bytes = mt_cursor_varint(&c);
			f->exact = true;
		} else if (id == FIELD_THREADS) {
			get_threads(&c, f);
		} else if (id == FIELD_EARLIER) {
			get_earlier(&c, f);
		}
		all.bad |= c.bad;
	}
	return has_first && !all.bad;
}

/* ---- sets of numbers ---- */

static bool has(const struct mt_span_set *s, uint32_t granule)
{
	return s->bits[granule / 64] >> (granule & 63) & 1;
}

/* Two granules become one. */
static void coarsen(struct mt_span_set *s)
{
	for (uint32_t i = 0; i < MT_SPAN_GRANULES; i++) {
		bool set = i < MT_SPAN_GRANULES / 2 && (has(s, 2 * i) || has(s, 2 * i + 1));

		s->bits[i / 64] &= ~(1ull << (i & 63));
		s->bits[i / 64] |= (uint64_t)set << (i & 63);
	}
	s->shift++;
}

/* The number gets a place. */
void mt_span_set_widen(struct mt_span_set *s, uint64_t number)
{
	if (!s->bits) {
		s->bits = mt_alloc(WORDS * sizeof *s->bits);
		s->shift = FIRST_SHIFT;
	}
	while (number >> s->shift >= MT_SPAN_GRANULES)
		coarsen(s);
	s->end = (uint64_t)MT_SPAN_GRANULES << s->shift;
	if (s->end >> s->shift != MT_SPAN_GRANULES)
		s->end = UINT64_MAX;
}

/* The first granule from `from` on that is in the set, or that is not; MT_SPAN_GRANULES: none. */
static uint32_t next(const struct mt_span_set *s, uint32_t from, bool set)
{
	uint32_t word = from / 64;

	if (from >= MT_SPAN_GRANULES)
		return MT_SPAN_GRANULES;
	uint64_t bits = (set ? s->bits[word] : ~s->bits[word]) & ~0ull << (from & 63);

	while (!bits && ++word < WORDS)
		bits = set ? s->bits[word] : ~s->bits[word];
	return bits ? word * 64 + (uint32_t)__builtin_ctzll(bits) : MT_SPAN_GRANULES;
}

/* Spans with more than `gap` granules between two of them; more than MT_TRACE_SPANS: too many. */
static uint32_t find_spans(const struct mt_span_set *s, uint32_t gap, struct mt_trace_span *spans)
{
	uint32_t count = 0;

	for (uint32_t at = next(s, 0, true), end = 0; at < MT_SPAN_GRANULES;
		at = next(s, end, true)) {
		bool joins = count && at - end <= gap;

		if (!joins && count == MT_TRACE_SPANS)
			return count + 1;
		end = next(s, at, false);
		if (!joins)
			spans[count++].first = (uint64_t)at << s->shift;
		spans[count - 1].last = ((uint64_t)end << s->shift) - 1;
	}
	return count;
}

uint32_t mt_span_set_take(struct mt_span_set *s, uint64_t end, struct mt_trace_span *spans)
{
	uint32_t gap = 0, count;

	if (!s->bits)
		return 0;
	while ((count = find_spans(s, gap, spans)) > MT_TRACE_SPANS)
		gap = 2 * gap + 1;
	if (count && spans[count - 1].last >= end)
		spans[count - 1].last = end - 1;
	memset(s->bits, 0, WORDS * sizeof *s->bits);
	return count;
}

void mt_span_set_free(struct mt_span_set *s)
{
	free(s->bits);
	*s = (struct mt_span_set){0};
}
