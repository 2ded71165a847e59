/* The model beside a slow and obvious one that keeps a log of everything and asks it each question
 * anew. */
#include "tests/unit/trace_simulation.h"

#define OPERATIONS 300
#define GROUPS 5
#define THREADS 3
#define ROUNDS 4000

enum operation_type { ALLOCATION, FREE, RELEASE, RESTORE, REALLOCATION };

struct operation {
	enum operation_type type;
	uint32_t block; /* index of the operation that allocated it */
	uint32_t group, thread;
	uint64_t size, time_ns;
};

struct log {
	struct operation operations[OPERATIONS];
	uint32_t count;
};

struct expected {
	struct mt_group groups[GROUPS];
	struct mt_info info;
};

static bool allocates(const struct operation *o)
{
	return o->type == ALLOCATION || o->type == REALLOCATION;
}

/* Bytes and count that the group (GROUPS: all) holds after the first n operations. */
static void live_after(const struct log *log, uint32_t n, uint32_t group, uint64_t *bytes,
	uint64_t *count)
{
	*bytes = *count = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct operation *o = &log->operations[i];
		bool up = allocates(o) || o->type == RESTORE;

		if (group != GROUPS && o->group != group)
			continue;
		*bytes += up ? o->size : -o->size;
		*count += up ? 1 : -1ull;
	}
}

/* No allocation of its thread lies between a block's and its free. */
static bool temporary(const struct log *log, uint32_t allocation, uint32_t end)
{
	for (uint32_t i = allocation + 1; i < end; i++)
		if (allocates(&log->operations[i])
			&& log->operations[i].thread == log->operations[allocation].thread)
			return false;
	return true;
}

/* A release that a restore undid. */
static bool undone(const struct log *log, uint32_t release)
{
	for (uint32_t i = release + 1; i < log->count; i++) {
		if (log->operations[i].block != log->operations[release].block)
			continue;
		return log->operations[i].type == RESTORE;
	}
	return false;
}

static void expect_operation(const struct log *log, uint32_t i, struct expected *e)
{
	const struct operation *o = &log->operations[i];
	struct mt_group *g = &e->groups[o->group];

	if (allocates(o)) {
		g->first_ns =
			!g->allocated_count || o->time_ns < g->first_ns ? o->time_ns : g->first_ns;
		g->last_ns = o->time_ns > g->last_ns ? o->time_ns : g->last_ns;
		g->min_size = !g->allocated_count || o->size < g->min_size ? o->size : g->min_size;
		g->max_size = o->size > g->max_size ? o->size : g->max_size;
		g->allocated_count++;
		g->allocated_bytes += o->size;
		e->info.allocated_bytes += o->size;
		e->info.allocations += o->type == ALLOCATION;
		e->info.reallocations += o->type == REALLOCATION;
	}
	e->info.frees += o->type == FREE;
	if ((o->type == FREE || (o->type == RELEASE && !undone(log, i)))
		&& temporary(log, o->block, i)) {
		g->temporary_count++;
		e->info.temporary_count++;
	}
}

static void expect(const struct log *log, struct expected *e)
{
	uint64_t bytes = 0, count = 0;
	uint32_t peak = 0;

	memset(e, 0, sizeof *e);
	for (uint32_t n = 1; n <= log->count; n++) {
		const struct operation *o = &log->operations[n - 1];
		struct mt_group *g = &e->groups[o->group];

		expect_operation(log, n - 1, e);
		live_after(log, n, o->group, &bytes, &count);
		g->own_peak_bytes = bytes > g->own_peak_bytes ? bytes : g->own_peak_bytes;
		g->own_peak_count = count > g->own_peak_count ? count : g->own_peak_count;
		live_after(log, n, GROUPS, &bytes, &count);
		if (bytes > e->info.peak_bytes) {
			e->info.peak_bytes = bytes;
			e->info.peak_ns = o->time_ns;
			peak = n;
		}
	}
	for (uint32_t group = 0; group < GROUPS; group++) {
		struct mt_group *g = &e->groups[group];

		live_after(log, peak, group, &g->at_peak_bytes, &g->at_peak_count);
		live_after(log, log->count, group, &g->live_bytes, &g->live_count);
	}
	e->info.leaked_bytes = bytes;
	e->info.leaked_count = count;
}

