/* The trace file: what goes in comes out; what is cut or damaged is noticed and never believed. */
#include "core/trace/block.h"
#include "core/trace/pair_encoder.h"
#include "tests/unit/same_steps.h"
#include "tests/unit/trace_files.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

/* ---- events ---- */

#define EVENTS 200000

struct expected_events {
	struct mt_event *events;
	uint32_t at;
};

static int compare_event(void *context, const struct mt_event *e)
{
	struct expected_events *x = context;

	assert_memory_equal(e, &x->events[x->at], sizeof *e);
	x->at++;
	return 0;
}

static struct mt_event random_event(uint64_t *random, uint64_t *next, uint64_t *us)
{
	bool wild = !random_below(random, 20);
	struct mt_event e;

	memset(&e, 0, sizeof e); /* padding too: events are compared as bytes */
	e.type = random_below(random, 3) ? random_below(random, 2) * 2
					 : random_below(random, MT_EVENT_TYPES);
	*us += random_below(random, 3) ? 0 : random_below(random, 200) - (*us > 1000000 ? 50u : 0u);
	e.time_ns = *us * 1000;
	e.thread = wild ? random_next(random) : random_below(random, 3);
	if (e.type <= MT_EVENT_REALLOCATE) {
		e.group = wild ? random_next(random) * 2 + 1 : random_below(random, 50);
		e.size = wild ? ~0ull - random_next(random) : random_below(random, 2000);
		e.address = wild ? ~0ull - random_next(random)
				 : 0x5000 + 16ull * random_below(random, 300);
		e.number = (*next)++;
		if (e.type == MT_EVENT_REALLOCATE)
			e.previous = wild ? ~0ull : e.number - random_below(random, 20);
		return e;
	}
	if (e.type == MT_EVENT_NOTE) {
		e.function = random_below(random, MT_NOTES);
		e.size = wild ? ~0ull - random_next(random) : random_below(random, 5000);
		return e;
	}
	e.function = wild ? 255 : MT_FUNCTION_FREE + random_below(random, 2);
	if (e.type == MT_EVENT_UNKNOWN_FREE)
		e.address = wild ? 1 : 0x9000 + random_below(random, 5000);
	else
		e.number = wild ? ~0ull - 5
				: *next - 1 - random_below(random, 10 + (uint32_t)(*next / 2));
	return e;
}

/* The allocation and then the free of its block, as one; and others like it. Returns the last. */
static uint32_t write_pairs(struct mt_trace_writer *w, struct mt_event *events, uint32_t at,
	uint64_t *random, uint64_t *us, uint64_t *next)
{
	struct mt_pair_encoder encoder =
		mt_trace_writer_pairs(w, events[at].thread, events[at].number, events[at].time_ns);
	uint32_t count = 1 + random_below(random, 4);

	for (uint32_t i = 0; i < count && i < encoder.room; i++, at += 2) {
		struct mt_event *begin = &events[at], *end = begin + 1;

		if (i)
			begin->type = MT_EVENT_TYPES;
		while (begin->type > MT_EVENT_REALLOCATE)
			*begin = random_event(random, next, us);
		begin->type = MT_EVENT_ALLOCATE;
		begin->thread = encoder.thread;
		begin->previous = 0;
		*us += random_below(random, 3) ? 0 : random_below(random, 200);
		*end = (struct mt_event){
			.type = MT_EVENT_FREE,
			.function = (uint8_t)(MT_FUNCTION_FREE + random_below(random, 2)),
			.thread = begin->thread,
			.time_ns = *us * 1000,
			.number = begin->number,
		};
		mt_pair_encode_times(&encoder, begin->time_ns, end->time_ns);
		mt_pair_encode(&encoder, begin->address, begin->size, begin->group, end->function);
	}
	mt_pair_encoder_end(&encoder);
	return at - 1;
}

