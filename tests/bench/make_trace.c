/* Writes a real trace file of a program that never ran, through the real writer: make_trace FILE
 * EVENTS [GROUPS] [SEED] [RARELY]. Threads go through loops of call stacks; blocks live for one
 * event, for a while, long, or for ever; some are moved by realloc, now and then in vain. Strings,
 * stacks, symbols, markers, totals and the list of live blocks are there as in a recording. RARELY:
 * of so many blocks that would live for ever, one does. */
#include "core/model/live_list.h"
#include "core/model/load.h"
#include "core/symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8u
#define LOOP 24u /* stacks that a thread goes through again and again */
#define FUNCTIONS 20000u
#define MODULES 40u
#define DUE (1u << 20) /* allocations ahead for which an end can be planned */
#define CLASSES 256u

struct block {
	struct mt_block block;
	struct block *next; /* due together, or free */
	/* of those that live; and for the usable size that was noted */
	struct block *before, *behind;
	uint64_t usable;
};

struct thread {
	uint32_t loop[LOOP]; /* groups */
	uint32_t length, at, rounds;
};

struct maker {
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_model model;
	struct mt_trace_writer *writer;
	struct mt_definitions definitions;
	uint64_t random, now_ns, number, events, wanted;
	uint32_t rarely;
	struct thread threads[THREADS];
	struct block *due[DUE], *spare, *lives;
	struct mt_live_list_restore *restores; /* the last ones */
	uint32_t restore_count, restore_capacity;
	/* addresses as malloc gives them: what was freed last comes first */
	uint64_t *free_places[CLASSES], top;
	uint32_t free_count[CLASSES], free_capacity[CLASSES];
	uint32_t *sizes;  /* by group */
	uint8_t *tempers; /* by group: how long its blocks live */
	uint32_t thread;
	struct mt_err err;
};

static uint32_t below(struct maker *m, uint32_t limit)
{
	m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((m->random >> 32) * limit >> 32);
}

/* ---- what the program is ---- */

static void add_symbol(struct maker *m, uint32_t pc, uint32_t function)
{
	struct mt_symbols *s = &m->symbols;
	char name[96], source[64];

	snprintf(name, sizeof name, "part%u::Class%u<std::string, %u>::method%u(int)",
		function % 97, function % 1013, function % 7, function);
	snprintf(source, sizeof source, "src/part%u/class%u.cc", function % 97, function % 1013);
	while (s->pc_count <= pc) {
		MT_GROW(s->pcs, s->pc_count, s->pc_capacity);
		s->pcs[s->pc_count++] = (struct mt_pc_symbols){0};
	}
	s->pcs[pc] = (struct mt_pc_symbols){s->frame_count, 1, 0};
	struct mt_frame frame = {
		.function = mt_strings_add(&s->strings, name),
		.source = mt_strings_add(&s->strings, source),
		.line = function % 900 + 1,
	};

	frame.raw_function = frame.function;
	MT_GROW(s->frames, s->frame_count, s->frame_capacity);
	s->frames[s->frame_count++] = frame;
	s->generation++;
}

static void add_definitions(struct maker *m)
{
	struct mt_profile *p = &m->profile;
	char name[64];

	MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
	p->arguments[p->argument_count++] = mt_strings_add(&p->strings, "./invented");
	p->info.pid = 4242;
	p->info.usable_rule = MT_USABLE_GLIBC;
	p->info.start_unix_ns = 1700000000ull * 1000000000u;
	for (uint32_t i = 0; i < MODULES; i++) {
		snprintf(name, sizeof name, i ? "/usr/lib/libpart%u.so" : "/usr/bin/invented", i);
		mt_profile_add_module(p,
			&(struct mt_module){
				.start = 0x400000 + (uint64_t)i * 0x1000000,
				.end = 0x500000 + (uint64_t)i * 0x1000000,
				.path = mt_strings_add(&p->strings, name),
			});
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		snprintf(name, sizeof name, i ? "worker %u" : "invented", i);
		mt_profile_add_thread(p,
			&(struct mt_thread){.tid = 4242 + i,
				.name = mt_strings_add(&p->strings, name)});
	}
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint32_t module = i % MODULES;
		uint32_t pc = mt_profile_add_pc(p,
			&(struct mt_pc){.module = module,
				.address = 0x401000 + (uint64_t)module * 0x1000000
					+ i / MODULES * 64});

		add_symbol(m, pc, i);
	}
}