struct player {
	struct log log;
	struct mt_profile profile;
	struct mt_model model;
	struct mt_block blocks[OPERATIONS]; /* by operation */
	uint32_t live[OPERATIONS], live_count, released[OPERATIONS], released_count;
	uint64_t random, now_ns;
};

static struct operation *note(struct player *p, enum operation_type type, uint32_t block)
{
	struct operation *o = &p->log.operations[p->log.count++];
	const struct mt_block *b = &p->blocks[block];

	*o = (struct operation){type, block, b->group, b->thread, b->size, p->now_ns};
	return o;
}

static void play_allocation(struct player *p, bool reallocated)
{
	uint32_t id = p->log.count;
	struct mt_block *b = &p->blocks[id];

	*b = (struct mt_block){
		.size = random_below(&p->random, 6) * random_below(&p->random, 50),
		.number = id,
		.time_ns = p->now_ns,
		.group = random_below(&p->random, GROUPS),
		.thread = random_below(&p->random, THREADS),
	};
	mt_model_allocate(&p->model, b, reallocated);
	note(p, reallocated ? REALLOCATION : ALLOCATION, id);
	p->live[p->live_count++] = id;
}

static uint32_t take(struct player *p, uint32_t *from, uint32_t *count)
{
	uint32_t at = random_below(&p->random, 2) ? *count - 1 : random_below(&p->random, *count);
	uint32_t id = from[at];

	from[at] = from[--*count];
	return id;
}

static void play(struct player *p)
{
	uint32_t what = random_below(&p->random, 10);

	p->now_ns += random_below(&p->random, 3) * 100000;
	if (what < 4 || !p->live_count) {
		play_allocation(p, false);
	} else if (what < 6 && p->released_count) {
		uint32_t id = take(p, p->released, &p->released_count);

		if (random_below(&p->random, 2)) {
			play_allocation(p, true);
			return;
		}
		mt_model_restore(&p->model, &p->blocks[id], p->now_ns);
		note(p, RESTORE, id);
		p->live[p->live_count++] = id;
	} else if (what < 7) {
		uint32_t id = take(p, p->live, &p->live_count);

		mt_model_release(&p->model, &p->blocks[id], p->now_ns);
		note(p, RELEASE, id);
		p->released[p->released_count++] = id;
	} else {
		uint32_t id = take(p, p->live, &p->live_count);

		mt_model_free(&p->model, &p->blocks[id], p->now_ns);
		note(p, FREE, id);
	}
}

static void player_start(struct player *p, uint64_t seed)
{
	memset(p, 0, sizeof *p);
	p->random = seed;
	mt_profile_init(&p->profile);
	for (uint32_t i = 0; i < GROUPS; i++)
		mt_profile_add_group(&p->profile,
			mt_profile_add_node(&p->profile, 0, MT_FUNCTION_MALLOC + i));
	mt_model_init(&p->model, &p->profile);
}

static void player_free(struct player *p)
{
	mt_model_free_memory(&p->model);
	mt_profile_free(&p->profile);
}

