/* The engine's answers, worked out the plain way: random recordings as lists of events, what became
 * of each allocation, which of them a filter means, and what these add up to. Shares nothing with
 * core/query but its types. */
#ifndef SCAN_TRUTH_H
#define SCAN_TRUTH_H

#include "tests/unit/trace_simulation.h"

#include "core/query/filter_match.h"
#include "core/query/scan.h"

#define NONE UINT64_MAX

struct truth_block {
	struct mt_allocation a;
	uint64_t begin, end;    /* places of its events; end: NONE while it lives */
	uint64_t before, after; /* numbers in its chain, or NONE */
	uint64_t sequence;
	bool released, moved, matches;
};

struct recording {
	struct mt_profile profile; /* definitions */
	struct mt_event *events;
	uint64_t count, capacity;
	struct truth_block *blocks;
	uint64_t block_count, block_capacity;
	uint64_t random, now_ns;
	uint64_t *live; /* numbers */
	uint64_t live_count, live_capacity;
	uint64_t released[4]; /* numbers */
	uint32_t released_count;
	uint64_t group_count[8], group_ended[8]; /* allocations, and those that ended */
	uint64_t block_events;                   /* in a block of the file, about */
};

/* ---- a random recording ---- */

static inline void recording_begin(struct recording *r, uint64_t seed, uint64_t block_events)
{
	memset(r, 0, sizeof *r);
	r->random = seed;
	r->block_events = block_events;
	mt_profile_init(&r->profile);
	r->profile.info.usable_rule = MT_USABLE_GLIBC;
	r->profile.info.start_unix_ns = 1700000000000000000ull;
	mt_profile_add_module(&r->profile,
		&(struct mt_module){
			.start = 0x400000,
			.end = 0x500000,
			.path = mt_strings_add(&r->profile.strings, "/bin/program"),
		});
	for (unsigned i = 0; i < 5; i++) {
		uint32_t pc = mt_profile_add_pc(&r->profile,
			&(struct mt_pc){.address = 0x401000 + 16 * i});
		uint32_t frame = mt_profile_add_node(&r->profile, 0, pc);

		mt_profile_add_group(&r->profile,
			mt_profile_add_node(&r->profile, frame,
				i ? MT_FUNCTION_MALLOC : MT_FUNCTION_POOL));
	}
	for (unsigned i = 0; i < 3; i++) {
		char name[] = "thread0";

		name[6] = (char)('0' + i);
		mt_profile_add_thread(&r->profile,
			&(struct mt_thread){.tid = 100 + i,
				.name = mt_strings_add(&r->profile.strings, name)});
	}
}

static inline void recording_free(struct recording *r)
{
	mt_profile_free(&r->profile);
	free(r->events);
	free(r->blocks);
	free(r->live);
}

static inline void put(struct recording *r, struct mt_event e)
{
	e.time_ns = r->now_ns;
	MT_GROW(r->events, r->count, r->capacity);
	r->events[r->count++] = e;
}

static inline uint32_t pick(struct recording *r, uint32_t limit)
{
	return random_below(&r->random, limit);
}

static inline void put_allocation(struct recording *r, uint8_t type, uint64_t previous)
{
	static const uint64_t sizes[] = {0, 8, 24, 24, 25, 100, 1000, 70000};
	uint64_t number = r->block_count;

	put(r,
		(struct mt_event){
			.type = type,
			.number = number,
			.previous = previous,
			.size = sizes[pick(r, 8)],
			.address = 0x10000 + 16 * (uint64_t)pick(r, 4096),
			.group = pick(r, r->profile.group_count),
			.thread = pick(r, 3),
		});
	MT_GROW(r->blocks, r->block_count, r->block_capacity);
	r->blocks[r->block_count++] = (struct truth_block){0};
	MT_GROW(r->live, r->live_count, r->live_capacity);
	r->live[r->live_count++] = number;
	if (!pick(r, 3)) {
		uint64_t size = r->events[r->count - 1].size;

		put(r,
			(struct mt_event){
				.type = MT_EVENT_NOTE,
				.function = MT_NOTE_USABLE,
				.size = pick(r, 2) ? (size + 32) / 16 * 16 : size + 1 + pick(r, 50),
			});
	}
}