static void test_events_round_trip(void **state)
{
	struct mt_err err;
	struct expected_events x = {calloc(EVENTS, sizeof *x.events), 0};
	uint64_t random = 7, next = 0, us = 1000000;
	struct mt_trace_writer *w = mt_trace_writer_new(create("events"), &err);
	struct mt_trace_running running = {1, 2, 3, 4, 5};
	uint32_t flush_at = 60000;

	(void)state;
	assert_non_null(w);
	for (uint32_t i = 0; i < EVENTS; i++) {
		x.events[i] = random_event(&random, &next, &us);
		if (x.events[i].type == MT_EVENT_ALLOCATE && i + 8 < EVENTS
			&& random_below(&random, 4))
			i = write_pairs(w, x.events, i, &random, &us, &next);
		else
			mt_trace_writer_event(w, &x.events[i]);
		if (i >= flush_at) {
			flush_at = i + 60000 - random_below(&random, 50000);
			assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
		}
	}
	assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
	assert_int_equal(mt_trace_writer_finish(w, &err), 0);
	uint64_t bytes = mt_trace_writer_bytes(w);

	mt_trace_writer_free(w);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("events"), &err);

	assert_non_null(r);
	assert_true(mt_trace_reader_complete(r));
	assert_int_equal(mt_trace_reader_file_bytes(r), bytes);
	for (uint32_t i = 0; i < mt_trace_reader_count(r); i++) {
		const struct mt_trace_block *b = mt_trace_reader_block(r, i);

		if (b->type != MT_BLOCK_EVENTS)
			continue;
		assert_memory_equal(&b->running, &running, sizeof running);
		assert_int_equal(mt_trace_reader_events(r, i, compare_event, &x, &err), 0);
	}
	assert_int_equal(x.at, EVENTS);
	mt_trace_reader_free(r);
	free(x.events);
}

/* malloc has a cache of freed blocks for each thread: what two threads in turn allocate out of
 * theirs is foreseen as what one does. */
static void test_threads_in_turn(void **state)
{
	struct mt_event live[2][16], e = {.size = 48, .function = MT_FUNCTION_FREE};
	uint64_t freed[2][16], random = 5, number = 0, bytes[2];
	struct mt_err err;

	(void)state;
	for (uint32_t threads = 1; threads <= 2; threads++) {
		struct mt_trace_writer *w = mt_trace_writer_new(create("turns"), &err);
		uint32_t counts[2] = {0, 0};

		for (uint32_t i = 0; i < 32; i++)
			freed[i / 16][i % 16] = 0x10000 + i * 64;
		for (uint32_t i = 0; i < 50000; i++) {
			uint32_t t = i % threads, *count = &counts[t];
			bool begin = *count < 4 || (*count < 12 && random_below(&random, 2));

			e.thread = t;
			if (begin) {
				e.type = MT_EVENT_ALLOCATE;
				e.number = number++;
				e.address = freed[t][15 - *count];
				live[t][(*count)++] = e;
			} else {
				uint32_t which = random_below(&random, *count);

				e = live[t][which];
				e.type = MT_EVENT_FREE;
				live[t][which] = live[t][--*count];
				freed[t][15 - *count] = e.address;
			}
			mt_trace_writer_event(w, &e);
		}
		assert_int_equal(mt_trace_writer_finish(w, &err), 0);
		bytes[threads - 1] = mt_trace_writer_bytes(w);
		mt_trace_writer_free(w);
		number = 0;
	}
	assert_true(bytes[1] < bytes[0] * 5 / 4);
}

