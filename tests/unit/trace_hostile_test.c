/* Traces whose checksums are right and whose content is not: an error that names the offset, or a
 * prefix. */
#include "core/trace/block.h"
#include "core/trace/varint.h"
#include "tests/unit/trace_files.h"

#include <errno.h>

/* Changes the first block header of this type, if there is one, and gives it a right checksum
 * again. */
static void forge(uint8_t *bytes, size_t len, uint8_t type, size_t field, size_t size,
	uint64_t value)
{
	for (size_t at = sizeof(struct mt_file_header);
		at + sizeof(struct mt_block_header) < len;) {
		struct mt_block_header h;
		uint32_t stored;

		memcpy(&h, bytes + at, sizeof h);
		stored = h.size - sizeof h + h.stored_len;
		if (h.type == type) {
			memcpy((uint8_t *)&h + field, &value, size);
			h.check = mt_block_header_check(&h);
			memcpy(bytes + at, &h, sizeof h);
			return;
		}
		at += sizeof h + stored;
	}
}

static void forge_headers(bool totals)
{
	static const uint64_t values[] = {0, 1, 7, 0x7f, 0xff, 0xffff, 65537, 64u << 20,
		(64u << 20) + 1, 0x7fffffff, 0xffffffff, 0xfffffff0};
	static const struct {
		size_t field, size;
	} fields[] = {
		{offsetof(struct mt_block_header, type), 1},
		{offsetof(struct mt_block_header, flags), 1},
		{offsetof(struct mt_block_header, size), 2},
		{offsetof(struct mt_block_header, payload_len), 4},
		{offsetof(struct mt_block_header, stored_len), 4},
		{offsetof(struct mt_block_header, event_count), 4},
		{offsetof(struct mt_block_header, sequence), 4},
		{offsetof(struct mt_block_header, payload_check), 8},
	};
	struct simulation s;
	struct mt_profile p;
	struct mt_err err;
	size_t len;

	record(&s, "small", 10, 120, 40, totals);
	uint8_t *bytes = get_file("small", &len);
	uint8_t *copy = malloc(len);

	for (uint8_t type = 1; type < MT_BLOCK_TYPES; type++)
		for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
			for (size_t v = 0; v < sizeof values / sizeof *values; v++)
				/* with and without the trailer */
				for (size_t cut = 0; cut <= 32; cut += 32) {
					memcpy(copy, bytes, len);
					forge(copy, len, type, fields[f].field, fields[f].size,
						values[v]);
					put_file("forged", copy, len - cut);
					int result = load("forged", &p, &err);

					assert_true(!result || strstr(err.text, "offset"));
					if (type == MT_BLOCK_EVENTS && !totals && values[v] == 1
						&& fields[f].field
							== offsetof(struct mt_block_header,
								event_count))
						/* not a part of the block */
						assert_int_equal(p.info.allocations, 0);
					mt_profile_free(&p);
				}
	free(copy);
	free(bytes);
	simulation_free(&s);
}

/* A sound prefix, then one block with this payload; expects an error that names the offset. */
static void expect_rejected(enum mt_block_type type, const uint8_t *payload, size_t len)
{
	struct simulation s;
	struct mt_profile p;
	struct mt_err err;

	simulation_start(&s, 1, create("hostile"));
	simulation_flush(&s);
	uint64_t offset = mt_trace_writer_bytes(s.writer);
	char words[40];

	assert_int_equal(mt_trace_writer_block(s.writer, type, payload, len, &err), 0);
	assert_int_equal(mt_trace_writer_finish(s.writer, &err), 0);
	simulation_free(&s);
	assert_int_equal(load("hostile", &p, &err), -EINVAL);
	snprintf(words, sizeof words, "offset %llu", (unsigned long long)offset);
	assert_non_null(strstr(err.text, words));
	mt_profile_free(&p);
}

#define REJECTED(type, ...) \
	expect_rejected(type, (const uint8_t[]){__VA_ARGS__}, \
		sizeof((const uint8_t[]){__VA_ARGS__}))

/* After the start of a simulation: 4 strings and "", 2 modules, 1 thread, 33 pcs, 5 nodes, 3
 * groups. */