/* A tree of calls: each further stack shares a beginning with one that is there. */
static void add_groups(struct maker *m, uint32_t count)
{
	struct mt_profile *p = &m->profile;
	uint32_t *frames = mt_resize(NULL, ((size_t)count * 4 + 64) * sizeof *frames);
	uint32_t frame_count = 1;

	frames[0] = 0;
	for (uint32_t i = 0; i < 60; i++, frame_count++)
		frames[frame_count] = mt_profile_add_node(p, frames[frame_count - 1],
			MT_PC_FIRST + below(m, FUNCTIONS));
	m->sizes = mt_resize(NULL, count * sizeof *m->sizes);
	m->tempers = mt_resize(NULL, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = frames[below(m, frame_count)];

		for (uint32_t more = below(m, 5); more; more--) {
			node = mt_profile_add_node(p, node, MT_PC_FIRST + below(m, FUNCTIONS));
			frames[frame_count++] = node;
		}
		/* A function that is called from two lines is two groups: the kind tells them apart
		 * here. */
		uint32_t leaf = mt_profile_add_node(p,
			mt_profile_add_node(p, node, MT_PC_FIRST + i % FUNCTIONS),
			below(m, 4) ? MT_FUNCTION_NEW : MT_FUNCTION_MALLOC);

		mt_profile_add_group(p, leaf);
		m->sizes[i] = below(m, 20) ? 8 + below(m, 30) * 8 : 512u << below(m, 8);
		m->tempers[i] = (uint8_t)below(m, 16);
	}
	free(frames);
}

/* ---- what it does ---- */

static void emit(struct maker *m, struct mt_event e)
{
	e.time_ns = m->now_ns;
	mt_trace_writer_event(m->writer, &e);
	m->events += e.type != MT_EVENT_NOTE;
	if (!below(m, 8))
		m->now_ns += 1000;
	if (!mt_trace_writer_full(m->writer))
		return;
	mt_definitions_write(&m->definitions, m->writer, &m->profile, &m->err);
	mt_events_write(m->writer, &m->model, &m->err);
}

static uint32_t class_of(uint64_t size)
{
	uint64_t class = (size + 23) / 16;

	return class < CLASSES ? (uint32_t)(class) : CLASSES - 1;
}

static uint64_t take_address(struct maker *m, uint64_t size)
{
	uint32_t class = class_of(size);

	if (m->free_count[class] && class != CLASSES - 1)
		return m->free_places[class][--m->free_count[class]];
	m->top += (size + 23) / 16 * 16;
	return 0x555555000000 + m->top;
}

static void give_address(struct maker *m, const struct block *b)
{
	uint32_t class = class_of(b->block.size);

	if (class == CLASSES - 1)
		return;
	MT_GROW(m->free_places[class], m->free_count[class], m->free_capacity[class]);
	m->free_places[class][m->free_count[class]++] = b->block.address;
}

static uint32_t next_group(struct maker *m)
{
	struct thread *t = &m->threads[m->thread];

	if (!t->rounds) {
		t->length = 1 + below(m, LOOP);
		t->rounds = 1 + below(m, 200);
		for (uint32_t i = 0; i < t->length; i++) {
			uint32_t group = below(m, m->profile.group_count);

			/* some are met far more often */
			t->loop[i] = below(m, 3) ? group / 64 : group;
		}
	}
	uint32_t group = t->loop[t->at++ % t->length];

	if (t->at >= t->length) {
		t->at = 0;
		t->rounds--;
	}
	return group;
}