/* A pair for which there is room for one event goes into the next block. */
static void test_pair_at_the_end(void **state)
{
	struct mt_event e = {.type = MT_EVENT_ALLOCATE, .function = MT_FUNCTION_FREE};
	struct mt_pair_encoder encoder;
	struct mt_trace_writer *w;
	struct mt_err err;

	(void)state;
	for (uint32_t singles = MT_BLOCK_EVENTS_MAX - 2; singles <= MT_BLOCK_EVENTS_MAX;
		singles++) {
		uint32_t first = singles == MT_BLOCK_EVENTS_MAX - 1 ? singles : MT_BLOCK_EVENTS_MAX;
		const struct mt_trace_running running = {0};

		w = mt_trace_writer_new(create("pair"), &err);
		for (e.number = 0; e.number < singles; e.number++)
			mt_trace_writer_event(w, &e);
		encoder = mt_trace_writer_pairs(w, 0, e.number++, 0);
		mt_pair_encode(&encoder, 0, 0, 0, MT_FUNCTION_FREE);
		mt_pair_encoder_end(&encoder);
		mt_trace_writer_event(w, &e);
		assert_int_equal(mt_trace_writer_flush(w, &running, &err), 0);
		assert_int_equal(mt_trace_writer_finish(w, &err), 0);
		mt_trace_writer_free(w);
		struct mt_trace_reader *r = mt_trace_reader_open(path_of("pair"), &err);

		assert_non_null(r);
		assert_int_equal(mt_trace_reader_block(r, 0)->event_count, first);
		assert_int_equal(mt_trace_reader_block(r, 1)->event_count, singles + 3 - first);
		mt_trace_reader_free(r);
	}
}

static void test_incompressible_block(void **state)
{
	uint8_t noise[5000];
	uint64_t random = 3;
	struct mt_err err;
	struct mt_buffer back = {0};
	struct mt_trace_writer *w = mt_trace_writer_new(create("noise"), &err);

	(void)state;
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)random_next(&random);
	assert_int_equal(mt_trace_writer_block(w, MT_BLOCK_SYMBOLS, noise, sizeof noise, &err), 0);
	assert_int_equal(mt_trace_writer_block(w, MT_BLOCK_SYMBOLS, NULL, 0, &err), 0);
	assert_int_equal(mt_trace_writer_finish(w, &err), 0);
	mt_trace_writer_free(w);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("noise"), &err);

	assert_int_equal(mt_trace_reader_payload(r, 0, &back, &err), 0);
	assert_int_equal(back.len, sizeof noise);
	assert_memory_equal(back.data, noise, sizeof noise);
	assert_int_equal(mt_trace_reader_payload(r, 1, &back, &err), 0);
	assert_int_equal(back.len, 0);
	assert_true(mt_trace_reader_payload(r, 99, &back, &err) < 0);
	mt_buffer_free(&back);
	mt_trace_reader_free(r);
}

/* ---- profiles ---- */

static void test_totals_and_replay(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct simulation s;
		struct mt_profile p;
		struct mt_err err;

		for (int totals = 0; totals < 2; totals++) {
			record(&s, "whole", seed, 50 + 100 * (unsigned)seed,
				40 + 20 * (unsigned)seed, totals);
			assert_int_equal(load("whole", &p, &err), 0);
			assert_true(profiles_equal(&p, &s.profile));
			assert_int_equal(p.info.ended, totals);
			assert_int_equal(p.info.recorder_lost, 0);
			assert_int_equal(p.info.pid, 4711);
			assert_int_equal(p.info.start_unix_ns, 1700000000000000000ull);
			assert_int_equal(p.argument_count, 1);
			assert_string_equal(mt_strings_get(&p.strings, p.arguments[0]),
				"./program");
			assert_memory_equal(p.nodes, s.profile.nodes,
				p.node_count * sizeof *p.nodes);
			assert_memory_equal(p.pcs, s.profile.pcs, p.pc_count * sizeof *p.pcs);
			assert_memory_equal(p.modules, s.profile.modules,
				p.module_count * sizeof *p.modules);
			assert_memory_equal(p.threads, s.profile.threads,
				p.thread_count * sizeof *p.threads);
			assert_int_equal(p.sample_count, s.profile.sample_count);
			assert_same_steps(&p, &s.profile);
			if (totals)
				assert_memory_equal(p.samples, s.profile.samples,
					p.sample_count * sizeof *p.samples);
			mt_profile_free(&p);
			simulation_free(&s);
		}
	}
}

/* The trace of a recorder that was killed: the last it told of is later than the last events, which
 * stand behind. */