static inline void put_end(struct recording *r, uint8_t type)
{
	/* Most blocks die young. */
	uint64_t at = pick(r, 3) ? r->live_count - 1 : pick(r, (uint32_t)r->live_count);
	uint64_t number = r->live[at];

	r->live[at] = r->live[--r->live_count];
	put(r,
		(struct mt_event){
			.type = type,
			.number = number,
			.thread = pick(r, 3),
			.function = MT_FUNCTION_FREE,
		});
	if (type == MT_EVENT_RELEASE)
		r->released[r->released_count++] = number;
	if (type != MT_EVENT_IMPLIED_FREE && !pick(r, 3))
		put(r,
			(struct mt_event){
				.type = MT_EVENT_NOTE,
				.function = MT_NOTE_FREE_STACK,
				.size = r->profile.groups[pick(r, r->profile.group_count)].node,
			});
}

static inline void put_second_half(struct recording *r)
{
	uint32_t at = pick(r, r->released_count);
	uint64_t number = r->released[at];

	r->released[at] = r->released[--r->released_count];
	if (pick(r, 3)) {
		put_allocation(r, MT_EVENT_REALLOCATE, number);
		return;
	}
	put(r, (struct mt_event){.type = MT_EVENT_RESTORE, .number = number, .thread = pick(r, 3)});
	MT_GROW(r->live, r->live_count, r->live_capacity);
	r->live[r->live_count++] = number;
}

static inline void put_unknown_free(struct recording *r)
{
	put(r,
		(struct mt_event){
			.type = MT_EVENT_UNKNOWN_FREE,
			.address = 0x5000,
			.function = MT_FUNCTION_DELETE,
		});
	if (pick(r, 2))
		put(r,
			(struct mt_event){
				.type = MT_EVENT_NOTE,
				.function = MT_NOTE_FREE_STACK,
				.size = r->profile.groups[pick(r, r->profile.group_count)].node,
			});
}

static inline void put_marker(struct recording *r)
{
	static const char *const names[] = {"start", "half", "end"};

	mt_profile_add_log(&r->profile,
		&(struct mt_log_entry){
			.time_ns = r->now_ns,
			.type = MT_LOG_MARKER,
			.thread = MT_NO_THREAD,
			.values = {r->block_count + 1},
			.text = mt_strings_add(&r->profile.strings, names[pick(r, 3)]),
		});
}

static inline void recording_step(struct recording *r)
{
	uint32_t what = pick(r, 100);

	if (what < 30)
		r->now_ns += 1000 * (uint64_t)pick(r, 40);
	else if (what < 33 && r->now_ns >= 3000)
		r->now_ns -= 3000; /* merge order is not always the order of time */
	what = pick(r, 100);
	if (what < 2)
		put_marker(r);
	else if (what < 4)
		put_allocation(r, MT_EVENT_REALLOCATE, NONE);
	else if (what < 45)
		put_allocation(r, MT_EVENT_ALLOCATE, 0);
	else if (what < 58 && r->released_count)
		put_second_half(r);
	else if (what < 61)
		put_unknown_free(r);
	else if (r->live_count)
		put_end(r,
			what < 64                                    ? MT_EVENT_IMPLIED_FREE
				: what < 76 && r->released_count < 4 ? MT_EVENT_RELEASE
								     : MT_EVENT_FREE);
}

/* ---- what became of each allocation ---- */

static inline uint64_t usable_of(const struct recording *r, uint64_t place)
{
	const struct mt_event *e = &r->events[place], *next = place + 1 < r->count ? e + 1 : NULL;
	uint64_t usable = 24;

	if (next && next->type == MT_EVENT_NOTE && next->function == MT_NOTE_USABLE)
		return next->size;
	while (usable < e->size)
		usable += 16;
	return mt_profile_group_function(&r->profile, e->group) == MT_FUNCTION_POOL ? 0 : usable;
}

static inline uint32_t marker_of(const struct recording *r, uint64_t number)
{
	uint32_t text = 0;

	for (uint32_t i = 0; i < r->profile.log_count && r->profile.log[i].values[0] - 1 <= number;
		i++)
		text = r->profile.log[i].text;
	return text;
}

static inline void follow_end(struct recording *r, uint64_t place, const uint64_t *sequence)
{
	const struct mt_event *e = &r->events[place], *next = place + 1 < r->count ? e + 1 : NULL;
	struct truth_block *b = &r->blocks[e->number];

	b->end = place;
	b->released = e->type == MT_EVENT_RELEASE;
	b->a.end_ns = e->time_ns;
	b->a.end_thread = e->thread;
	b->a.end_function = e->type == MT_EVENT_IMPLIED_FREE ? MT_FUNCTION_NONE : e->function;
	b->a.end_node = next && next->type == MT_EVENT_NOTE ? (uint32_t)next->size : 0;
	b->a.between = sequence[b->a.thread] - b->sequence;
}

