#include "core/query/leaks.h"

#include <errno.h>
#include <stdlib.h>

/* Of so many blocks, if they are more than this share of the events, a pass takes less time and
 * memory than looking them up. */
#define MANY (1u << 20)
#define SHARE 8u

/* Event blocks by the numbers that they allocated. */
struct places {
	struct place {
		uint64_t first_number;
		uint32_t index;
	} * at;
	uint32_t count, capacity;
	uint64_t events;
};

struct search {
	struct mt_leaks *leaks;
	const struct mt_prepared_query *query;
	struct places places;
	/* what the event blocks say of the blocks, by rising number */
	struct mt_trace_origin *origins;
	uint64_t count, most; /* beyond, a pass is asked */
	struct mt_err *err;
};

/* ---- what can be asked ---- */

static bool can_answer(const struct mt_prepared_query *q, unsigned wants)
{
	const struct mt_filter_bounds *b = &q->bounds;
	const struct mt_trace_reader *r = q->source->reader;

	return r && !(wants & MT_SCAN_EVENTS) && mt_filter_asks_for_leaks(b) && !b->alive_at_peak
		&& !b->dead_at_peak && !(q->needs & MT_FILTER_NEEDS_CHAIN)
		&& !(wants & MT_SCAN_FIRSTS) && !mt_trace_reader_damage(r, NULL)
		&& mt_checkpoint_of_start(r) == MT_NO_CHECKPOINT;
}

static bool has_range(const struct mt_filter_bounds *b)
{
	return b->from_ns || b->to_ns < UINT64_MAX;
}

static void describe(const struct mt_prepared_query *q, const struct mt_live_list_block *b,
	uint64_t time_ns, struct mt_allocation *a)
{
	struct mt_event events[2] = {
		{.type = MT_EVENT_ALLOCATE, .size = b->size, .group = b->group},
		{.type = MT_EVENT_NOTE, .note = MT_NOTE_USABLE, .size = b->usable},
	};

	*a = (struct mt_allocation){
		.number = b->number,
		.size = b->size,
		.usable = mt_prepared_query_usable(q, &events[0], b->usable ? &events[1] : NULL),
		.time_ns = time_ns,
		.end_ns = MT_LIVE,
		.group = b->group,
		.thread = b->thread,
		.chain = b->number,
		.position = 1,
		.chain_length = 1,
		.first_size = b->size,
		.last_size = b->size,
		.chain_start_ns = time_ns,
		.chain_end_ns = MT_LIVE,
	};
	mt_prepared_query_place(q, a, b->key);
	if (q->marker_count)
		a->marker = mt_prepared_query_marker(q, b->number, time_ns);
}

/* Whether times are asked for, or what is shown follows from them. */
static bool needs_times(const struct mt_prepared_query *q)
{
	return mt_filter_asks_for_times(&q->bounds) || (q->marker_count && q->markers_by_time);
}

/* Whether a block may match whose time is not known yet. */
static bool may_match(const struct mt_prepared_query *q, const struct mt_live_list_block *b)
{
	struct mt_allocation a;

	if (q->groups && !q->groups[b->group])
		return false;
	if (has_range(&q->bounds) || (q->bounds.marker_count && q->markers_by_time))
		return true;
	describe(q, b, 0, &a);
	return mt_filter_allocation_matches(&q->bounds, &a);
}

static bool is_wanted(void *context, const struct mt_live_list_block *b)
{
	struct search *s = context;

	return s->count <= s->most && may_match(s->query, b) && s->count++ < s->most;
}

/* ---- event blocks ---- */

static bool list_places(struct search *s)
{
	const struct mt_trace_reader *r = s->query->source->reader;
	struct mt_trace_facts *f = mt_alloc(sizeof *f);
	bool known = true;

	for (uint32_t i = 0; i < mt_trace_reader_count(r) && known; i++) {
		if (mt_trace_reader_block(r, i)->type != MT_BLOCK_EVENTS)
			continue;
		known = mt_trace_reader_facts(r, i, f);
		s->places.events += mt_trace_reader_block(r, i)->event_count;
		MT_GROW(s->places.at, s->places.count, s->places.capacity);
		s->places.at[s->places.count++] = (struct place){f->first_number, i};
	}
	free(f);
	return known && s->places.count;
}