static void test_info_before_events(void **state)
{
	struct simulation s;
	struct mt_trace_running running;
	struct mt_profile p;
	struct mt_err err;

	(void)state;
	simulation_start(&s, 1, create("cut"));
	s.now_ns = 1000000;
	simulation_allocate(&s, NULL);
	mt_model_advance(&s.model, 20000000, 4242);
	mt_model_settle(&s.model);
	running = simulation_running(&s);
	assert_int_equal(mt_definitions_write(&s.definitions, s.writer, &s.profile, &err), 0);
	assert_int_equal(mt_info_write(s.writer, &s.profile, &err), 0);
	assert_int_equal(mt_trace_writer_flush(s.writer, &running, &err), 0);
	assert_int_equal(mt_trace_writer_finish(s.writer, &err), 0);
	assert_int_equal(load("cut", &p, &err), 0);
	assert_int_equal(p.sample_count, 21);
	assert_same_steps(&p, &s.profile);
	assert_int_equal(p.samples[0].memory.rss_bytes, 0);
	assert_int_equal(p.samples[20].memory.rss_bytes, 4242);
	mt_profile_free(&p);
	simulation_free(&s);
}

/* What the trace held after each block, by the offset where the block ends. */
struct prefix {
	uint64_t end;
	struct mt_info info;
};

struct prefixes {
	struct prefix *items;
	uint32_t count;
};

/* Replays the first n blocks of the file for every n. */
static struct prefixes find_prefixes(const char *name, const uint8_t *bytes)
{
	struct mt_err err;
	struct mt_trace_reader *r = mt_trace_reader_open(path_of(name), &err);
	uint32_t count = mt_trace_reader_count(r);
	struct prefixes x = {calloc(count + 1, sizeof *x.items), 0};

	for (uint32_t i = 0; i <= count; i++) {
		struct mt_profile p;
		uint64_t end = i < count ? mt_trace_reader_block(r, i)->offset
					 : mt_trace_reader_file_bytes(r) - 32;

		put_file("prefix", bytes, end);
		assert_int_equal(load("prefix", &p, &err), 0);
		x.items[x.count++] = (struct prefix){end, p.info};
		mt_profile_free(&p);
	}
	mt_trace_reader_free(r);
	return x;
}

static bool counts_equal(const struct mt_info *a, const struct mt_info *b)
{
	return a->allocations == b->allocations && a->frees == b->frees
		&& a->leaked_bytes == b->leaked_bytes && a->reallocations == b->reallocations
		&& a->allocated_bytes == b->allocated_bytes && a->leaked_count == b->leaked_count
		&& a->peak_bytes == b->peak_bytes && a->peak_ns == b->peak_ns
		&& a->temporary_count == b->temporary_count && a->ended == b->ended
		&& a->wall_ns == b->wall_ns && a->unknown_frees == b->unknown_frees
		&& a->implied_frees == b->implied_frees;
}

static void test_cut_at_every_byte(void **state)
{
	struct simulation s;
	struct mt_profile p;
	struct mt_err err;
	size_t len;

	(void)state;
	record(&s, "small", 5, 150, 40, true);
	uint8_t *bytes = get_file("small", &len);
	struct prefixes x = find_prefixes("small", bytes);
	uint32_t whole = 0;

	assert_true(x.count > 15);
	for (size_t cut = 0; cut <= len; cut++) {
		put_file("cut", bytes, cut);
		int result = load("cut", &p, &err);

		if (cut < sizeof(struct mt_file_header)) {
			assert_int_equal(result, -EINVAL);
			assert_non_null(strstr(err.text, "is not a memtui trace"));
			continue;
		}
		assert_int_equal(result, 0);
		while (whole + 1 < x.count && x.items[whole + 1].end <= cut)
			whole++;
		assert_true(counts_equal(&p.info, &x.items[whole].info));
		assert_int_equal(p.info.recorder_lost, !p.info.ended);
		mt_profile_free(&p);
	}
	assert_int_equal(x.items[x.count - 1].info.ended, 1);
	free(x.items);
	free(bytes);
	simulation_free(&s);
}