static inline void follow_start(struct recording *r, uint64_t place, uint64_t *sequence)
{
	const struct mt_event *e = &r->events[place];
	struct truth_block *b = &r->blocks[e->number];

	*b = (struct truth_block){
		.begin = place,
		.end = NONE,
		.before = NONE,
		.after = NONE,
		.sequence = ++sequence[e->thread],
	};
	b->a = (struct mt_allocation){
		.number = e->number,
		.address = e->address,
		.size = e->size,
		.usable = usable_of(r, place),
		.time_ns = e->time_ns,
		.end_ns = MT_LIVE,
		.group = e->group,
		.thread = e->thread,
		.marker = marker_of(r, e->number),
	};
	if (e->type == MT_EVENT_REALLOCATE && e->previous != NONE) {
		b->before = e->previous;
		r->blocks[e->previous].after = e->number;
		r->blocks[e->previous].moved = true;
	}
}

static inline void follow_chains(struct recording *r)
{
	for (uint64_t n = 0; n < r->block_count; n++) {
		struct mt_allocation *a = &r->blocks[n].a;
		uint64_t first = n, last = n;

		for (a->position = 1; r->blocks[first].before != NONE; a->position++)
			first = r->blocks[first].before;
		for (a->chain_length = a->position; r->blocks[last].after != NONE;
			a->chain_length++)
			last = r->blocks[last].after;
		a->chain = first;
		a->first_size = r->blocks[first].a.size;
		a->last_size = r->blocks[last].a.size;
		a->chain_start_ns = r->blocks[first].a.time_ns;
		a->chain_end_ns = r->blocks[last].a.end_ns;
	}
}

static inline void recording_follow(struct recording *r)
{
	uint64_t sequence[3] = {0};

	for (uint64_t i = 0; i < r->count; i++) {
		const struct mt_event *e = &r->events[i];
		struct truth_block *b;

		switch (e->type) {
		case MT_EVENT_ALLOCATE:
		case MT_EVENT_REALLOCATE: follow_start(r, i, sequence); break;
		case MT_EVENT_FREE:
		case MT_EVENT_RELEASE:
		case MT_EVENT_IMPLIED_FREE: follow_end(r, i, sequence); break;
		case MT_EVENT_RESTORE:
			b = &r->blocks[e->number];
			b->end = NONE;
			b->released = false;
			b->a.end_ns = MT_LIVE;
			b->a.end_thread = b->a.end_function = b->a.end_node = 0;
			b->a.between = 0;
			break;
		default: break;
		}
	}
	follow_chains(r);
	for (uint64_t n = 0; n < r->block_count; n++) {
		r->group_count[r->blocks[n].a.group]++;
		r->group_ended[r->blocks[n].a.group] += r->blocks[n].end != NONE;
	}
}

/* ---- what it adds up to ---- */

struct sums {
	struct mt_group groups[8];
	struct mt_late late[8];
	struct mt_info info;
	uint64_t frees;                   /* releases that were not restored among them */
	uint64_t heap_peak, heap_peak_ns; /* of the whole heap within the range */
};

/* The place behind which the whole heap is largest within the range; -1: before all, or there is
 * none. */
static inline int64_t place_of_peak(const struct recording *r, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t level = 0, most = 0;
	int64_t place = -1;
	bool begun = false;

	for (uint64_t i = 0; i < r->count; i++) {
		const struct mt_event *e = &r->events[i];
		bool inside = e->time_ns >= from_ns && e->time_ns <= to_ns;

		if (!begun && e->time_ns >= from_ns) {
			begun = true;
			most = level;
			place = (int64_t)i - 1;
		}
		if (e->type <= MT_EVENT_REALLOCATE)
			level += e->size;
		else if (e->type == MT_EVENT_RESTORE)
			level += r->blocks[e->number].a.size;
		else if (e->type == MT_EVENT_FREE || e->type == MT_EVENT_RELEASE
			|| e->type == MT_EVENT_IMPLIED_FREE)
			level -= r->blocks[e->number].a.size;
		if (begun && inside && level > most) {
			most = level;
			place = (int64_t)i;
		}
	}
	return begun ? place : -1;
}

