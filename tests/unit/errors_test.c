/* Random recordings of a heap in which much goes wrong: what mt_errors_find puts together must be
 * what a search through the list of events finds, for each wrong call alone. */
#include "tests/unit/trace_simulation.h"

#include "core/query/errors.h"

#include <sys/mman.h>

#define ADDRESSES 7u
#define PLACES (2 * ADDRESSES) /* each address has one in the heap, and one in pools */
#define GROUPS 6u
#define EVENTS_MAX 3000u
#define NONE UINT64_MAX

/* By the predefined functions. */
static bool agree(uint32_t function, uint32_t end)
{
	static struct mt_profile p;

	if (!p.function_count)
		mt_profile_init(&p);
	return mt_functions_agree(mt_profile_function(&p, function), mt_profile_function(&p, end));
}

static const uint32_t group_kinds[GROUPS] = {MT_FUNCTION_MALLOC, MT_FUNCTION_NEW,
	MT_FUNCTION_NEW_ARRAY, MT_FUNCTION_CALLOC, MT_FUNCTION_REALLOC, MT_FUNCTION_POOL};
static const uint8_t end_kinds[] = {MT_FUNCTION_FREE, MT_FUNCTION_DELETE, MT_FUNCTION_DELETE_ARRAY,
	MT_FUNCTION_REALLOC, MT_FUNCTION_POOL_FREE}; /* the last is of a pool */

struct heap {
	struct mt_profile profile;
	struct mt_event events[EVENTS_MAX + 8];
	uint32_t count;
	uint64_t random, now_ns, next;
	uint64_t at[PLACES];      /* number of the live block, or NONE */
	uint64_t released, place; /* number of the block in a realloc, or NONE; its place */
	uint64_t invalid_count, unrecorded;
};

static uint32_t pick(struct heap *h, uint32_t limit)
{
	return random_below(&h->random, limit);
}

static uint64_t address_of(uint32_t i)
{
	return 0x10000 + 64 * (uint64_t)(i % ADDRESSES);
}

/* Times are all different, to the microsecond that a trace keeps. */
static void put(struct heap *h, struct mt_event e)
{
	if (e.type != MT_EVENT_NOTE)
		h->now_ns += 1000;
	e.time_ns = h->now_ns;
	e.thread = e.type == MT_EVENT_NOTE ? h->events[h->count - 1].thread : pick(h, 2);
	h->events[h->count++] = e;
}

static bool is_pooled(uint32_t place)
{
	return place >= ADDRESSES;
}

/* A free of an unknown address is one of its domain; that of a block may be of any. */
static void put_end(struct heap *h, uint8_t type, uint64_t number, uint32_t place)
{
	bool unknown = type == MT_EVENT_UNKNOWN_FREE;
	uint32_t kind = pick(h, sizeof end_kinds - (unknown && !is_pooled(place)));

	put(h,
		(struct mt_event){
			.type = type,
			.number = number,
			.address = unknown ? address_of(place) : 0,
			.function = unknown && is_pooled(place) ? MT_FUNCTION_POOL_FREE
								: end_kinds[kind],
		});
	if (type != MT_EVENT_IMPLIED_FREE && !pick(h, 3))
		put(h,
			(struct mt_event){
				.type = MT_EVENT_NOTE,
				.function = MT_NOTE_FREE_STACK,
				.size = h->profile.groups[pick(h, GROUPS)].node,
			});
}

static void put_allocation(struct heap *h, uint32_t i, uint8_t type, uint64_t previous)
{
	if (h->at[i] != NONE)
		put_end(h, MT_EVENT_IMPLIED_FREE, h->at[i], i);
	h->at[i] = h->next;
	put(h,
		(struct mt_event){
			.type = type,
			.number = h->next++,
			.previous = previous,
			.address = address_of(i),
			.size = 8 + 8 * pick(h, 4),
			.group = is_pooled(i) ? GROUPS - 1 : pick(h, GROUPS - 1),
		});
}