static void compare(struct player *p)
{
	struct expected e;
	const struct mt_info *info = &p->profile.info;

	expect(&p->log, &e);
	mt_model_settle(&p->model);
	for (uint32_t i = 0; i < GROUPS; i++) {
		const struct mt_group *a = &p->profile.groups[i], *b = &e.groups[i];

		assert_int_equal(a->allocated_count, b->allocated_count);
		assert_int_equal(a->allocated_bytes, b->allocated_bytes);
		assert_int_equal(a->live_count, b->live_count);
		assert_int_equal(a->live_bytes, b->live_bytes);
		assert_int_equal(a->temporary_count, b->temporary_count);
		assert_int_equal(a->own_peak_count, b->own_peak_count);
		assert_int_equal(a->own_peak_bytes, b->own_peak_bytes);
		assert_int_equal(a->at_peak_count, b->at_peak_count);
		assert_int_equal(a->at_peak_bytes, b->at_peak_bytes);
		assert_int_equal(a->first_ns, b->first_ns);
		assert_int_equal(a->last_ns, b->last_ns);
		assert_int_equal(a->min_size, b->min_size);
		assert_int_equal(a->max_size, b->max_size);
	}
	assert_int_equal(info->allocations, e.info.allocations);
	assert_int_equal(info->frees, e.info.frees);
	assert_int_equal(info->reallocations, e.info.reallocations);
	assert_int_equal(info->allocated_bytes, e.info.allocated_bytes);
	assert_int_equal(info->leaked_count, e.info.leaked_count);
	assert_int_equal(info->leaked_bytes, e.info.leaked_bytes);
	assert_int_equal(info->peak_bytes, e.info.peak_bytes);
	assert_int_equal(info->peak_ns, e.info.peak_ns);
	assert_int_equal(info->temporary_count, e.info.temporary_count);
}

static void test_like_the_obvious_model(void **state)
{
	struct player p;

	(void)state;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint32_t wanted;

		player_start(&p, round);
		wanted = 1 + random_below(&p.random, round % 20 ? 40 : OPERATIONS);
		while (p.log.count < wanted) {
			play(&p);
			if (!random_below(&p.random, 15))
				compare(&p); /* settling in between changes nothing */
		}
		compare(&p);
		player_free(&p);
	}
}

/* ---- timeline ---- */

static void check_timeline(const struct player *p)
{
	const struct mt_profile *f = &p->profile;
	uint64_t bytes = 0, count = 0;
	uint32_t i = 0;

	assert_true(f->sample_count <= MT_SAMPLES_MAX);
	assert_int_equal(f->sample_count, p->now_ns / f->step_ns + 1);
	for (uint32_t step = 0; step < f->sample_count; step++) {
		uint64_t most = bytes, allocations = 0, frees = 0;

		for (; i < p->log.count && p->log.operations[i].time_ns / f->step_ns == step; i++) {
			bool up = allocates(&p->log.operations[i]);

			allocations += up;
			frees += !up;
			live_after(&p->log, i + 1, GROUPS, &bytes, &count);
			most = bytes > most ? bytes : most;
		}
		assert_int_equal(f->samples[step].live_bytes, bytes);
		assert_int_equal(f->samples[step].live_count, count);
		assert_int_equal(f->samples[step].max_bytes, most);
		assert_int_equal(f->samples[step].allocations, allocations);
		assert_int_equal(f->samples[step].frees, frees);
	}
}

/* Looks at the process, at times that may lie before that of what comes next. */
struct looks {
	uint64_t ns[OPERATIONS];
	uint32_t count;
};

static void look(struct player *p, struct looks *l)
{
	uint64_t ns = p->now_ns + random_below(&p->random, 30) * 700000;

	if (l->count && l->ns[l->count - 1] > ns)
		ns = l->ns[l->count - 1];
	l->ns[l->count++] = ns;
	mt_model_advance(&p->model, ns, l->count);
}

static void check_memory(const struct player *p, const struct looks *l)
{
	const struct mt_profile *f = &p->profile;

	for (uint32_t step = 0, at = 0; step < f->sample_count; step++) {
		while (at < l->count && l->ns[at] / f->step_ns <= step)
			at++;
		assert_int_equal(f->samples[step].memory.rss_bytes, at);
	}
}

