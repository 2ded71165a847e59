/* The life of a block: every change in every state, one by one; random events against a plain list
 * of states; and damaged events, of which every reader says the same. */
#include "core/model/live.h"
#include "core/model/replay.h"
#include "core/query/prepared_query.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define STATES 3
#define CHANGES 5
#define REFUSED 7

/* doc/block-machine.md draws this. */
static const int expected[CHANGES][STATES] = {
	[MT_BLOCK_END] = {REFUSED, MT_BLOCK_NONE, REFUSED},
	[MT_BLOCK_IMPLIED_END] = {REFUSED, MT_BLOCK_NONE, REFUSED},
	[MT_BLOCK_RELEASE] = {REFUSED, MT_BLOCK_RELEASED, REFUSED},
	[MT_BLOCK_RESTORE] = {REFUSED, REFUSED, MT_BLOCK_LIVE},
	[MT_BLOCK_CONTINUE] = {REFUSED, REFUSED, MT_BLOCK_NONE},
};

/* ---- a table of one block, which notes what it was asked, in turn ---- */

struct one {
	int state;
	char asked[8];
};

static void note(struct one *o, char what)
{
	o->asked[strlen(o->asked)] = what;
}

static void *find(void *of, enum mt_block_state state)
{
	struct one *o = of;

	return o->state == (int)state ? o : NULL;
}

static int refuse(void *of, enum mt_block_change change)
{
	(void)change;
	note(of, 'r');
	return REFUSED;
}

static void evict(void *of, void *block)
{
	assert_ptr_equal(of, block);
	note(of, 'e');
}

static int act(void *of, void *block, enum mt_block_change change)
{
	assert_ptr_equal(of, block);
	assert_int_equal(((struct one *)of)->state, mt_block_before(change));
	note(of, 'a');
	return 1;
}

static void move(void *of, void *block, enum mt_block_state state)
{
	assert_ptr_equal(of, block);
	((struct one *)of)->state = (int)state;
	note(of, 'm');
}

static void test_every_change(void **unused)
{
	static const struct mt_block_table table = {find, refuse, evict, act, move};

	(void)unused;
	for (int change = 0; change < CHANGES; change++)
		for (int state = 0; state < STATES; state++) {
			struct one o = {.state = state};
			int result = mt_block_change(&table, &o, (enum mt_block_change)change);
			int wanted = expected[change][state];

			if (result != (wanted == REFUSED ? REFUSED : 1)
				|| o.state != (wanted == REFUSED ? state : wanted))
				fail_msg("change %d in state %d gives %d and state %d", change,
					state, result, o.state);
			/* nothing happens before the place is empty, or after a refusal */
			assert_string_equal(o.asked,
				wanted == REFUSED                 ? "r"
					: wanted == MT_BLOCK_LIVE ? "eam"
								  : "am");
		}
}

/* ---- many blocks by number ---- */

#define BLOCKS (4 * MT_LIVE_RING) /* most leave the ring of the table */

struct many {
	uint8_t *states; /* by number */
	uint64_t acts, refusals;
};

static int on_change(void *of, const struct mt_event *e, struct mt_live_cell *c,
	enum mt_block_change change)
{
	struct many *m = of;

	assert_int_equal(c->number, e->number);
	assert_int_equal(c->size, 3 * e->number);
	assert_int_equal(m->states[e->number], mt_block_before(change));
	m->acts++;
	return 0;
}

static int on_refusal(void *of, const struct mt_event *e, const struct mt_live_cell *there,
	enum mt_block_change change)
{
	struct many *m = of;

	assert_int_equal(there ? there->state : MT_BLOCK_NONE, m->states[e->number]);
	assert_int_equal(expected[change][m->states[e->number]], REFUSED);
	m->refusals++;
	return 0;
}

static void test_random_events(void **unused)
{
	static const struct mt_live_reader reader = {.act = on_change, .refuse = on_refusal};
	static const uint8_t types[CHANGES] = {[MT_BLOCK_END] = MT_EVENT_FREE,
		[MT_BLOCK_IMPLIED_END] = MT_EVENT_IMPLIED_FREE,
		[MT_BLOCK_RELEASE] = MT_EVENT_RELEASE,
		[MT_BLOCK_RESTORE] = MT_EVENT_RESTORE,
		[MT_BLOCK_CONTINUE] = MT_EVENT_REALLOCATE};
	struct many m = {.states = calloc(BLOCKS, 1)};
	struct mt_live live;
	uint64_t random = 1, there = 0, at = 0;

	(void)unused;
	mt_live_init(&live);
	for (uint64_t next = 0, i = 0; i < 8 * BLOCKS; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uint64_t pick = random >> 33;
		enum mt_block_change change = (enum mt_block_change)(pick % CHANGES);

		if (next < BLOCKS && i % 4 == 0) {
			mt_live_insert(&live, next)->size = 3 * next;
			m.states[next++] = MT_BLOCK_LIVE;
		}
		struct mt_event e = {.type = types[change], .number = pick / 8 % next};

		if (change != MT_BLOCK_CONTINUE)
			assert_int_equal(mt_block_change_of(&e), change);
		mt_live_change(&live, e.number, change, &reader, &m, &e);
		if (expected[change][m.states[e.number]] != REFUSED)
			m.states[e.number] = (uint8_t)expected[change][m.states[e.number]];
	}
	for (uint64_t number = 0; number < BLOCKS; number++) {
		const struct mt_live_cell *c = mt_live_find(&live, number);

		assert_int_equal(c ? c->state : MT_BLOCK_NONE, m.states[number]);
		there += c != NULL;
	}
	assert_int_equal(live.count, there);
	while (mt_live_next(&live, &at))
		there--;
	assert_int_equal(there, 0);
	assert_true(m.acts > BLOCKS && m.refusals > BLOCKS);
	mt_live_free(&live);
	free(m.states);
}