static void step(struct heap *h)
{
	uint32_t i = pick(h, PLACES), what = pick(h, 10);

	if (h->released != NONE && what < 3) {
		if (pick(h, 2) || h->at[h->place] != NONE) {
			put_allocation(h, i, MT_EVENT_REALLOCATE, h->released);
		} else {
			put(h, (struct mt_event){.type = MT_EVENT_RESTORE, .number = h->released});
			h->at[h->place] = h->released;
		}
		h->released = NONE;
	} else if (h->at[i] == NONE) {
		if (what < 6) {
			put_allocation(h, i, MT_EVENT_ALLOCATE, 0);
		} else {
			put_end(h, MT_EVENT_UNKNOWN_FREE, 0, i);
			h->invalid_count++;
		}
	} else if (what < 1) {
		put_allocation(h, i, MT_EVENT_ALLOCATE, 0);
	} else if (what < 3 && h->released == NONE) {
		put_end(h, MT_EVENT_RELEASE, h->at[i], i);
		h->released = h->at[i];
		h->place = i;
		h->at[i] = NONE;
	} else {
		put_end(h, MT_EVENT_FREE, h->at[i], i);
		h->at[i] = NONE;
	}
}

static void begin(struct heap *h, uint64_t seed)
{
	*h = (struct heap){.random = seed, .released = NONE};
	mt_profile_init(&h->profile);
	mt_profile_add_module(&h->profile,
		&(struct mt_module){
			.start = 0x400000,
			.end = 0x500000,
			.path = mt_strings_add(&h->profile.strings, "/bin/program"),
		});
	for (uint32_t i = 0; i < GROUPS; i++) {
		uint32_t pc = mt_profile_add_pc(&h->profile,
			&(struct mt_pc){.address = 0x401000 + 16 * i});
		uint32_t frame = mt_profile_add_node(&h->profile, 0, pc);

		mt_profile_add_group(&h->profile,
			mt_profile_add_node(&h->profile, frame, group_kinds[i]));
	}
	for (unsigned i = 0; i < 2; i++)
		mt_profile_add_thread(&h->profile, &(struct mt_thread){.tid = 100 + i});
	for (uint32_t i = 0; i < PLACES; i++)
		h->at[i] = NONE;
	for (uint32_t end = 20 + pick(h, EVENTS_MAX - 20); h->count < end;)
		step(h);
	h->unrecorded = pick(h, 2) ? 0 : pick(h, (uint32_t)h->invalid_count + 1);
}

/* ---- the truth ---- */

static bool is_end(const struct mt_event *e)
{
	return e->type == MT_EVENT_FREE || e->type == MT_EVENT_RELEASE
		|| e->type == MT_EVENT_IMPLIED_FREE;
}

static const struct mt_event *end_of(const struct heap *h, uint64_t number)
{
	const struct mt_event *end = NULL;

	for (uint32_t i = 0; i < h->count; i++) {
		const struct mt_event *e = &h->events[i];

		if (e->number == number && (is_end(e) || e->type == MT_EVENT_RESTORE))
			end = is_end(e) ? e : NULL;
	}
	return end;
}

static struct mt_error_call call_of(const struct mt_event *e)
{
	struct mt_error_call call = {
		.time_ns = e->time_ns,
		.thread = e->thread,
		.function = e->type == MT_EVENT_IMPLIED_FREE ? MT_FUNCTION_NONE : e->function,
	};

	if (e[1].type == MT_EVENT_NOTE)
		call.node = (uint32_t)e[1].size;
	return call;
}

static bool allocates(const struct mt_event *e)
{
	return e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE;
}

static void describe(struct mt_error *out, const struct mt_event *block)
{
	out->group = block->group;
	out->number = block->number;
	out->bytes = out->size = block->size;
	out->allocated_ns = block->time_ns;
	out->allocated_thread = block->thread;
}

