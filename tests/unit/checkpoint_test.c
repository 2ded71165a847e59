/* Checkpoints: what is read is what was written, to the last field; what is damaged, or senseless
 * behind a right checksum, is refused, and nothing that is visited lies outside what is defined. */
#include "core/model/checkpoint.h"
#include "tests/unit/trace_files.h"

#include <errno.h>

#define BLOCKS 20000u /* several parts */

struct example {
	struct simulation simulation;
	struct mt_checkpoint head;
	struct mt_checkpoint_block blocks[BLOCKS];
	uint32_t made;
};

static bool next_block(void *context, struct mt_checkpoint_block *out)
{
	struct example *x = context;

	if (x->made == x->head.block_count)
		return false;
	*out = x->blocks[x->made++];
	return true;
}

/* Totals of which the blocks are what lives. */
static void add_up(struct example *x)
{
	struct mt_profile *p = &x->simulation.profile;

	for (uint32_t g = 0; g < p->group_count; g++)
		p->groups[g].live_count = p->groups[g].live_bytes = p->groups[g].at_peak_count =
			p->groups[g].at_peak_bytes = 0;
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (!x->blocks[i].released) {
			p->groups[x->blocks[i].group].live_count++;
			p->groups[x->blocks[i].group].live_bytes += x->blocks[i].size;
		}
	for (uint32_t i = 0; i < p->group_count; i++) {
		struct mt_group *g = &p->groups[i];

		g->allocated_count += g->own_peak_count += g->live_count;
		g->allocated_bytes += g->own_peak_bytes += g->live_bytes;
	}
}

static void fill_in(struct example *x)
{
	uint64_t random = 7, number = 1000000000000ull, time_us = 5000;
	const struct mt_profile *p = &x->simulation.profile;

	x->head.thread_count = p->thread_count;
	x->head.threads = mt_alloc((p->thread_count + 1) * sizeof *x->head.threads);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct mt_checkpoint_block *b = &x->blocks[i];
		struct mt_checkpoint_thread *t =
			&x->head.threads[random_below(&random, p->thread_count)];

		number += 1 + random_below(&random, random_below(&random, 8) ? 3 : 1u << 30);
		time_us += random_below(&random, 50);
		t->allocations += 1 + random_below(&random, 5);
		t->last_number = number + 1;
		*b = (struct mt_checkpoint_block){
			.number = number,
			.address = 0x7f0000000000ull + random_next(&random) * 8ull,
			.size = random_next(&random),
			.time_ns = time_us * 1000,
			.sequence = t->allocations,
			.group = random_below(&random, p->group_count),
			.thread = (uint32_t)(t - x->head.threads),
			.position = 1,
		};
		b->usable = random_below(&random, 9) ? 0 : b->size + 1;
		b->released = !random_below(&random, 20);
		b->temporary = b->released && random_below(&random, 2);
		b->chain = number;
		b->first_size = b->size;
		b->chain_start_ns = b->time_ns;
		if (random_below(&random, 4))
			continue;
		b->position = 2 + random_below(&random, 100);
		b->chain = number - random_below(&random, 1u << 30);
		b->first_size = random_next(&random);
		b->chain_start_ns = b->time_ns - 1000 * random_below(&random, 5000);
	}
	x->head.next_number = number + 5;
	x->head.time_ns = time_us * 1000;
	x->head.block_count = BLOCKS;
	add_up(x);
}

static void make_checkpoint(struct mt_trace_writer *w, struct example *x, struct mt_buffer *made)
{
	struct mt_checkpoint_maker maker = {
		.writer = w,
		.profile = &x->simulation.profile,
		.next = next_block,
		.context = x,
		.head = x->head,
	};

	maker.head.block_count = 0;
	x->made = 0;
	while (mt_checkpoint_make_part(&maker))
		;
	assert_int_equal(maker.head.block_count, x->head.block_count);
	mt_checkpoint_make_head(w, &maker.head, made);
	mt_buffer_add(made, maker.made.data, maker.made.len);
	mt_buffer_free(&maker.made);
}

/* Definitions and totals of a small recording, then the checkpoint. */
static void write_example(struct example *x, const char *name)
{
	struct mt_trace_writer *w;
	struct mt_definitions definitions = {0};
	struct mt_buffer made = {0};
	struct mt_err err;

	memset(x, 0, sizeof *x);
	record(&x->simulation, "source", 3, 500, 100, false);
	fill_in(x);
	w = mt_trace_writer_new(create(name), &err);
	assert_non_null(w);
	assert_int_equal(mt_definitions_write(&definitions, w, &x->simulation.profile, &err), 0);
	make_checkpoint(w, x, &made);
	assert_int_equal(mt_trace_writer_put(w, &made, &err), 0);
	mt_trace_writer_free(w);
	mt_buffer_free(&made);
}

static void free_example(struct example *x)
{
	free(x->head.threads);
	simulation_free(&x->simulation);
}

struct seen {
	const struct example *example;
	const struct mt_profile *profile;
	uint32_t count;
	bool compare;
};

