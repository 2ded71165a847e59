/* What the extension of an event block's header says of its events, so that a reader can do without
 * them. doc/trace-format.md, "Block". */
#ifndef MT_TRACE_FACTS_H
#define MT_TRACE_FACTS_H

#include "core/trace/trace.h"
#include "core/trace/varint.h"

/* Writing: the fields, without their check. sums: NULL if what they say is not known. */
void mt_facts_add(struct mt_buffer *, uint64_t first_number, bool continued,
	const struct mt_trace_sums *, const struct mt_trace_span *earlier, uint32_t count);
/* Reading fields that nobody vouches for; false: they make no sense. */
bool mt_facts_read(struct mt_trace_facts *, const uint8_t *bytes, size_t len);

/* ---- numbers that a block names and did not allocate ---- */

#define MT_SPAN_GRANULES (1u << 14)

/* Numbers as a set of granules, which grow so that all have a place. Zero-initialise. */
struct mt_span_set {
	uint64_t *bits; /* NULL: not begun */
	uint64_t end;   /* behind the last number that has a place */
	unsigned shift; /* numbers of a granule, as a power of two */
};
void mt_span_set_widen(struct mt_span_set *, uint64_t number);
/* In programs whose blocks live long, a third of all events come here. */
static inline void mt_span_set_add(struct mt_span_set *s, uint64_t number)
{
	if (__builtin_expect(number >= s->end, 0))
		mt_span_set_widen(s, number);
	s->bits[number >> s->shift >> 6] |= 1ull << (number >> s->shift & 63);
}
/* Fills in at most MT_TRACE_SPANS, none beyond `end`, and empties the set; returns how many. */
uint32_t mt_span_set_take(struct mt_span_set *, uint64_t end, struct mt_trace_span *);
void mt_span_set_free(struct mt_span_set *);

#endif