/* Allocations until its end; 0: none is planned. */
static uint32_t lifetime(struct maker *m, uint32_t group)
{
	uint32_t temper = m->tempers[group];

	if (temper < 7)
		return 1;
	if (temper < 13)
		return 1 + below(m, 1u << (2 + below(m, 8)));
	if (temper < 15)
		return 1 + below(m, DUE / 4);
	return below(m, 20 * m->rarely) ? 1 + below(m, 4096) : 0;
}

static void plan(struct maker *m, struct block *b)
{
	uint32_t after = lifetime(m, b->block.group);
	struct block **place = &m->due[(m->number + after) % DUE];

	if (!after)
		return; /* leaked: nobody asks for it again */
	b->next = *place;
	*place = b;
}

static struct block *allocate(struct maker *m, uint32_t group, uint64_t size,
	const struct block *moved)
{
	struct block *b = m->spare;

	if (b)
		m->spare = b->next;
	else
		b = mt_resize(NULL, sizeof *b);
	b->block = (struct mt_block){
		.address = take_address(m, size),
		.size = size,
		.number = m->number++,
		.time_ns = m->now_ns,
		.group = group,
		.thread = m->thread,
	};
	mt_model_allocate(&m->model, &b->block, moved != NULL);
	emit(m,
		(struct mt_event){
			.type = moved ? MT_EVENT_REALLOCATE : MT_EVENT_ALLOCATE,
			.thread = m->thread,
			.group = group,
			.number = b->block.number,
			.size = size,
			.address = b->block.address,
			.previous = moved ? moved->block.number : 0,
		});
	b->usable = below(m, 64) ? 0 : (size + 23) / 16 * 16 + 24;
	if (b->usable)
		emit(m,
			(struct mt_event){
				.type = MT_EVENT_NOTE,
				.note = MT_NOTE_USABLE,
				.size = b->usable,
			});
	b->before = NULL;
	b->behind = m->lives;
	if (m->lives)
		m->lives->before = b;
	m->lives = b;
	return b;
}

static void drop(struct maker *m, struct block *b)
{
	give_address(m, b);
	*(b->before ? &b->before->behind : &m->lives) = b->behind;
	if (b->behind)
		b->behind->before = b->before;
	b->next = m->spare;
	m->spare = b;
}

/* Its end, or a realloc that moves it. */
static void finish(struct maker *m, struct block *b)
{
	struct mt_event e = {
		.type = MT_EVENT_FREE,
		.function = MT_FUNCTION_FREE,
		.number = b->block.number,
		.thread = m->thread,
	};

	if (below(m, 40)) {
		mt_model_free(&m->model, &b->block, m->now_ns);
		emit(m, e);
		drop(m, b);
		return;
	}
	struct mt_live_list_restore failed = {
		.number = b->block.number,
		.released_at = m->number,
		.released_ns = m->now_ns,
	};

	e.type = MT_EVENT_RELEASE;
	e.function = MT_FUNCTION_REALLOC;
	mt_model_release(&m->model, &b->block, m->now_ns);
	emit(m, e);
	if (below(m, 100)) {
		plan(m, allocate(m, b->block.group, b->block.size + b->block.size / 2 + 8, b));
		drop(m, b);
		return;
	}
	failed.restored_at = m->number;
	failed.restored_ns = m->now_ns;
	if (m->restore_count < MT_LIVE_LIST_RESTORES) { /* beyond, the list is wrong */
		MT_GROW(m->restores, m->restore_count, m->restore_capacity);
		m->restores[m->restore_count++] = failed;
	}
	e.type = MT_EVENT_RESTORE;
	mt_model_restore(&m->model, &b->block, m->now_ns);
	emit(m, e);
	plan(m, b);
}

static void step(struct maker *m)
{
	struct block *due = m->due[m->number % DUE];

	m->due[m->number % DUE] = NULL;
	while (due) {
		struct block *next = due->next;

		finish(m, due);
		due = next;
	}
	if (!below(m, 50))
		m->thread = below(m, 4) ? 0 : below(m, THREADS);
	uint32_t group = next_group(m);
	uint64_t size = m->sizes[group];

	plan(m, allocate(m, group, below(m, 4) ? size : size + 8 * below(m, 16), NULL));
}