static int see(void *context, const struct mt_checkpoint_block *b)
{
	struct seen *seen = context;

	assert_true(
		b->group < seen->profile->group_count && b->thread < seen->profile->thread_count);
	if (seen->compare) {
		const struct mt_checkpoint_block *want = &seen->example->blocks[seen->count];

#define SAME(field) assert_int_equal(b->field, want->field)
		SAME(number);
		SAME(address);
		SAME(size);
		SAME(time_ns);
		SAME(usable);
		SAME(sequence);
		SAME(group);
		SAME(thread);
		SAME(released);
		SAME(temporary);
		SAME(position);
		SAME(chain);
		SAME(first_size);
		SAME(chain_start_ns);
	}
	seen->count++;
	return 0;
}

static int read_example(const char *name, const struct example *x, bool compare, uint32_t *visited)
{
	struct seen seen = {x, &x->simulation.profile, 0, compare};
	struct mt_checkpoint head;
	struct mt_err err;
	struct mt_trace_reader *r = mt_trace_reader_open(path_of(name), &err);

	assert_non_null(r);
	uint32_t at = mt_checkpoint_of_start(r);

	if (at == MT_NO_CHECKPOINT) {
		mt_trace_reader_free(r);
		return -ENOENT;
	}
	assert_int_equal(mt_checkpoint_before(r, mt_trace_reader_count(r)), at);
	int result = mt_checkpoint_read(&head, r, at, &x->simulation.profile, see, &seen, &err);

	assert_true(result == 0 || result == -EBADMSG || result == -ENODATA);
	if (result == 0 && compare) {
		assert_int_equal(head.next_number, x->head.next_number);
		assert_int_equal(head.time_ns, x->head.time_ns);
		assert_int_equal(head.end, mt_trace_reader_count(r));
		for (uint32_t t = 0; t < head.thread_count; t++)
			assert_memory_equal(&head.threads[t], &x->head.threads[t],
				sizeof *head.threads);
	}
	mt_checkpoint_free(&head);
	mt_trace_reader_free(r);
	*visited = seen.count;
	return result;
}

static void test_round_trip(void **state)
{
	struct example *x = mt_alloc(sizeof *x);
	uint32_t visited = 0;

	(void)state;
	write_example(x, "checkpoint");
	assert_int_equal(read_example("checkpoint", x, true, &visited), 0);
	assert_int_equal(visited, BLOCKS);
	free_example(x);
	free(x);
}

/* A part that is cut off, or of which a bit is wrong, is seen by its checksum. */
static void test_damage(void **state)
{
	struct example *x = mt_alloc(sizeof *x);
	uint32_t visited = 0;
	size_t len;

	(void)state;
	write_example(x, "checkpoint");
	uint8_t *bytes = get_file("checkpoint", &len);

	for (size_t cut = 1; cut < len; cut += 1 + len / 200) {
		put_file("cut", bytes, len - cut < 32 ? 32 : len - cut);
		assert_true(read_example("cut", x, false, &visited) < 0);
	}
	for (size_t at = len - 1; at > len / 2; at -= 1 + len / 500) {
		bytes[at] ^= 0x10;
		put_file("flipped", bytes, len);
		bytes[at] ^= 0x10;
		assert_true(read_example("flipped", x, false, &visited) < 0);
	}
	free(bytes);
	free_example(x);
	free(x);
}

/* The same blocks, one of them with another byte, behind right checksums. */
static void write_mutant(const struct example *x, struct mt_buffer *parts, uint32_t count)
{
	struct mt_definitions definitions = {0};
	struct mt_err err;
	struct mt_trace_writer *w = mt_trace_writer_new(create("mutant"), &err);

	assert_non_null(w);
	assert_int_equal(mt_definitions_write(&definitions, w, &x->simulation.profile, &err), 0);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(mt_trace_writer_block(w, MT_BLOCK_CHECKPOINT, parts[i].data,
					 parts[i].len, &err),
			0);
	mt_trace_writer_free(w);
}

static void test_senseless(void **state)
{
	struct example *x = mt_alloc(sizeof *x);
	struct mt_buffer parts[8] = {0};
	uint64_t random = 99;
	uint32_t visited = 0, refused = 0, loaded = 0;
	struct mt_err err;

	(void)state;
	write_example(x, "checkpoint");
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("checkpoint"), &err);
	uint32_t first = mt_checkpoint_of_start(r), count = mt_trace_reader_count(r) - first;

	assert_true(count <= 8);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(mt_trace_reader_payload(r, first + i, &parts[i], &err), 0);
	mt_trace_reader_free(r);
	for (unsigned round = 0; round < 3000; round++) {
		struct mt_buffer *part = &parts[random_below(&random, count)];
		uint8_t *at = &part->data[random_below(&random, 3)
				? random_below(&random, (uint32_t)part->len)
				: random_below(&random, part->len < 40 ? (uint32_t)part->len : 40)];
		uint8_t old = *at;
		struct mt_profile p;

		*at = random_below(&random, 2) ? 0xff : (uint8_t)random_next(&random);
		write_mutant(x, parts, count);
		refused += read_example("mutant", x, false, &visited) != 0;
		loaded += load("mutant", &p, &err) == 0;
		mt_profile_free(&p);
		*at = old;
	}
	assert_true(refused > 100 && loaded > 100);
	for (uint32_t i = 0; i < count; i++)
		mt_buffer_free(&parts[i]);
	free_example(x);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_senseless),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