/* Damage is reported, or what loads is what was recorded; and it is never anything but a prefix. */
static void check_flipped(const struct prefixes *x, const struct mt_profile *whole, size_t at)
{
	struct mt_err err = {0};
	struct mt_profile p = {0};
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("flipped"), &err);
	const char *reason;
	bool known = false;

	if (!r) {
		assert_true(at < sizeof(struct mt_file_header) && err.code < 0);
		return;
	}
	int result = mt_profile_load(&p, r, NULL, NULL, &err);
	uint64_t damage = mt_trace_reader_damage(r, &reason);

	assert_int_equal(result, 0);
	if (!profiles_equal(&p, whole)) {
		assert_true(damage && damage <= at && reason && *reason);
		assert_true(p.info.recorder_lost);
		for (uint32_t i = 0; i < x->count; i++)
			known |= counts_equal(&p.info, &x->items[i].info);
		assert_true(known);
	}
	mt_profile_free(&p);
	mt_trace_reader_free(r);
}

static void flip_every_byte(bool totals)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};
	struct simulation s;
	size_t len;

	record(&s, "small", 6, 120, 40, totals);
	uint8_t *bytes = get_file("small", &len);
	struct prefixes x = find_prefixes("small", bytes);

	for (size_t at = 0; at < len; at++)
		for (size_t m = 0; m < sizeof masks; m++) {
			bytes[at] ^= masks[m];
			put_file("flipped", bytes, len);
			check_flipped(&x, &s.profile, at);
			bytes[at] ^= masks[m];
		}
	free(x.items);
	free(bytes);
	simulation_free(&s);
}

static void test_flip_every_byte(void **state)
{
	(void)state;
	flip_every_byte(true);
	flip_every_byte(false);
}

/* Every byte of every block is checked when the block itself is read. */
static void test_flip_is_seen_by_payload(void **state)
{
	struct simulation s;
	struct mt_err err;
	struct mt_buffer before = {0}, after = {0};
	size_t len;

	(void)state;
	record(&s, "small", 8, 100, 50, true);
	uint8_t *bytes = get_file("small", &len);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("small"), &err);
	int fd = open(path_of("small"), O_WRONLY);

	for (uint32_t i = 0; i < mt_trace_reader_count(r); i++) {
		uint64_t at = mt_trace_reader_block(r, i)->offset;
		uint64_t end = i + 1 < mt_trace_reader_count(r)
			? mt_trace_reader_block(r, i + 1)->offset
			: len - 32;

		assert_int_equal(mt_trace_reader_payload(r, i, &before, &err), 0);
		for (; at < end; at++) {
			uint8_t flipped = bytes[at] ^ 0x10;

			assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
			int result = mt_trace_reader_payload(r, i, &after, &err);

			/* zstd ignores one reserved bit of its frame header; the content is the
			 * same then */
			assert_true(result == -EBADMSG
				|| (after.len == before.len
					&& !memcmp(after.data, before.data, after.len)));
			assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t)at), 1);
		}
	}
	close(fd);
	mt_buffer_free(&before);
	mt_buffer_free(&after);
	mt_trace_reader_free(r);
	free(bytes);
	simulation_free(&s);
}

