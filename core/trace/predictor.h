/* Private to core/trace: what encoder and decoder of event columns share: the head byte, and the
 * predictions that both make alike. doc/trace-format.md. */
#ifndef MT_TRACE_PREDICTOR_H
#define MT_TRACE_PREDICTOR_H

#include "core/trace/trace.h"

#include <string.h>

/* Head byte: type, then what has an entry in its stream because the prediction failed. */
#define HEAD_TYPE 0x07u
#define HEAD_THREAD 0x08u
#define HEAD_TIME 0x10u  /* in older traces; elsewhere a stream says it */
#define HEAD_GROUP 0x20u /* allocations */
#define HEAD_SIZE 0x40u
#define HEAD_ADDRESS 0x80u
#define HEAD_MODE_SHIFT 5 /* frees: enum mode in two bits */
#define HEAD_MODE 0x60u
#define HEAD_KIND 0x80u
#define HEAD_NOTE 0x20u /* notes: enum mt_event_note */

/* How a free names its block. */
enum mode {
	MODE_DISTANCE, /* allocations since, in its stream */
	MODE_SAME,     /* as many allocations ago as for the free before */
	MODE_NEXT,     /* the block after the one freed before */
	MODE_BEFORE,   /* the block before that */
};

#define CONTEXTS 64
#define GROUPS 4096
#define SIZES 2048
#define CLASSES 1024
#define RECENT 4096
#define NOT_RECENT RECENT /* index of an entry that never matches */

struct recent {
	uint64_t address;
	uint32_t size_class;
	uint32_t below; /* the block freed before this one, into the same class */
};

/* The blocks of a class that a thread freed: malloc has a cache of them for each. */
struct size_class {
	uint64_t last_address;
	uint32_t top; /* recent block that was freed last: malloc hands it out next */
	uint32_t reserved;
};

/* What encoder and decoder both know before each event. */
struct predictor {
	uint64_t time_us, next_number, first_number;
	uint64_t last_number, last_distance, last_released;
	uint64_t unknown_address;
	uint64_t note[MT_NOTES]; /* value of the last */
	uint32_t thread, thread_before, released;
	uint16_t free_function;
	uint16_t context[CONTEXTS]; /* by thread: hash of the groups of its last allocations */
	uint32_t group[GROUPS];     /* by context */
	uint64_t size[SIZES];       /* by group */
	struct size_class class[CLASSES]; /* by size and thread */
	struct recent recent[RECENT + 1]; /* by number */
};

static inline void predictor_init(struct predictor *p, uint64_t first_number, uint64_t base_us)
{
	memset(p, 0, sizeof *p);
	for (unsigned i = 0; i < CLASSES; i++)
		p->class[i].top = NOT_RECENT;
	p->recent[NOT_RECENT].below = NOT_RECENT;
	p->recent[NOT_RECENT].address = ~0ull;
	p->released = NOT_RECENT;
	p->next_number = p->first_number = first_number;
	p->time_us = base_us;
}

/* glibc's chunks: 8 bytes of header, multiples of 16. */
static inline uint32_t size_class_of(uint64_t size)
{
	return (uint32_t)((size + 23) >> 4) & (CLASSES - 1);
}

/* Threads are spread over class, so that most have entries of their own. */
static inline uint32_t thread_spread(uint32_t thread)
{
	return thread * 0x9e3779b1u >> 8;
}

/* Index in class; spread: of the thread. */
static inline uint32_t class_of(uint32_t size_class, uint32_t spread)
{
	return (size_class ^ spread) & (CLASSES - 1);
}

static inline uint32_t context_after(uint32_t context, uint32_t group)
{
	return (context << 6 ^ group * 0x9e3779b1u) & (GROUPS - 1);
}

/* Place in recent of a block that this event block itself allocated not long ago. */
static inline uint32_t recent_slot(const struct predictor *p, uint64_t number)
{
	bool known = p->next_number - 1 - number < RECENT && number >= p->first_number;

	return known ? (uint32_t)number & (RECENT - 1) : NOT_RECENT;
}

static inline void push_freed(struct predictor *p, uint32_t slot, uint32_t thread)
{
	struct recent *r = &p->recent[slot];
	struct size_class *c = &p->class[class_of(r->size_class, thread_spread(thread))];

	if (slot == NOT_RECENT)
		return;
	r->below = c->top;
	c->top = slot;
}

/* A realloc most often stays where the block was; a plain allocation takes what was freed last. */
static inline uint32_t address_slot(const struct predictor *p, unsigned type,
	const struct size_class *c)
{
	return type == MT_EVENT_REALLOCATE && p->released != NOT_RECENT ? p->released : c->top;
}

static inline void address_learn(struct predictor *p, const struct mt_event *e, uint32_t size_class,
	bool hit)
{
	struct size_class *c = &p->class[class_of(size_class, thread_spread(e->thread))];
	struct recent *r = &p->recent[p->next_number & (RECENT - 1)];

	if (e->type == MT_EVENT_REALLOCATE) {
		if (!hit)
			push_freed(p, p->released, e->thread);
		p->released = NOT_RECENT;
	} else if (hit) {
		c->top = p->recent[c->top].below;
	}
	c->last_address = e->address;
	r->address = e->address;
	r->size_class = size_class;
	r->below = NOT_RECENT;
	p->next_number++;
}

/* After a free, release, restore or implied free of the block. Returns its place in recent. */
static inline uint32_t free_learn(struct predictor *p, const struct mt_event *e)
{
	uint32_t slot = recent_slot(p, e->number);

	p->last_distance = p->next_number - 1 - e->number;
	p->last_number = e->number;
	if (e->type == MT_EVENT_RELEASE) {
		p->last_released = e->number;
		p->released = slot;
	} else if (e->type == MT_EVENT_RESTORE) {
		p->released = NOT_RECENT;
	} else {
		push_freed(p, slot, e->thread);
	}
	return slot;
}

/* How another thread is named: 0 for the one before this one, since often two take turns; else its
 * index + 1. */
static inline uint64_t thread_code(const struct predictor *p, uint32_t thread)
{
	return thread == p->thread_before ? 0 : thread + 1ull;
}

static inline void thread_learn(struct predictor *p, uint32_t thread)
{
	p->thread_before = p->thread;
	p->thread = thread;
}

static inline bool allocates(unsigned type)
{
	return type == MT_EVENT_ALLOCATE || type == MT_EVENT_REALLOCATE;
}

#endif