/* The last one that begins with the number or before. from: one that does. */
static uint32_t place_of(const struct places *p, uint32_t from, uint64_t number)
{
	uint32_t low = from, high = p->count;

	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		*(p->at[middle].first_number <= number ? &low : &high) = middle;
	}
	return low;
}

/* Leaves out the blocks whose event blocks lie outside the range. */
static void keep_range(struct search *s)
{
	const struct mt_filter_bounds *range = &s->query->bounds;
	struct mt_live_list *l = &s->leaks->blocks;
	uint32_t place = 0;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < l->count; i++) {
		place = place_of(&s->places, place, l->blocks[i].number);
		const struct mt_trace_block *b =
			mt_trace_reader_block(s->query->source->reader, s->places.at[place].index);

		if (b->last_ns >= range->from_ns && b->first_ns <= range->to_ns)
			l->blocks[kept++] = l->blocks[i];
	}
	l->count = kept;
}

static int tell(void *context, double fraction)
{
	const struct mt_prepared_query *q = ((const struct search *)context)->query;

	return q->source->progress
		&& q->source->progress(q->source->context, q->done + q->share * fraction);
}

/* Looks up what the event blocks say; items by rising number. */
static int look_up(struct search *s, struct mt_trace_origin *items, uint64_t count, bool links)
{
	const struct mt_source *source = s->query->source;
	uint32_t *blocks = mt_resize(NULL, (s->places.count + 1ull) * sizeof *blocks);
	uint64_t *first = mt_resize(NULL, (s->places.count + 1ull) * sizeof *first);
	struct mt_trace_lookup wanted = {
		.items = items,
		.count = count,
		.blocks = blocks,
		.first = first,
		.links = links,
		.workers = source->workers,
		.progress = tell,
		.context = s,
	};
	uint32_t place = 0;

	for (uint64_t i = 0; i < count; i++) {
		place = place_of(&s->places, place, items[i].number);
		if (wanted.block_count
			&& blocks[wanted.block_count - 1] == s->places.at[place].index)
			continue;
		blocks[wanted.block_count] = s->places.at[place].index;
		first[wanted.block_count++] = i;
	}
	int result = mt_trace_reader_look_up(source->reader, &wanted, s->err);

	free(blocks);
	free(first);
	if (result == -ECANCELED)
		mt_fail(s->err, result, "reading %s was cancelled",
			mt_trace_reader_path(source->reader));
	/* the pass over the events finds the fault, and says what it means */
	return result == -EINVAL || result == -EBADMSG ? 1 : result;
}

/* ---- chains ---- */