static void test_growing(void **state)
{
	struct simulation s;
	struct mt_profile p;
	struct mt_err err;
	size_t len;

	(void)state;
	record(&s, "small", 9, 200, 40, true);
	uint8_t *bytes = get_file("small", &len);
	struct mt_trace_reader *whole = mt_trace_reader_open(path_of("small"), &err);
	int fd = create("growing");
	size_t done = 32;

	assert_int_equal(write(fd, bytes, done), done);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("growing"), &err);

	assert_non_null(r);
	assert_int_equal(mt_trace_reader_count(r), 0);
	while (done < len) {
		size_t more = len - done < 37 ? len - done : 37;

		assert_int_equal(write(fd, bytes + done, more), more);
		done += more;
		assert_true(mt_trace_reader_refresh(r, &err) >= 0);
	}
	assert_int_equal(mt_trace_reader_count(r), mt_trace_reader_count(whole));
	assert_true(mt_trace_reader_complete(r));
	assert_int_equal(mt_trace_reader_damage(r, NULL), 0);
	memset(&p, 0, sizeof p);
	assert_int_equal(mt_profile_load(&p, r, NULL, NULL, &err), 0);
	assert_true(profiles_equal(&p, &s.profile));
	assert_int_equal(ftruncate(fd, 100), 0);
	mt_profile_free(&p);
	mt_trace_reader_free(whole);
	mt_trace_reader_free(r);
	close(fd);
	free(bytes);
	simulation_free(&s);
}

/* ---- opening and writing ---- */

static void expect_not_a_trace(const char *name, const char *words)
{
	struct mt_err err = {0};

	assert_null(mt_trace_reader_open(path_of(name), &err));
	assert_true(err.code < 0);
	assert_non_null(strstr(err.text, words));
}

static void test_not_a_trace(void **state)
{
	(void)state;
	put_file("empty", "", 0);
	put_file("text", "int main(void)\n{\n\treturn 0;\n}\n", 30);
	put_file("short_text", "hello", 5);
	put_file("binary",
		"\x7f"
		"ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		33);
	put_file("header", "memtui trace", 12);
	mkfifo(path_of("fifo"), 0600);
	expect_not_a_trace("empty", "is not a memtui trace: it is empty");
	expect_not_a_trace("text", "is not a memtui trace: it is a text file");
	expect_not_a_trace("short_text", "is not a memtui trace: it is a text file");
	expect_not_a_trace("binary", "is not a memtui trace");
	expect_not_a_trace("header", "ends at offset 12");
	expect_not_a_trace("", "is not a memtui trace: it is a directory");
	expect_not_a_trace("fifo", "is not a memtui trace: it is not a regular file");
	expect_not_a_trace("nowhere", "No such file");
}

static void test_version(void **state)
{
	struct mt_file_header h = {.magic = MT_FILE_MAGIC, .size = sizeof h};
	char words[80];

	(void)state;
	for (h.version = 1; h.version <= 9; h.version++) {
		struct mt_err err;

		h.check = mt_check(&h, offsetof(struct mt_file_header, check));
		put_file("version", &h, sizeof h);
		snprintf(words, sizeof words,
			"format version %u, but this memtui reads versions 4 to 8", h.version);
		if (h.version < 4 || h.version > 8) {
			expect_not_a_trace("version", words);
			continue;
		}
		struct mt_trace_reader *r = mt_trace_reader_open(path_of("version"), &err);

		assert_non_null(r);
		mt_trace_reader_free(r);
	}
}

static void test_standard_input(void **state)
{
	struct simulation s;
	struct mt_err err;
	struct mt_profile p = {0};
	int keep = dup(STDIN_FILENO), ends[2];
	size_t len;

	(void)state;
	record(&s, "small", 12, 100, 30, true);
	uint8_t *bytes = get_file("small", &len);

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, len), len);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	struct mt_trace_reader *r = mt_trace_reader_open("-", &err);

	dup2(keep, STDIN_FILENO);
	assert_non_null(r);
	assert_int_equal(mt_profile_load(&p, r, NULL, NULL, &err), 0);
	assert_true(profiles_equal(&p, &s.profile));
	mt_trace_reader_free(r);
	mt_profile_free(&p);
	close(keep);
	close(ends[0]);
	free(bytes);
	simulation_free(&s);
}

static int cancel(void *context, double fraction)
{
	assert_true(fraction >= 0 && fraction <= 1);
	return --*(int *)context == 0;
}