static void test_hostile_definitions(void **state)
{
	(void)state;
	REJECTED(MT_BLOCK_STRINGS, 9, 1, 1, 'x');         /* gap */
	REJECTED(MT_BLOCK_STRINGS, 5, 2, 1, 'x');         /* cut */
	REJECTED(MT_BLOCK_STRINGS, 5, 1, 200, 1, 'x');    /* too long */
	REJECTED(MT_BLOCK_STRINGS, 5, 1, 1, 0);           /* zero byte */
	REJECTED(MT_BLOCK_STRINGS, 5, 2, 1, 'x', 1, 'x'); /* twice */
	REJECTED(MT_BLOCK_STRINGS, 5, 1, 1, 'x', 1);      /* more than said */
	REJECTED(MT_BLOCK_STRINGS, 5, 0xff, 0xff, 0xff, 0xff, 0x0f);
	REJECTED(MT_BLOCK_THREADS, 1, 1, 7, 5);              /* string */
	REJECTED(MT_BLOCK_THREADS, 0, 1, 7, 1);              /* again */
	REJECTED(MT_BLOCK_MODULES, 2, 1, 1, 1, 1, 5, 0, 0);  /* path */
	REJECTED(MT_BLOCK_MODULES, 2, 1, 1, 1, 1, 1, 0, 33); /* build-id */
	REJECTED(MT_BLOCK_MODULES, 2, 1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
		1, 1, 0, 0);
	REJECTED(MT_BLOCK_PCS, 33, 1, 0, 3, 0);  /* module */
	REJECTED(MT_BLOCK_NODES, 5, 1, 0, 1);    /* parent itself */
	REJECTED(MT_BLOCK_NODES, 5, 1, 6, 1);    /* parent before the root */
	REJECTED(MT_BLOCK_NODES, 5, 1, 1, 33);   /* pc */
	REJECTED(MT_BLOCK_GROUPS, 3, 1, 5);      /* node */
	REJECTED(MT_BLOCK_GROUPS, 3, 1, 1);      /* node that is no kind */
	REJECTED(MT_BLOCK_START, 1, 1, 1, 1, 5); /* argument */
	REJECTED(MT_BLOCK_START, 1, 0xff, 0xff, 0x7f, 1, 1, 1);
	REJECTED(MT_BLOCK_INFO, 1, 2, 3);

	REJECTED(MT_BLOCK_INFO, 1, 5, 'e', 'n', 'd', 'e', 'd', 2);
	REJECTED(MT_BLOCK_INFO, 0xff, 0xff, 0x7f);
}

/* Names that lists and terminals would not survive; ids beyond the tables; domains that are not
 * there. String 1 is "./program", and of the domains only 0 to 2 are predefined. */
static void test_hostile_functions(void **state)
{
	static const char *const names[] = {"", "a,b", "a;b", "say \"x\"", "\x1b[2J", "a\nb",
		"caf\xc3\xa9", "\x7f", "\xff\xfe"};

	(void)state;
	REJECTED(MT_BLOCK_DOMAINS, 16, 1, 5, 48, 0);             /* string */
	REJECTED(MT_BLOCK_DOMAINS, 16, 1, 0, 48, 0);             /* no name */
	REJECTED(MT_BLOCK_DOMAINS, 16, 1, 1, 65, 0);             /* bits */
	REJECTED(MT_BLOCK_DOMAINS, 16, 1, 1, 0, 0);              /* no bits */
	REJECTED(MT_BLOCK_DOMAINS, 16, 1, 1, 48, 0x80, 0x80, 4); /* flags */
	REJECTED(MT_BLOCK_DOMAINS, 3, 1, 1, 48, 0);              /* a predefined one */
	REJECTED(MT_BLOCK_DOMAINS, 17, 1, 1, 48, 0);             /* gap */
	REJECTED(MT_BLOCK_FUNCTIONS, 32, 1, 5, 0, 1, 0);         /* string */
	REJECTED(MT_BLOCK_FUNCTIONS, 32, 1, 1, 3, 1, 0);         /* domain that is not predefined */
	REJECTED(MT_BLOCK_FUNCTIONS, 32, 1, 1, 16, 1, 0);        /* domain beyond the table */
	REJECTED(MT_BLOCK_FUNCTIONS, 32, 1, 1, 0, 6, 0);         /* role */
	REJECTED(MT_BLOCK_FUNCTIONS, 32, 1, 1, 0, 1, 0x80, 2);   /* family */
	REJECTED(MT_BLOCK_FUNCTIONS, 26, 1, 1, 0, 1, 0);         /* a predefined one */
	REJECTED(MT_BLOCK_FUNCTIONS, 32, 2, 1, 0, 1, 0);         /* fewer than said */
	REJECTED(MT_BLOCK_PCS, 33, 1, 64, 0, 4);                 /* function beyond the table */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct mt_profile p;

		mt_profile_init(&p);
		assert_false(mt_profile_is_name(&p, mt_strings_add(&p.strings, names[i])));
		mt_profile_free(&p);
	}
}