static void test_timeline(void **state)
{
	struct player p;

	(void)state;
	for (uint64_t round = 0; round < 300; round++) {
		struct looks looks = {0};

		player_start(&p, round);
		while (p.log.count < OPERATIONS) {
			p.now_ns += random_below(&p.random, 20)
				? random_below(&p.random, 900000)
				: (uint64_t)random_below(&p.random, 1000) * 1000000 * (round % 10);
			for (uint32_t i = random_below(&p.random, 3); i--;)
				mt_model_reopen(&p.model,
					p.now_ns / (1 + random_below(&p.random, 2)));
			mt_model_reopen(&p.model, p.now_ns);
			if (random_below(&p.random, 2) || !p.live_count) {
				play_allocation(&p, false);
			} else {
				uint32_t id = take(&p, p.live, &p.live_count);

				mt_model_free(&p.model, &p.blocks[id], p.now_ns);
				note(&p, FREE, id);
			}
			if (!random_below(&p.random, 20))
				mt_model_settle(&p.model);
			if (round % 2 && !random_below(&p.random, 10))
				look(&p, &looks);
		}
		if (looks.count && looks.ns[looks.count - 1] > p.now_ns)
			p.now_ns = looks.ns[looks.count - 1];
		mt_model_advance(&p.model, p.now_ns, 0);
		mt_model_settle(&p.model);
		check_timeline(&p);
		check_memory(&p, &looks);
		player_free(&p);
	}
}

static void test_far_times(void **state)
{
	struct player p;

	(void)state;
	player_start(&p, 1);
	mt_model_advance(&p.model, 5000000, 4096);
	mt_model_advance(&p.model, 8500000, 8192);
	mt_model_settle(&p.model);
	assert_int_equal(p.profile.sample_count, 9);
	assert_int_equal(p.profile.samples[4].memory.rss_bytes, 0);
	assert_int_equal(p.profile.samples[6].memory.rss_bytes, 4096);
	assert_int_equal(p.profile.samples[8].memory.rss_bytes, 8192);
	assert_int_equal(p.profile.info.wall_ns, 8500000);
	mt_model_advance(&p.model, 1ull << 62, 0);
	mt_model_settle(&p.model);
	assert_true(p.profile.sample_count <= MT_SAMPLES_MAX);
	assert_int_equal(p.profile.info.wall_ns, 1ull << 62);
	player_free(&p);
}

static struct mt_block allocate_at(struct player *p, uint64_t number, uint64_t ms)
{
	struct mt_block b = {.number = number, .time_ns = ms * 1000000, .size = 100};

	mt_model_allocate(&p->model, &b, false);
	return b;
}

/* Neither a step in which a realloc began that failed in another, nor that one, is without an
 * event. */
static void test_reopened_beside_restore(void **state)
{
	static const uint64_t live[] = {100, 100, 0, 0, 0, 200, 200, 200, 200};
	struct mt_block b;
	struct player p;

	(void)state;
	player_start(&p, 1);
	b = allocate_at(&p, 0, 0);
	mt_model_release(&p.model, &b, 2000000);
	mt_model_restore(&p.model, &b, 5000000);
	mt_model_advance(&p.model, 8000000, 0);
	mt_model_reopen(&p.model, 3000000);
	allocate_at(&p, 1, 5);
	mt_model_settle(&p.model);
	assert_int_equal(p.profile.sample_count, 9);
	for (uint32_t i = 0; i < 9; i++) {
		assert_int_equal(p.profile.samples[i].live_bytes, live[i]);
		assert_true(p.profile.samples[i].max_bytes >= live[i]);
	}
	player_free(&p);
}

/* Whoever reads the profile meanwhile sees all steps, with their memory. */
static void test_settled_while_reopened(void **state)
{
	struct player p;

	(void)state;
	player_start(&p, 1);
	for (uint64_t ms = 2; ms < 6; ms++)
		mt_model_advance(&p.model, ms * 1000000, 100 * ms);
	for (uint64_t number = 0; number < 3; number++) {
		mt_model_reopen(&p.model, (number + 1) * 1000000);
		allocate_at(&p, number, number + 1);
		mt_model_settle(&p.model);
		assert_int_equal(p.profile.sample_count, 6);
		for (uint32_t i = 0; i < 6; i++) {
			assert_int_equal(p.profile.samples[i].memory.rss_bytes,
				i < 2 ? 0 : 100 * i);
			assert_int_equal(p.profile.samples[i].live_count,
				i < number + 1 ? i : number + 1);
		}
	}
	player_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_the_obvious_model),
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_far_times),
		cmocka_unit_test(test_reopened_beside_restore),
		cmocka_unit_test(test_settled_while_reopened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
