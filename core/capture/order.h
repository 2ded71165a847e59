/* Rings by the stamps of their next events, the earliest first: a heap. */
#ifndef MT_CAPTURE_ORDER_H
#define MT_CAPTURE_ORDER_H

#include <stdint.h>

struct mt_order {
	struct mt_order_entry {
		uint64_t time; /* may be too early, but for the first */
		uint32_t ring;
	} * entries;
	uint32_t count;
};

/* Brings the entry at a place to where it belongs below it. */
static inline void mt_order_sift(struct mt_order *o, uint32_t at)
{
	struct mt_order_entry entry = o->entries[at];

	for (uint32_t child; (child = 2 * at + 1) < o->count; at = child) {
		child +=
			child + 1 < o->count && o->entries[child + 1].time < o->entries[child].time;
		if (o->entries[child].time >= entry.time)
			break;
		o->entries[at] = o->entries[child];
	}
	o->entries[at] = entry;
}

/* There is room; mt_order_arrange comes before anything else. */
static inline void mt_order_add(struct mt_order *o, uint32_t ring, uint64_t time)
{
	o->entries[o->count++] = (struct mt_order_entry){time, ring};
}

static inline void mt_order_arrange(struct mt_order *o)
{
	for (uint32_t i = o->count / 2; i-- > 0;)
		mt_order_sift(o, i);
}

/* The first one's next event is not before a time. Two rings, the most common case where several
 * threads allocate, take a third of the instructions apart from the heap. */
static inline void mt_order_delay(struct mt_order *o, uint64_t time)
{
	struct mt_order_entry *first = o->entries, entry = *first;

	first->time = time;
	if (o->count > 2) {
		mt_order_sift(o, 0);
	} else if (o->count == 2 && first[1].time < time) {
		first[0] = first[1];
		first[1] = (struct mt_order_entry){time, entry.ring};
	}
}

static inline void mt_order_drop(struct mt_order *o)
{
	o->entries[0] = o->entries[--o->count];
	if (o->count)
		mt_order_sift(o, 0);
}

/* What the others have next is not before this; or bound. */
static inline uint64_t mt_order_second(const struct mt_order *o, uint64_t bound)
{
	if (o->count > 1 && o->entries[1].time < bound)
		bound = o->entries[1].time;
	if (o->count > 2 && o->entries[2].time < bound)
		bound = o->entries[2].time;
	return bound;
}

#endif