/* So many definitions of one type, each alike, in one block. */
static void reject_too_many(enum mt_block_type type, uint32_t first, uint32_t count)
{
	static const uint8_t domain[] = {1, 48, 0}, function[] = {1, 0, 1, 0};
	struct mt_buffer b = {0};

	mt_varint_add(&b, first);
	mt_varint_add(&b, count);
	for (uint32_t i = 0; i < count; i++)
		mt_buffer_add(&b, type == MT_BLOCK_DOMAINS ? domain : function,
			type == MT_BLOCK_DOMAINS ? sizeof domain : sizeof function);
	expect_rejected(type, b.data, b.len);
	mt_buffer_free(&b);
}

static void test_too_many_functions(void **state)
{
	(void)state;
	reject_too_many(MT_BLOCK_DOMAINS, MT_DOMAIN_FIRST, MT_DOMAINS_MAX - MT_DOMAIN_FIRST + 1);
	reject_too_many(MT_BLOCK_FUNCTIONS, MT_FUNCTION_FIRST,
		MT_FUNCTIONS_MAX - MT_FUNCTION_FIRST + 1);
	reject_too_many(MT_BLOCK_FUNCTIONS, MT_FUNCTION_FIRST, 200000);
}

/* A free by a function that nobody defines. */
static void test_undefined_free(void **state)
{
	static const uint16_t functions[] = {MT_FUNCTION_DELETE, MT_FUNCTION_FIRST, 300,
		UINT16_MAX};
	static const enum mt_event_type types[] = {MT_EVENT_FREE, MT_EVENT_RELEASE,
		MT_EVENT_IMPLIED_FREE, MT_EVENT_UNKNOWN_FREE};

	(void)state;
	for (size_t i = 0; i < 4 * sizeof functions / sizeof *functions; i++) {
		struct simulation s;
		struct mt_profile p;
		struct mt_err err;

		simulation_start(&s, 1, create("undefined"));
		simulation_allocate(&s, NULL);
		simulation_emit(&s,
			(struct mt_event){.type = types[i % 4], .function = functions[i / 4]});
		simulation_flush(&s);
		assert_int_equal(mt_trace_writer_finish(s.writer, &err), 0);
		simulation_free(&s);
		assert_int_equal(load("undefined", &p, &err), i / 4 ? -EINVAL : 0);
		assert_true(!(i / 4) || strstr(err.text, "undefined allocator function"));
		mt_profile_free(&p);
	}
}

static void add_name(struct mt_buffer *b, const char *name, uint64_t value)
{
	mt_varint_add(b, strlen(name));
	mt_buffer_add(b, name, strlen(name));
	mt_varint_add(b, value);
}