/* Whether an allocation is at the address of a free that is unknown in its domain. */
static bool is_there(const struct mt_event *e, const struct mt_event *free_, bool same_domain)
{
	return allocates(e) && e->address == free_->address
		&& ((group_kinds[e->group] == MT_FUNCTION_POOL)
			   == (free_->function == MT_FUNCTION_POOL_FREE))
		== same_domain;
}

/* The last block of the other domain that lived at the address. */
static const struct mt_event *other_of(const struct heap *h, const struct mt_event *free_)
{
	const struct mt_event *other = NULL;

	for (const struct mt_event *e = h->events; e < free_; e++)
		if (is_there(e, free_, false)
			&& (!end_of(h, e->number) || end_of(h, e->number) > free_))
			other = e;
	return other;
}

static struct mt_error invalid_free_truth(const struct heap *h, uint32_t at, uint64_t order)
{
	const struct mt_event *e = &h->events[at], *block = NULL, *next = NULL;
	struct mt_error out = {
		.type = MT_ERROR_UNKNOWN_FREE,
		.group = MT_NO_GROUP,
		.count = 1,
		.address = e->address,
		.call = call_of(e),
		.last_ns = e->time_ns,
	};

	for (uint32_t i = 0; i < at; i++)
		if (is_there(&h->events[i], e, true))
			block = &h->events[i];
	for (uint32_t i = h->count; i-- > at;)
		if (is_there(&h->events[i], e, true))
			next = &h->events[i];
	const struct mt_event *end = block ? end_of(h, block->number) : NULL;
	const struct mt_event *next_end = next ? end_of(h, next->number) : NULL;
	const struct mt_event *other = other_of(h, e);

	if (other && (!block || (end && other > end))) {
		out.type = MT_ERROR_MISMATCH;
		out.elsewhere = true;
		describe(&out, other);
	} else if (block) {
		out.type = MT_ERROR_DOUBLE_FREE;
		describe(&out, block);
		out.before = end ? call_of(end) : (struct mt_error_call){.time_ns = MT_LIVE};
	}
	if (order + h->unrecorded >= h->invalid_count)
		out.doubt = MT_ERROR_DOUBT_UNRECORDED;
	else if (next_end && next_end->type == MT_EVENT_IMPLIED_FREE)
		out.doubt = MT_ERROR_DOUBT_ORDER;
	else if (!out.elsewhere && block && (!end || end > e))
		out.doubt = MT_ERROR_DOUBT_REALLOC;
	return out;
}

/* Only the next block there can have been freed too early, by the last free before it. */
static bool is_last_before_next(const struct heap *h, uint32_t at)
{
	for (uint32_t i = at + 1; i < h->count; i++) {
		if (h->events[i].address != h->events[at].address)
			continue;
		if (is_there(&h->events[i], &h->events[at], true))
			return true;
		if (h->events[i].type == MT_EVENT_UNKNOWN_FREE
			&& (h->events[i].function == MT_FUNCTION_POOL_FREE)
				== (h->events[at].function == MT_FUNCTION_POOL_FREE))
			return false;
	}
	return false;
}

static bool same_kind(const struct mt_error *a, const struct mt_error *b)
{
	return a->type == b->type && a->elsewhere == b->elsewhere && a->doubt == b->doubt
		&& a->group == b->group && a->before.function == b->before.function
		&& a->before.node == b->before.node && a->call.function == b->call.function
		&& a->call.node == b->call.node;
}

