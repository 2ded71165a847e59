/* The segment as the recorder holds it: a sealed memfd of its final size. */
#ifndef MT_CAPTURE_SEGMENT_H
#define MT_CAPTURE_SEGMENT_H

#include "core/base/err.h"
#include "core/wire.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Robust futexes of one thread: the kernel marks every word on the list when that thread dies. */
struct mt_alive {
	struct robust_list_head head;
	pthread_mutex_t lock;
	pid_t tid;
};
/* For the calling thread, which must not use robust pthread mutexes. */
void mt_alive_init(struct mt_alive *);

struct mt_segment_options {
	uint64_t address_limit; /* RLIMIT_AS of the program, RLIM_INFINITY for none */
	uint64_t file_limit;    /* RLIMIT_FSIZE of the recorder: a memfd is a file too */
	enum mt_clock clock;
	uint32_t flags;                   /* MT_SEGMENT_* */
	uint32_t depth_limit;             /* 0: 4096 */
	uint32_t signals[MT_SIGNAL_USES]; /* numbers, by use; 0: none */
	bool paused;
	uint64_t sample_bytes, sample_seed, record_min, record_max; /* as in the header */
};

/* Segments that one thread reads in turn: while it is at one of them, threads of the others wait
 * for it, too. */
struct mt_segment_turns {
	struct mt_wire_header **headers;
	uint32_t count, capacity, next;
};

/* Ranges are the recorder's own copy: what the program writes over the header changes nothing. */
struct mt_segment {
	int fd;
	uint8_t *base;
	size_t size;
	struct mt_wire_header *header;
	struct mt_wire_range modules, threads, pcs, nodes, rings, ring_data;
	struct mt_wire_sizes sizes;
	uint32_t depth_limit;
	uint8_t *node_page; /* private page with the list node, then the page of the word */
	struct mt_alive *alive;
	struct mt_segment_turns *turns; /* NULL: it is read alone */
};

#define MT_SEGMENT_LEAST (8u << 20) /* bytes below which a program cannot be traced */

/* alive: borrowed; may be NULL in tests. */
int mt_segment_create(struct mt_segment *, const struct mt_segment_options *,
	struct mt_alive *alive, struct mt_err *err);
/* The same in a memfd that the process has made, of any size and open to seals. Takes fd. */
int mt_segment_create_in(struct mt_segment *, int fd, const struct mt_segment_options *,
	struct mt_alive *alive, struct mt_err *err);
/* Tells the tracer in order that nobody reads any more. */
void mt_segment_leave(struct mt_segment *);
void mt_segment_free(struct mt_segment *);

/* The segment takes part until it is freed. */
void mt_segment_join(struct mt_segment *, struct mt_segment_turns *borrowed);
/* A few of the others, so that all come soon. */
void mt_segment_tick_others(struct mt_segment_turns *);

/* Threads that wait for room in their rings see that the recorder goes on. */
static inline void mt_segment_tick(const struct mt_segment *s)
{
	__atomic_fetch_add(&s->header->tick, 1, __ATOMIC_RELAXED);
	if (s->turns)
		mt_segment_tick_others(s->turns);
}

/* The same, of a walk over much: at one of some 8,000 steps, a tenth of a millisecond. */
static inline void mt_segment_tick_at(const struct mt_segment *s, uint64_t step)
{
	if (__builtin_expect(step % 8192 == 0, 0))
		mt_segment_tick(s);
}

#define mt_segment_entry(segment, range, index) \
	((segment)->base + (segment)->range.offset + (uint64_t)(index) * (segment)->range.entry)

#endif