/* What START says of the machine, which this version may not be able to read. */
static void test_other_machines(void **state)
{
	static const struct {
		uint64_t page_bytes, pointer_bits, big_endian, tag_mask;
		const char *words; /* NULL: it is read */
	} cases[] = {
		{4096, 64, 0, 0, NULL},
		{65536, 64, 0, 0, NULL},
		{4096, 64, 1, 0, "big-endian"},
		{4096, 32, 0, 0, "addresses do not have 64 bits"},
		{0, 0, 0, 0, NULL}, /* not known */
		{5000, 64, 0, 0, "size of a page"},
		{4096, 64, 0, 0xffull << 56, "tag bits"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mt_buffer b = {0};
		struct simulation s;
		struct mt_profile p;
		struct mt_err err;

		simulation_start(&s, 1, create("machine"));
		simulation_flush(&s);
		mt_varint_add(&b, 0);
		mt_varint_add(&b, 0);
		mt_varint_add(&b, 6);
		add_name(&b, "pid", 77);
		add_name(&b, "colour of the case", 3);
		add_name(&b, "page_bytes", cases[i].page_bytes);
		add_name(&b, "pointer_bits", cases[i].pointer_bits);
		add_name(&b, "big_endian", cases[i].big_endian);
		add_name(&b, "tag_mask", cases[i].tag_mask);
		assert_int_equal(mt_trace_writer_block(s.writer, MT_BLOCK_START, b.data, b.len,
					 &err),
			0);
		b.len = 0;
		mt_varint_add(&b, 2);
		add_name(&b, "moons", 1ull << 63);
		add_name(&b, "arenas", 5);
		assert_int_equal(mt_trace_writer_block(s.writer, MT_BLOCK_INFO, b.data, b.len,
					 &err),
			0);
		assert_int_equal(mt_trace_writer_finish(s.writer, &err), 0);
		int result = load("machine", &p, &err);

		assert_int_equal(result, cases[i].words ? -EINVAL : 0);
		if (result)
			assert_non_null(strstr(err.text, cases[i].words));
		else
			assert_int_equal(p.info.arenas, 5);
		if (!result) {
			assert_int_equal(p.info.page_bytes, cases[i].page_bytes);
			assert_int_equal(p.info.pointer_bits, cases[i].pointer_bits);
		}
		mt_buffer_free(&b);
		mt_profile_free(&p);
		simulation_free(&s);
	}
}

static void test_hostile_headers(void **state)
{
	(void)state;
	forge_headers(true);
	forge_headers(false); /* so that event blocks are read */
}

/* A block is cut out of the middle, or a header is flipped: the scan stops there. */
static void test_scan_stops(void **state)
{
	struct simulation s;
	struct mt_err err;
	const char *reason;
	size_t len;

	(void)state;
	record(&s, "small", 4, 120, 40, false);
	uint8_t *bytes = get_file("small", &len);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("small"), &err);
	uint64_t from = mt_trace_reader_block(r, 5)->offset;
	uint64_t to = mt_trace_reader_block(r, 6)->offset;

	mt_trace_reader_free(r);
	for (unsigned at = 0; at <= sizeof(struct mt_block_header); at++) {
		bool missing = at == sizeof(struct mt_block_header);

		bytes[from + at] ^= !missing;
		put_file("flipped", bytes, missing ? from : len - 32);
		int fd = open(path_of("flipped"), O_WRONLY | O_APPEND);

		assert_true(!missing || write(fd, bytes + to, len - to) > 0);
		close(fd);
		bytes[from + at] ^= !missing;
		r = mt_trace_reader_open(path_of("flipped"), &err);
		assert_int_equal(mt_trace_reader_count(r), 5);
		assert_int_equal(mt_trace_reader_damage(r, &reason), from);
		assert_true(reason && *reason);
		mt_trace_reader_free(r);
	}
	free(bytes);
	simulation_free(&s);
}

/* A block of a type that nobody knows, between others. */
static void test_unknown_blocks(void **state)
{
	struct simulation s;
	struct mt_profile p;
	struct mt_err err;
	size_t len;

	(void)state;
	simulation_start(&s, 1, create("unknown"));
	simulation_allocate(&s, NULL);
	simulation_flush(&s);
	assert_int_equal(mt_trace_writer_block(s.writer, 200, "later", 5, &err), 0);
	simulation_allocate(&s, NULL);
	simulation_finish(&s, false);
	assert_int_equal(load("unknown", &p, &err), 0);
	assert_int_equal(p.info.allocations, 2);
	assert_false(p.info.recorder_lost);
	mt_profile_free(&p);
	uint8_t *bytes = get_file("unknown", &len);

	forge(bytes, len, 200, offsetof(struct mt_block_header, flags), 1, 0);
	put_file("unknown", bytes, len - 32); /* without the index */
	assert_null(mt_trace_reader_open(path_of("unknown"), &err));
	assert_int_equal(err.code, -ENOTSUP);
	assert_non_null(strstr(err.text, "a block of type 200, which this memtui does not know"));
	free(bytes);
	simulation_free(&s);
}

static void expect_event_rejected(struct mt_event e)
{
	struct simulation s;
	struct mt_profile p;
	struct mt_err err;

	simulation_start(&s, 1, create("hostile"));
	simulation_allocate(&s, NULL);
	simulation_allocate(&s, NULL);
	simulation_end(&s, 0, MT_EVENT_FREE);
	simulation_allocate(&s, NULL);
	simulation_end(&s, 1, MT_EVENT_RELEASE); /* number 0 is gone, 1 lives, 2 is released */
	simulation_flush(&s);
	uint64_t offset = mt_trace_writer_bytes(s.writer);
	char words[40];

	struct mt_trace_running running = simulation_running(&s);

	mt_trace_writer_event(s.writer, &e);
	assert_int_equal(mt_trace_writer_flush(s.writer, &running, &err), 0);
	simulation_finish(&s, false);
	simulation_free(&s);
	assert_int_equal(load("hostile", &p, &err), -EINVAL);
	snprintf(words, sizeof words, "offset %llu", (unsigned long long)offset);
	assert_non_null(strstr(err.text, words));
	mt_profile_free(&p);
}