static void test_cancel(void **state)
{
	struct simulation s;
	struct mt_err err;
	struct mt_profile p = {0};
	int left = 2;

	(void)state;
	record(&s, "small", 13, 200, 30, false);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("small"), &err);

	assert_int_equal(mt_profile_load(&p, r, cancel, &left, &err), -ECANCELED);
	assert_int_equal(left, 0);
	mt_trace_reader_free(r);
	mt_profile_free(&p);
	simulation_free(&s);
}

static void test_write_errors(void **state)
{
	struct rlimit old, small = {3000, RLIM_INFINITY};
	struct mt_err err = {0};
	struct simulation s;
	struct mt_profile p;
	uint8_t noise[5000];
	uint64_t random = 5;

	(void)state;
	assert_null(mt_trace_writer_new(open("/dev/full", O_WRONLY), &err));
	assert_int_equal(err.code, -ENOSPC);
	assert_non_null(strstr(err.text, "/dev/full"));
	assert_non_null(strstr(err.text, "-o"));
	assert_null(strstr(err.text, "can be opened"));
	assert_null(mt_trace_writer_new(open("/dev/null", O_RDONLY), &err));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	simulation_start(&s, 3, create("limited"));
	mt_trace_writer_stays(s.writer);
	for (unsigned i = 0; i < 30; i++)
		simulation_step(&s);
	simulation_flush(&s);
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)random_next(&random);
	setrlimit(RLIMIT_FSIZE, &small);
	int result = mt_trace_writer_block(s.writer, MT_BLOCK_SYMBOLS, noise, sizeof noise, &err);

	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(result, -EFBIG);
	err = (struct mt_err){0};
	assert_int_equal(mt_trace_writer_finish(s.writer, &err), -EFBIG); /* sticks */
	assert_non_null(strstr(err.text, "ulimit -f"));
	assert_non_null(strstr(err.text, "can be opened"));
	assert_int_equal(load("limited", &p, &err), 0);
	assert_int_equal(p.info.allocations, s.profile.info.allocations);
	assert_int_equal(p.info.recorder_lost, 1);
	mt_profile_free(&p);
	simulation_free(&s);
}

/* What it goes on in is no trace yet, and is thrown away. */
static void test_switch_error(void **state)
{
	struct mt_err err = {0};
	struct mt_trace_writer *w = mt_trace_writer_new(create("switched"), &err);

	(void)state;
	assert_non_null(w);
	mt_trace_writer_stays(w);
	assert_int_equal(mt_trace_writer_switch(w, open("/dev/full", O_WRONLY), &err), -ENOSPC);
	assert_null(strstr(err.text, "can be opened"));
	mt_trace_writer_back(w);
	assert_int_equal(mt_trace_writer_finish(w, &err), 0);
	mt_trace_writer_free(w);
}

/* A recorder puts a new file in the place of one that somebody reads. */
static void test_replaced(void **state)
{
	struct simulation s;
	struct mt_err err;
	size_t len;

	(void)state;
	record(&s, "small", 9, 200, 40, true);
	uint8_t *bytes = get_file("small", &len);
	int fd = create("replaced");

	assert_int_equal(write(fd, bytes, len / 2), len / 2);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("replaced"), &err);

	assert_non_null(r);
	assert_true(mt_trace_reader_refresh(r, &err) >= 0);
	char *from = mt_strdup(path_of("small"));

	assert_int_equal(rename(from, path_of("replaced")), 0);
	assert_int_equal(mt_trace_reader_refresh(r, &err), -ESTALE);
	assert_non_null(strstr(err.text, "open it again"));
	free(from);
	mt_trace_reader_free(r);
	close(fd);
	free(bytes);
	simulation_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_round_trip),
		cmocka_unit_test(test_threads_in_turn),
		cmocka_unit_test(test_pair_at_the_end),
		cmocka_unit_test(test_incompressible_block),
		cmocka_unit_test(test_totals_and_replay),
		cmocka_unit_test(test_info_before_events),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_flip_every_byte),
		cmocka_unit_test(test_flip_is_seen_by_payload),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_not_a_trace),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_standard_input),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_switch_error),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