/* Takes one off what was found; its numbers must be there if it is the first of its kind. */
static void expect(struct mt_errors *found, const struct mt_error *e, bool *first)
{
	for (uint32_t i = 0; i < found->count; i++) {
		struct mt_error *f = &found->items[i];

		if (!same_kind(f, e))
			continue;
		assert_true(
			f->count >= e->count && f->bytes >= e->bytes && f->last_ns >= e->last_ns);
		assert_true(f->call.time_ns <= e->call.time_ns);
		if (f->call.time_ns == e->call.time_ns) {
			assert_int_equal(f->address, e->address);
			assert_int_equal(f->number, e->number);
			assert_int_equal(f->size, e->size);
			assert_int_equal(f->allocated_ns, e->allocated_ns);
			assert_int_equal(f->allocated_thread, e->allocated_thread);
			assert_int_equal(f->call.thread, e->call.thread);
			assert_int_equal(f->before.time_ns, e->before.time_ns);
			assert_int_equal(f->before.thread, e->before.thread);
			first[i] = true;
		}
		f->count -= e->count;
		f->bytes -= e->bytes;
		return;
	}
	fail_msg("an error was not found: type %d, doubt %d, group %u at %llu us", e->type,
		e->doubt, e->group, (unsigned long long)(e->call.time_ns / 1000));
}

static void compare(const struct heap *h, struct mt_errors *found, uint64_t least)
{
	uint64_t order = 0, left_out = 0;
	bool *first = calloc(found->count + 1, sizeof *first);

	for (uint32_t i = 0; i < h->count; i++) {
		const struct mt_event *e = &h->events[i], *end;

		if (e->type == MT_EVENT_UNKNOWN_FREE) {
			struct mt_error error = invalid_free_truth(h, i, order++);

			if (error.doubt == MT_ERROR_DOUBT_ORDER && !is_last_before_next(h, i))
				error.doubt = error.group != MT_NO_GROUP && !error.elsewhere
						&& (!end_of(h, error.number)
							|| end_of(h, error.number) > e)
					? MT_ERROR_DOUBT_REALLOC
					: MT_ERROR_DOUBT_NONE;
			if (!least || (error.group != MT_NO_GROUP && error.size >= least))
				expect(found, &error, first);
			else
				left_out += error.group == MT_NO_GROUP;
		} else if (allocates(e) && e->size >= least && (end = end_of(h, e->number))
			&& end->type != MT_EVENT_IMPLIED_FREE
			&& !agree(group_kinds[e->group], end->function)) {
			struct mt_error error = {
				.type = MT_ERROR_MISMATCH,
				.count = 1,
				.call = call_of(end),
				.last_ns = end->time_ns,
			};

			describe(&error, e);
			expect(found, &error, first);
		}
	}
	for (uint32_t i = 0; i < found->count; i++)
		assert_true(first[i] && !found->items[i].count && !found->items[i].bytes);
	assert_int_equal(found->left_out, left_out);
	free(first);
}

/* ---- through a trace ---- */

static void write_trace(struct heap *h, int fd)
{
	struct mt_definitions definitions = {0};
	struct mt_trace_running running = {0};
	struct mt_err err = {0};
	struct mt_trace_writer *w = mt_trace_writer_new(fd, &err);

	assert_non_null(w);
	assert_int_equal(mt_definitions_write(&definitions, w, &h->profile, &err), 0);
	for (uint32_t i = 0; i < h->count; i++) {
		mt_trace_writer_event(w, &h->events[i]);
		if (!pick(h, 40))
			assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
	}
	assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
	assert_int_equal(mt_trace_writer_finish(w, &err), 0);
	mt_trace_writer_free(w);
}

static void ask(struct heap *h, const struct mt_source *source, uint64_t least)
{
	struct mt_filter *filter = least ? mt_filter_new() : NULL;
	struct mt_errors found = {0};
	struct mt_err err = {0};
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)least);
	if (filter)
		assert_int_equal(mt_filter_set(filter, MT_FILTER_SIZE_MIN, text, &err), 0);
	if (mt_errors_find(&found, source, filter, &err))
		fail_msg("%s", err.text);
	compare(h, &found, least);
	mt_errors_free(&found);
	mt_filter_free(filter);
}

/* Of a process that memtui came to, a free without a block is of one from before; a second free of
 * a block that was seen is as wrong as ever. */