static void mark(struct maker *m, const char *text)
{
	mt_profile_add_log(&m->profile,
		&(struct mt_log_entry){
			.time_ns = m->now_ns,
			.type = MT_LOG_MARKER,
			.thread = MT_NO_THREAD,
			.text = mt_strings_add(&m->profile.strings, text),
			.values = {m->number + 1},
		});
}

static void run(struct maker *m)
{
	static const char *const phases[] = {"load", "work", "more work", "unload"};

	for (unsigned phase = 0; phase < 4; phase++) {
		mark(m, phases[phase]);
		while (m->events < m->wanted / 4 * (phase + 1) && !m->err.code)
			step(m);
	}
	mt_model_advance(&m->model, m->now_ns, 0);
	mt_model_settle(&m->model);
}

/* ---- the file ---- */

static uint32_t next_live(void *context, struct mt_live_list_block *blocks, uint32_t most)
{
	struct maker *m = context;
	uint32_t count = 0;

	for (; m->lives && count < most; m->lives = m->lives->behind, count++)
		blocks[count] = (struct mt_live_list_block){
			.number = m->lives->block.number,
			.key = m->lives->block.address,
			.size = m->lives->block.size,
			.usable = m->lives->usable,
			.group = m->lives->block.group,
			.thread = m->lives->block.thread,
		};
	return count;
}

static int write_lives(struct maker *m)
{
	return mt_live_list_write(
		&(const struct mt_live_list_source){
			.next = next_live,
			.context = m,
			.next_number = m->number,
			.restores = m->restores,
			.restore_count = m->restore_count,
		},
		m->writer, &m->err);
}

static int complete(struct maker *m)
{
	struct mt_buffer symbols = {0};
	struct mt_err *err = &m->err;

	m->profile.info.ended = 1;
	m->profile.info.events = m->events;
	mt_symbols_encode(&m->symbols, &symbols);
	int result = mt_definitions_write(&m->definitions, m->writer, &m->profile, err);

	if (!result)
		result = mt_events_write(m->writer, &m->model, err);
	if (!result)
		result = write_lives(m);
	if (!result)
		result = mt_trace_writer_block(m->writer, MT_BLOCK_SYMBOLS, symbols.data,
			symbols.len, err);
	if (!result)
		result = mt_info_write(m->writer, &m->profile, err);
	if (!result)
		result = mt_totals_write(m->writer, &m->profile, err);
	mt_buffer_free(&symbols);
	return result ? result : mt_trace_writer_finish(m->writer, err);
}

int main(int argc, char **argv)
{
	static struct maker m;

	if (argc < 3) {
		fputs("make_trace FILE EVENTS [GROUPS] [SEED] [RARELY]\n", stderr);
		return 2;
	}
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	m.wanted = strtoull(argv[2], NULL, 10);
	m.random = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	m.rarely = argc > 5 && atoi(argv[5]) > 0 ? (uint32_t)atoi(argv[5]) : 1;
	mt_profile_init(&m.profile);
	mt_symbols_init(&m.symbols);
	add_definitions(&m);
	add_groups(&m, argc > 3 && atoi(argv[3]) > 64 ? (uint32_t)atoi(argv[3]) : 100000);
	mt_model_init(&m.model, &m.profile);
	if (fd < 0)
		mt_fail(&m.err, -errno, "%s: %s", argv[1], strerror(errno));
	else
		m.writer = mt_trace_writer_new(fd, &m.err);
	if (m.writer) {
		run(&m);
		complete(&m);
		fprintf(stderr,
			"make_trace: %llu events, %u groups, "
			"%llu blocks live at the end, %llu bytes\n",
			(unsigned long long)m.events, m.profile.group_count,
			(unsigned long long)m.model.live_count,
			(unsigned long long)mt_trace_writer_bytes(m.writer));
		mt_trace_writer_free(m.writer);
	}
	if (m.err.code)
		fprintf(stderr, "make_trace: %s\n", m.err.text);
	return m.err.code != 0; /* what it holds goes with the process */
}