static inline void sum_block(struct sums *s, const struct recording *r, const struct truth_block *b,
	uint64_t to_ns, uint64_t threshold)
{
	struct mt_group *g = &s->groups[b->a.group];
	const struct truth_block *before = b->before == NONE ? NULL : &r->blocks[b->before];
	bool live = b->end == NONE, reallocated = r->events[b->begin].type == MT_EVENT_REALLOCATE;
	bool temporary = !live && b->a.between <= threshold;

	if (!g->allocated_count || b->a.time_ns < g->first_ns)
		g->first_ns = b->a.time_ns;
	if (!g->allocated_count || b->a.size < g->min_size)
		g->min_size = b->a.size;
	g->last_ns = b->a.time_ns > g->last_ns ? b->a.time_ns : g->last_ns;
	g->max_size = b->a.size > g->max_size ? b->a.size : g->max_size;
	g->allocated_count++;
	g->allocated_bytes += b->a.size;
	g->live_count += live;
	g->live_bytes += live ? b->a.size : 0;
	g->temporary_count += temporary;
	if (!live && b->a.end_ns > to_ns) {
		s->late[b->a.group].count++;
		s->late[b->a.group].bytes += b->a.size;
	}
	if (reallocated && (!before || before->matches))
		s->info.reallocations++;
	else
		s->info.allocations++;
	s->info.frees += !live && (!b->released || (b->moved && !r->blocks[b->after].matches));
	s->frees += !live;
	s->info.allocated_bytes += b->a.size;
	s->info.leaked_count += live;
	s->info.leaked_bytes += live ? b->a.size : 0;
	s->info.temporary_count += temporary;
	if (live && b->a.usable > b->a.size)
		s->info.slack_bytes += b->a.usable - b->a.size;
}

/* Own peaks, the set's peak, and what it held at the whole heap's. */
static inline void sum_levels(struct sums *s, const struct recording *r, int64_t peak)
{
	struct {
		uint64_t count, bytes;
	} live[8] = {{0, 0}};
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < r->count; i++) {
		const struct mt_event *e = &r->events[i];
		bool up = e->type <= MT_EVENT_REALLOCATE || e->type == MT_EVENT_RESTORE;

		if (e->type == MT_EVENT_NOTE || e->type == MT_EVENT_UNKNOWN_FREE)
			goto next;
		const struct truth_block *b = &r->blocks[e->number];
		struct mt_group *g = &s->groups[b->a.group];

		if (!b->matches)
			goto next;
		live[b->a.group].count += up ? 1 : -1ull;
		live[b->a.group].bytes += up ? b->a.size : -b->a.size;
		bytes += up ? b->a.size : -b->a.size;
		if (live[b->a.group].count > g->own_peak_count)
			g->own_peak_count = live[b->a.group].count;
		if (live[b->a.group].bytes > g->own_peak_bytes)
			g->own_peak_bytes = live[b->a.group].bytes;
		if (bytes > s->info.peak_bytes) {
			s->info.peak_bytes = bytes;
			s->info.peak_ns = e->time_ns;
		}
next:
		for (unsigned n = 0; (int64_t)i == peak && n < 8; n++) {
			s->groups[n].at_peak_count = live[n].count;
			s->groups[n].at_peak_bytes = live[n].bytes;
		}
	}
}

static inline void sum_heap(struct sums *s, const struct recording *r, int64_t peak,
	uint64_t from_ns)
{
	bool reached = false;

	for (uint64_t i = 0; i < r->count; i++)
		reached |= r->events[i].time_ns >= from_ns;
	for (int64_t i = 0; i < (int64_t)r->count && (i <= peak || !reached); i++) {
		const struct mt_event *e = &r->events[i];

		if (e->type == MT_EVENT_NOTE || e->type == MT_EVENT_UNKNOWN_FREE)
			continue;
		if (e->type <= MT_EVENT_REALLOCATE || e->type == MT_EVENT_RESTORE)
			s->heap_peak += r->blocks[e->number].a.size;
		else
			s->heap_peak -= r->blocks[e->number].a.size;
	}
	/* Behind an event within the range, or at its beginning. */
	s->heap_peak_ns =
		peak >= 0 && r->events[peak].time_ns >= from_ns ? r->events[peak].time_ns : from_ns;
}

static inline void recording_sum(struct sums *s, const struct recording *r, uint64_t from_ns,
	uint64_t to_ns, uint64_t threshold)
{
	memset(s, 0, sizeof *s);
	for (uint64_t n = 0; n < r->block_count; n++)
		if (r->blocks[n].matches)
			sum_block(s, r, &r->blocks[n], to_ns, threshold);
	sum_levels(s, r, place_of_peak(r, from_ns, to_ns));
	sum_heap(s, r, place_of_peak(r, from_ns, to_ns), from_ns);
}

#endif