static void ask_attached(struct mt_profile *profile, const struct mt_source *source)
{
	struct mt_errors all = {0}, attached = {0};
	struct mt_err err = {0};
	uint64_t without_block = 0;

	assert_int_equal(mt_errors_find(&all, source, NULL, &err), 0);
	profile->info.origin = MT_ORIGIN_ATTACHED;
	assert_int_equal(mt_errors_find(&attached, source, NULL, &err), 0);
	profile->info.origin = MT_ORIGIN_EXECUTED;
	for (uint32_t i = 0; i < all.count; i++)
		without_block += all.items[i].type == MT_ERROR_UNKNOWN_FREE
			&& all.items[i].group == MT_NO_GROUP;
	for (uint32_t i = 0; i < attached.count; i++)
		assert_true(attached.items[i].type != MT_ERROR_UNKNOWN_FREE
			|| attached.items[i].group != MT_NO_GROUP);
	assert_true(attached.inherited >= without_block);
	assert_int_equal(attached.sum[MT_ERROR_DOUBLE_FREE], all.sum[MT_ERROR_DOUBLE_FREE]);
	mt_errors_free(&all);
	mt_errors_free(&attached);
}

static void test_random(void **state)
{
	struct heap *h = malloc(sizeof *h);

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct mt_profile profile;
		struct mt_symbols symbols;
		struct mt_err err = {0};
		char path[64];
		int fd = memfd_create("trace", MFD_CLOEXEC), copy = dup(fd);

		begin(h, seed);
		write_trace(h, fd);
		snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
		struct mt_source source = {
			.profile = &profile,
			.symbols = &symbols,
			.reader = mt_trace_reader_open(path, &err),
			.workers = 1 + pick(h, 2),
		};

		mt_profile_init(&profile);
		mt_symbols_init(&symbols);
		if (!source.reader || mt_profile_load(&profile, source.reader, NULL, NULL, &err))
			fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
		assert_int_equal(profile.info.unknown_frees, h->invalid_count);
		profile.info.unrecorded_frees = h->unrecorded;
		ask(h, &source, 0);
		ask(h, &source, 16 + 8 * pick(h, 3));
		ask_attached(&profile, &source);
		mt_trace_reader_free(source.reader);
		mt_profile_free(&profile);
		mt_symbols_free(&symbols);
		mt_profile_free(&h->profile);
		close(copy);
	}
	free(h);
}

/* What is a pair, and what is not. */
static void test_kinds(void **state)
{
	(void)state;
	assert_true(agree(MT_FUNCTION_MEMALIGN, MT_FUNCTION_FREE));
	assert_true(agree(MT_FUNCTION_VALLOC, MT_FUNCTION_REALLOCARRAY));
	assert_true(agree(MT_FUNCTION_NEW, MT_FUNCTION_DELETE));
	assert_true(agree(MT_FUNCTION_NEW_ARRAY, MT_FUNCTION_DELETE_ARRAY));
	assert_true(agree(MT_FUNCTION_POOL, MT_FUNCTION_POOL_FREE));
	assert_true(agree(MT_FUNCTION_NEW, MT_FUNCTION_NONE));
	assert_true(agree(MT_PC_TABLE_FULL, MT_FUNCTION_DELETE));
	assert_true(agree(MT_FUNCTION_NEW, 255));
	assert_false(agree(MT_FUNCTION_NEW, MT_FUNCTION_DELETE_ARRAY));
	assert_false(agree(MT_FUNCTION_NEW_ARRAY, MT_FUNCTION_DELETE));
	assert_false(agree(MT_FUNCTION_NEW, MT_FUNCTION_REALLOC));
	assert_false(agree(MT_FUNCTION_CALLOC, MT_FUNCTION_DELETE));
	assert_false(agree(MT_FUNCTION_POOL, MT_FUNCTION_FREE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