static int by_number(const void *a, const void *b)
{
	const struct mt_trace_origin *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* The blocks from a number on whose links are to be looked up, each once. */
static uint64_t list_roots(const struct search *s, uint64_t least, struct mt_trace_origin *roots)
{
	uint64_t count = 0, kept = 0;

	for (uint64_t i = 0; i < s->count; i++)
		if (s->origins[i].earlier && s->origins[i].root >= least)
			roots[count++] = (struct mt_trace_origin){.number = s->origins[i].root};
	if (count)
		qsort(roots, count, sizeof *roots, by_number);
	for (uint64_t i = 0; i < count; i++)
		if (!kept || roots[kept - 1].number != roots[i].number)
			roots[kept++] = roots[i];
	return kept;
}

/* The first number of the last event block that has any of them. */
static uint64_t last_place(const struct search *s)
{
	uint64_t most = 0;

	for (uint64_t i = 0; i < s->count; i++)
		if (s->origins[i].earlier && s->origins[i].root > most)
			most = s->origins[i].root;
	return s->places.at[place_of(&s->places, 0, most)].first_number;
}

static void go_on(struct mt_trace_origin *b, const struct mt_trace_origin *roots, uint64_t count)
{
	const struct mt_trace_origin key = {.number = b->root};
	const struct mt_trace_origin *root = bsearch(&key, roots, count, sizeof key, by_number);

	b->root = root->root;
	b->reallocs += root->reallocs;
	b->earlier = root->earlier;
}

/* The first round looks at the event blocks of all, with several threads. From then on the event
 * blocks are looked at one by one from the last to the first, so none is decoded again. whole: else
 * the first round is enough, which tells what continues another block. */
static int find_chains(struct search *s, bool whole)
{
	struct mt_trace_origin *origins = s->origins;
	uint64_t count = s->count, least = 0, some;
	struct mt_trace_origin *roots = mt_resize(NULL, (count + 1) * sizeof *roots);
	int result = 0;

	for (uint64_t i = 0; i < count; i++) {
		origins[i].root = origins[i].number;
		origins[i].earlier = origins[i].reallocated;
	}
	while (!result && (whole || !least) && (some = list_roots(s, least, roots))) {
		result = look_up(s, roots, some, true);
		for (uint64_t i = 0; i < count && !result; i++)
			if (origins[i].earlier && origins[i].root >= least)
				go_on(&origins[i], roots, some);
		least = last_place(s);
	}
	free(roots);
	return result;
}

/* ---- all ---- */

/* Fills in the origins of all blocks. */
static int find_origins(struct search *s, unsigned wants)
{
	int result = look_up(s, s->origins, s->count, false);

	if (result || !(wants & (MT_SCAN_CHAINS | MT_LEAKS_CONTINUED)))
		return result;
	return find_chains(s, wants & MT_SCAN_CHAINS);
}

/* Nobody asks when a block was allocated but the range: whether it lies there, most event blocks
 * tell as a whole, and only those at its ends are looked at. */
static bool is_told_by_places(const struct mt_prepared_query *q, unsigned wants)
{
	return wants & MT_SCAN_TIMELESS && has_range(&q->bounds)
		&& mt_filter_asks_for_range_alone(&q->bounds)
		&& !(q->marker_count && q->markers_by_time);
}

static bool lies_in_range(const struct search *s, const struct mt_trace_block *b)
{
	const struct mt_filter_bounds *range = &s->query->bounds;

	return b->first_ns >= range->from_ns && b->last_ns <= range->to_ns;
}

static int find_times_at_ends(struct search *s)
{
	struct mt_trace_origin *some = mt_resize(NULL, (s->count + 1) * sizeof *some);
	uint64_t count = 0;
	uint32_t place = 0;

	for (uint64_t i = 0; i < s->count; i++) {
		place = place_of(&s->places, place, s->origins[i].number);
		const struct mt_trace_block *b =
			mt_trace_reader_block(s->query->source->reader, s->places.at[place].index);

		if (lies_in_range(s, b))
			s->origins[i].time_ns = b->first_ns;
		else
			some[count++] = s->origins[i];
	}
	int result = count ? look_up(s, some, count, false) : 0;

	for (uint64_t i = 0, at = 0; at < count && !result; i++)
		if (s->origins[i].number == some[at].number)
			s->origins[i] = some[at++];
	free(some);
	return result;
}

static int find(struct search *s, unsigned wants)
{
	const struct mt_prepared_query *q = s->query;
	struct mt_leaks *l = s->leaks;
	bool by_places = is_told_by_places(q, wants);
	bool timed = !(wants & (MT_SCAN_LATE | MT_SCAN_TIMELESS)) || needs_times(q);

	if (!list_places(s))
		return 1;
	s->most = !timed || by_places ? UINT64_MAX
		: s->places.events / SHARE > MANY
		? s->places.events / SHARE
		: MANY;
	if (mt_live_list_read(&l->blocks, q->source->reader, q->source->profile, is_wanted, s)
		|| s->count > s->most)
		return 1;
	l->chains = wants & MT_SCAN_CHAINS;
	if (!timed)
		return 0;
	if (has_range(&q->bounds))
		keep_range(s);
	s->count = l->blocks.count;
	s->origins = l->origins = mt_alloc((s->count + 1) * sizeof *l->origins);
	for (uint64_t i = 0; i < s->count; i++)
		l->origins[i].number = l->blocks.blocks[i].number;
	return by_places ? find_times_at_ends(s) : find_origins(s, wants);
}

int mt_leaks_find(struct mt_leaks *l, const struct mt_prepared_query *q, unsigned wants,
	struct mt_err *err)
{
	struct search s = {.leaks = l, .query = q, .err = err};
	int result;

	*l = (struct mt_leaks){0};
	if (!can_answer(q, wants))
		return 1;
	result = find(&s, wants);
	free(s.places.at);
	if (result)
		mt_leaks_free(l);
	return result;
}

void mt_leaks_free(struct mt_leaks *l)
{
	mt_live_list_free(&l->blocks);
	free(l->origins);
	*l = (struct mt_leaks){0};
}

static void set_origin(struct mt_allocation *a, const struct mt_trace_origin *origin, bool chains)
{
	a->untimed = false;
	a->time_ns = a->chain_start_ns = origin->time_ns;
	if (!chains)
		return;
	a->chain = origin->root;
	a->position = a->chain_length = origin->reallocs + 1;
}

bool mt_leaks_get(const struct mt_leaks *l, const struct mt_prepared_query *q, uint64_t index,
	struct mt_allocation *a)
{
	describe(q, &l->blocks.blocks[index], l->origins ? l->origins[index].time_ns : 0, a);
	a->untimed = !l->origins;
	if (l->origins)
		set_origin(a, &l->origins[index], l->chains);
	return mt_filter_allocation_matches(&q->bounds, a) && mt_filter_end_matches(&q->bounds, a);
}

int mt_leaks_visit(const struct mt_prepared_query *q, unsigned wants,
	int (*visit)(void *context, const struct mt_allocation *), void *context, bool *answered,
	struct mt_err *err)
{
	struct mt_leaks leaks;
	struct mt_allocation a;
	int result = mt_leaks_find(&leaks, q, wants, err);

	*answered = result != 1;
	if (result)
		return *answered ? result : 0;
	for (uint64_t i = 0; i < leaks.blocks.count && !result; i++)
		if (mt_leaks_get(&leaks, q, i, &a))
			result = visit(context, &a);
	mt_leaks_free(&leaks);
	if (!(wants & MT_SCAN_LATE) && q->source->progress && q->done + q->share >= 1)
		q->source->progress(q->source->context, 1);
	return result;
}

static void set_origins(const struct search *s, struct mt_allocation *items, bool chains)
{
	for (uint64_t i = 0; i < s->count; i++) {
		const struct mt_trace_origin key = {.number = items[i].number};

		set_origin(&items[i], bsearch(&key, s->origins, s->count, sizeof key, by_number),
			chains);
	}
}

int mt_scan_complete(const struct mt_source *source, struct mt_allocation *items, uint64_t count,
	unsigned wants, struct mt_err *err)
{
	const struct mt_prepared_query q = {.source = source, .share = 1};
	struct search s = {.query = &q, .count = count, .err = err};
	int result = 1;

	if (!count || !items->untimed)
		return 0;
	s.origins = mt_alloc(count * sizeof *s.origins);
	for (uint64_t i = 0; i < count; i++)
		s.origins[i].number = items[i].number;
	qsort(s.origins, count, sizeof *s.origins, by_number);
	if (list_places(&s))
		result = find_origins(&s, wants);
	if (!result)
		set_origins(&s, items, wants & MT_SCAN_CHAINS);
	free(s.places.at);
	free(s.origins);
	return result;
}