/* ---- damaged events ---- */

struct damaged {
	struct mt_profile profile;
	struct mt_trace_reader *reader;
	struct mt_prepared_query query;
};

static void define(struct mt_profile *p)
{
	mt_profile_init(p);
	uint32_t pc =
		mt_profile_add_pc(p, &(struct mt_pc){.address = 0x401000, .module = MT_NO_MODULE});
	uint32_t frame = mt_profile_add_node(p, 0, pc);

	mt_profile_add_group(p, mt_profile_add_node(p, frame, MT_FUNCTION_MALLOC));
	mt_profile_add_thread(p, &(struct mt_thread){.name = mt_strings_add(&p->strings, "main")});
}

static void open_events(struct damaged *d, const struct mt_event *events, unsigned count,
	struct mt_source *source)
{
	struct mt_trace_running running = {0};
	struct mt_err err = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct mt_trace_writer *w = mt_trace_writer_new(dup(fd), &err);

	memset(d, 0, sizeof *d);
	define(&d->profile);
	for (unsigned i = 0; i < count; i++)
		mt_trace_writer_event(w, &events[i]);
	assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
	assert_int_equal(mt_trace_writer_finish(w, &err), 0);
	mt_trace_writer_free(w);
	d->reader = mt_trace_reader_open_fd(fd, "damaged", &err);
	assert_non_null(d->reader);
	*source = (struct mt_source){.profile = &d->profile, .reader = d->reader, .workers = 1};
	d->query = (struct mt_prepared_query){.source = source};
	d->query.bounds.to_ns = UINT64_MAX;
}

static void close_events(struct damaged *d)
{
	mt_trace_reader_free(d->reader);
	mt_profile_free(&d->profile);
}

static int visit_nothing(void *context, const struct mt_allocation *a)
{
	(void)context;
	(void)a;
	return 0;
}

/* The reallocation of a block that was not released ends nothing: totals, lifetimes and the search
 * for the peak agree on what lives. */
static void test_realloc_of_a_live_block(void **unused)
{
	static const struct mt_event events[] = {
		{.type = MT_EVENT_ALLOCATE, .number = 0, .size = 100},
		{.type = MT_EVENT_REALLOCATE, .number = 1, .previous = 0, .size = 50},
	};
	struct mt_source source;
	struct mt_replay replay;
	struct mt_err err = {0};
	struct damaged d;

	(void)unused;
	open_events(&d, events, 2, &source);
	mt_replay_init(&replay, &d.profile);
	assert_int_equal(mt_replay_events(&replay, events, NULL, 2), 0);
	assert_int_equal(replay.model.live_bytes, 150);
	assert_int_equal(d.profile.info.peak_bytes, 150);
	if (mt_prepared_query_find_peak(&d.query, &err))
		fail_msg("%s", err.text);
	assert_int_equal(d.query.peak.allocations, 2);
	mt_replay_free(&replay);
	close_events(&d);
}

static void refuses(const struct mt_event *events, unsigned count, const char *why)
{
	struct mt_source source;
	struct mt_replay replay;
	struct mt_err err = {0};
	struct damaged d;

	open_events(&d, events, count, &source);
	mt_replay_init(&replay, &d.profile);
	assert_int_equal(mt_replay_events(&replay, events, NULL, count), -EINVAL);
	assert_string_equal(replay.fault, why);
	mt_replay_free(&replay);
	if (mt_join(&d.query, 0, visit_nothing, NULL, &err) != -EINVAL || !strstr(err.text, why))
		fail_msg("lifetimes: %s, but not: %s", err.text, why);
	err.text[0] = 0;
	if (mt_prepared_query_find_peak(&d.query, &err) != -EINVAL || !strstr(err.text, why))
		fail_msg("the search for the peak: %s, but not: %s", err.text, why);
	close_events(&d);
}

/* All readers refuse the same events, for the same reason. */
static void test_refusals(void **unused)
{
	const struct mt_event begin = {.type = MT_EVENT_ALLOCATE, .size = 100};
	const struct mt_event next = {.type = MT_EVENT_ALLOCATE, .number = 1, .size = 8};
	const struct mt_event end = {.type = MT_EVENT_FREE}, release = {.type = MT_EVENT_RELEASE};
	const struct mt_event restore = {.type = MT_EVENT_RESTORE};
	const char *live = "a free refers to a block that is not live";
	const char *released = "a failed realloc refers to a block that was not released";

	(void)unused;
	refuses((struct mt_event[]){begin, release, end}, 3, live);
	refuses((struct mt_event[]){begin, release, release}, 3, live);
	refuses((struct mt_event[]){begin, restore}, 2, released);
	refuses((struct mt_event[]){begin, release, restore, next, restore}, 5, released);
}

static void test_begin(void **unused)
{
	struct mt_event e = {.type = MT_EVENT_REALLOCATE, .number = 5, .previous = 4, .group = 1};

	(void)unused;
	assert_null(mt_block_begin_fault(&e, 5, 2));
	assert_non_null(mt_block_begin_fault(&e, 4, 2));
	assert_non_null(mt_block_begin_fault(&e, 6, 2));
	assert_non_null(mt_block_begin_fault(&e, 5, 1));
	e.previous = 5;
	assert_non_null(mt_block_begin_fault(&e, 5, 2));
	e.previous = MT_BLOCK_NO_PREVIOUS;
	assert_null(mt_block_begin_fault(&e, 5, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_change),
		cmocka_unit_test(test_random_events),
		cmocka_unit_test(test_realloc_of_a_live_block),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