static void test_hostile_events(void **state)
{
	(void)state;
	expect_event_rejected(
		(struct mt_event){.type = MT_EVENT_ALLOCATE, .number = 3, .group = 3});
	expect_event_rejected(
		(struct mt_event){.type = MT_EVENT_ALLOCATE, .number = 3, .group = ~0u});
	expect_event_rejected(
		(struct mt_event){.type = MT_EVENT_ALLOCATE, .number = 3, .thread = 1});
	expect_event_rejected(
		(struct mt_event){.type = MT_EVENT_REALLOCATE, .number = 3, .previous = 3});
	expect_event_rejected(
		(struct mt_event){.type = MT_EVENT_REALLOCATE, .number = 3, .previous = ~0ull - 1});
	expect_event_rejected(
		(struct mt_event){.type = MT_EVENT_ALLOCATE, .number = 3, .time_ns = ~0ull});
	for (uint8_t type = MT_EVENT_FREE; type <= MT_EVENT_RESTORE; type++) {
		expect_event_rejected((struct mt_event){.type = type, .number = 0});
		expect_event_rejected((struct mt_event){.type = type, .number = 3});
		expect_event_rejected((
			struct mt_event){.type = type, .number = type == MT_EVENT_RESTORE ? 1 : 2});
		expect_event_rejected((struct mt_event){.type = type, .number = ~0ull});
	}
	expect_event_rejected((struct mt_event){.type = MT_EVENT_IMPLIED_FREE, .number = 2});
	expect_event_rejected(
		(struct mt_event){.type = MT_EVENT_NOTE, .function = MT_NOTE_USABLE, .size = 100});
	expect_event_rejected((struct mt_event){.type = MT_EVENT_NOTE,
		.function = MT_NOTE_FREE_STACK,
		.size = ~0ull});
	expect_event_rejected((
		struct mt_event){.type = MT_EVENT_NOTE, .function = MT_NOTE_FREE_STACK, .size = 1});
	expect_event_rejected((struct mt_event){.type = MT_EVENT_UNKNOWN_FREE, .thread = ~0u});
}

/* Random bytes with right checksums all around: no crash, no hang, an error or a prefix. */
static void test_random_payloads(void **state)
{
	uint64_t random = 11;
	struct mt_profile p;
	struct mt_err err;
	size_t len;
	struct simulation s;

	(void)state;
	record(&s, "small", 3, 100, 50, true);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("small"), &err);
	struct mt_buffer payload = {0};

	for (unsigned round = 0; round < 4000; round++) {
		struct mt_trace_writer *w = mt_trace_writer_new(create("random"), &err);
		uint32_t target = random_below(&random, mt_trace_reader_count(r) - 1);

		for (uint32_t i = 0; i + 1 < mt_trace_reader_count(r); i++) {
			enum mt_block_type type = mt_trace_reader_block(r, i)->type;

			assert_int_equal(mt_trace_reader_payload(r, i, &payload, &err), 0);
			for (unsigned n = i == target ? 1 + random_below(&random, 3) : 0;
				n && payload.len; n--)
				payload.data[random_below(&random, (uint32_t)payload.len)] ^= 1
					<< random_below(&random, 8);
			mt_trace_writer_block(w, type, payload.data, payload.len, &err);
		}
		mt_trace_writer_finish(w, &err);
		mt_trace_writer_free(w);
		/* event blocks lack their count then: give it back */
		uint8_t *bytes = get_file("random", &len);

		for (size_t at = 32, i = 0; i + 1 < mt_trace_reader_count(r); i++) {
			struct mt_block_header h;

			memcpy(&h, bytes + at, sizeof h);
			h.event_count = mt_trace_reader_block(r, (uint32_t)i)->event_count;
			h.check = mt_block_header_check(&h);
			memcpy(bytes + at, &h, sizeof h);
			at += h.size + h.stored_len;
		}
		put_file("random", bytes, len - 32 * random_below(&random, 2));
		free(bytes);
		int result = load("random", &p, &err);

		assert_true(!result || strstr(err.text, "offset"));
		mt_profile_free(&p);
	}
	mt_buffer_free(&payload);
	mt_trace_reader_free(r);
	simulation_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_headers),
		cmocka_unit_test(test_scan_stops),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_unknown_blocks),
		cmocka_unit_test(test_hostile_definitions),
		cmocka_unit_test(test_hostile_functions),
		cmocka_unit_test(test_too_many_functions),
		cmocka_unit_test(test_undefined_free),
		cmocka_unit_test(test_hostile_events),
		cmocka_unit_test(test_random_payloads),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
