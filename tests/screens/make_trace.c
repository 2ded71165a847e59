/* Writes the trace that the golden screens are made of: fixed times, names included.
 * make_trace FILE [seconds [KIND]]: totals leaves the events out; log adds markers, losses and what
 * else a log has; later is another run of a changed program; plus and dash name a source as no
 * source is called; clockless has estimates of times;
 * root, child and grandchild are processes of one session; demo is what
 * tests/programs/demo.c does, at a tenth of its rate. */
#include "core/base/buffer.h"
#include "core/model/load.h"
#include "core/model/model.h"
#include "core/symbol/symbol.h"
#include "core/trace/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 12
#define SECOND 1000000000ull

struct stack {
	unsigned kind;
	/* outermost first: "function|source|line"; "?" unresolved, "!" cut */
	const char *frames[FRAMES_MAX];
	uint64_t size;
	unsigned each_second, kept_of_ten; /* allocations, and how many of ten are never freed */
	unsigned from, to;                 /* seconds */
};

#define MAIN "_start||0", "__libc_start_main||0", "main|src/main.c|14"
static const struct stack stacks[] = {
	{MT_FUNCTION_MALLOC,
		{MAIN, "event_loop|src/loop.c|88", "accept_cb|src/net.c|140",
			"session_new|src/session.c|10"},
		15800, 40, 8, 2, 100},
	{MT_FUNCTION_MALLOC,
		{MAIN, "event_loop|src/loop.c|88", "http_body|src/http.c|412",
			"json_parse_value|lib/json.c|1180", "json_node_alloc|lib/json.c|1042"},
		253, 900, 3, 5, 100},
	{MT_FUNCTION_NEW,
		{MAIN, "event_loop|src/loop.c|88", "http_body|src/http.c|412",
			"std::vector<std::pair<std::string, unsigned long>, "
			"std::allocator<std::pair<std::string, unsigned long> > >"
			"::_M_realloc_insert|/usr/include/c++/12/bits/vector.tcc|440"},
		4096, 30, 1, 10, 90},
	{MT_FUNCTION_CALLOC, {MAIN, "cache_init|src/cache.c|31"}, 6600000, 1, 10, 0, 1},
	{MT_FUNCTION_MALLOC, {MAIN, "arena_grow|core/arena.c|57"}, 1048576, 1, 10, 0, 16},
	{MT_FUNCTION_MALLOC,
		{MAIN, "event_loop|src/loop.c|88", "user_load|src/user.c|190",
			"strdup_name|src/user.c|203"},
		68, 170, 10, 0, 100},
	{MT_FUNCTION_MALLOC, {MAIN, "log_open|src/log.c|19"}, 65536, 1, 10, 90, 100},
	{MT_FUNCTION_POSIX_MEMALIGN, {MAIN, "g_type_init||0"}, 134000, 3, 10, 0, 1},
	{MT_FUNCTION_MALLOC, {MAIN, "event_loop|src/loop.c|88", "+list_append|src/list.h|22"}, 32,
		640, 1, 0, 100},
	{MT_FUNCTION_NEW_ARRAY, {MAIN, "event_loop|src/loop.c|88", "漢字を読む|src/日本語.c|7"},
		700, 12, 10, 20, 80},
	{MT_FUNCTION_MALLOC,
		{MAIN, "event_loop|src/loop.c|88", "cafe\xcc\x81_open|src/cafe\xcc\x81.c|9"}, 600,
		11, 10, 20, 80},
	{MT_FUNCTION_MALLOC,
		{MAIN,
			"evil\033]0;x\a\033[31mname|src/\x9b"
			"31m.c|1"},
		500, 10, 10, 20, 80},
	{MT_FUNCTION_MALLOC, {"!", "thread_body|src/worker.c|66"}, 2048, 25, 5, 0, 100},
	{MT_FUNCTION_MALLOC, {MAIN, "?"}, 900, 9, 10, 0, 100},
	{MT_FUNCTION_MALLOC, {MAIN, "event_loop|src/loop.c|88", "scratch|src/loop.c|41"}, 8192, 300,
		0, 0, 100},
	{MT_FUNCTION_REALLOC, {MAIN, "event_loop|src/loop.c|88", "buffer_grow|src/buffer.c|77"}, 24,
		5, 1, 0, 100},
	{MT_FUNCTION_MALLOC, {MAIN, "event_loop|src/loop.c|88", "small_one|src/small.c|1"}, 16, 3,
		1, 0, 100},
};
#define STACKS (sizeof stacks / sizeof *stacks)

/* The lines are those of tests/programs/demo.c; shots_test fails when they are no longer. */
#define WORKER \
	"clone3||0", "start_thread||0", "worker|tests/programs/demo.c|99", \
		"handle_request|tests/programs/demo.c|"
#define SESSION WORKER "81", "session_new|tests/programs/demo.c|"
#define STORE WORKER "84", "cache_store|tests/programs/demo.c|62", "strdup||0"
#define ERRORS 26 /* requests a second that end in an error, of 1,300 */
static const struct stack demo_stacks[] = {
	{MT_FUNCTION_MALLOC, {SESSION "42"}, 2304, 1274, 0, 0, 100},
	{MT_FUNCTION_MALLOC, {SESSION "42"}, 2304, ERRORS, 10, 0, 100},
	{MT_FUNCTION_MALLOC, {SESSION "39"}, 32, 1274, 0, 0, 100},
	{MT_FUNCTION_MALLOC, {SESSION "39"}, 32, ERRORS, 10, 0, 100},
	{MT_FUNCTION_MALLOC, {SESSION "37"}, 24, 1274, 0, 0, 100},
	{MT_FUNCTION_MALLOC, {SESSION "37"}, 24, ERRORS, 10, 0, 100},
	{MT_FUNCTION_MALLOC, {WORKER "82", "render|tests/programs/demo.c|69"}, 64, 1300, 0, 0, 100},
	{MT_FUNCTION_REALLOC, {WORKER "82", "render|tests/programs/demo.c|73"}, 128, 3450, 0, 0,
		100},
	/* the cache fills up, then each entry takes the place of another one */
	{MT_FUNCTION_MALLOC, {STORE}, 11, 1300, 8, 0, 3},
	{MT_FUNCTION_MALLOC, {STORE}, 11, 1300, 0, 3, 100},
	{MT_FUNCTION_CALLOC,
		{"_start||0", "__libc_start_main||0", "main|tests/programs/demo.c|121",
			"pthread_create||0", "allocate_dtv||0"},
		288, 3, 0, 0, 1},
};
_Static_assert(sizeof demo_stacks / sizeof *demo_stacks < STACKS, "groups have room");

struct maker {
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_model model;
	uint32_t group[STACKS];
	uint64_t number;
	struct mt_trace_writer *writer; /* for events; NULL: none */
	const char *source;             /* of the first; NULL: its own */
	bool later, demo;
	bool freed, bare, broken; /* everything is freed; there are no names; there is no end */
	bool stopped;             /* while the program went on, with everything freed */
};

/* In the later run of the program: what grew, shrank, is new and gone. */
static struct stack stack_of(const struct maker *m, size_t i)
{
	static const struct stack new = {MT_FUNCTION_MALLOC,
		{MAIN, "journal_open|src/journal.c|21"}, 65536, 2, 10, 90, 100};
	struct stack s = stacks[i];

	if (m->demo)
		return i < sizeof demo_stacks / sizeof *demo_stacks
			? demo_stacks[i]
			: (struct stack){0};
	if (m->source && i == 0)
		s.frames[5] = m->source;
	else if (m->later && i == 1)
		s.kept_of_ten = 1;
	else if (m->later && i == 5)
		s.each_second = 400;
	else if (m->later && i == 6)
		s = new;
	return s;
}

static void add_symbol(struct maker *m, uint32_t pc, const char *text)
{
	struct mt_symbols *s = &m->symbols;
	bool inlined = *text == '+';
	char *copy = mt_strdup(text + inlined), *rest = copy, *function = strsep(&rest, "|");
	char *source = strsep(&rest, "|");
	struct mt_frame frame = {0};

	while (s->pc_count <= pc) {
		MT_GROW(s->pcs, s->pc_count, s->pc_capacity);
		s->pcs[s->pc_count++] = (struct mt_pc_symbols){0};
	}
	s->pcs[pc].first = s->frame_count;
	frame.function = frame.raw_function = mt_strings_add(&s->strings, function);
	frame.source = mt_strings_add(&s->strings, source);
	frame.line = (uint32_t)atoi(rest);
	frame.inlined = inlined;
	MT_GROW(s->frames, s->frame_count, s->frame_capacity);
	s->frames[s->frame_count++] = frame;
	if (inlined) {
		frame.function = frame.raw_function = mt_strings_add(&s->strings, "timer_tick");
		frame.source = mt_strings_add(&s->strings, "src/timer.c");
		frame.line = 5;
		frame.inlined = 0;
		MT_GROW(s->frames, s->frame_count, s->frame_capacity);
		s->frames[s->frame_count++] = frame;
	}
	s->pcs[pc].count = s->frame_count - s->pcs[pc].first;
	s->generation++;
	free(copy);
}

static uint32_t child(struct maker *m, uint32_t parent, uint32_t pc)
{
	for (uint32_t i = 1; i < m->profile.node_count; i++)
		if (m->profile.nodes[i].parent == parent && m->profile.nodes[i].pc == pc)
			return i;
	return mt_profile_add_node(&m->profile, parent, pc);
}

static uint32_t frame_node(struct maker *m, uint32_t parent, const char *text, const char **seen,
	uint32_t *seen_pc)
{
	struct mt_pc pc = {.module = 0};
	uint32_t i;

	if (!strcmp(text, "!"))
		return child(m, parent, MT_PC_CUT);
	for (i = 0; seen[i] && strcmp(seen[i], text); i++)
		;
	if (!seen[i]) {
		pc.address = 0x401000 + i * 0x40;
		seen[i] = text;
		seen_pc[i] = mt_profile_add_pc(&m->profile, &pc);
		if (strcmp(text, "?") && !m->bare)
			add_symbol(m, seen_pc[i], text);
		else
			add_symbol(m, seen_pc[i], "0x4013c0||0");
	}
	return child(m, parent, seen_pc[i]);
}

static void add_stacks(struct maker *m)
{
	const char *seen[STACKS * FRAMES_MAX + 1] = {0};
	uint32_t seen_pc[STACKS * FRAMES_MAX + 1];

	for (size_t i = 0; i < STACKS; i++) {
		struct stack s = stack_of(m, i);
		uint32_t node = 0;
		size_t same = 0;

		if (!s.frames[0])
			continue;
		for (int f = 0; f < FRAMES_MAX && s.frames[f]; f++)
			node = frame_node(m, node, s.frames[f], seen, seen_pc);
		node = child(m, node, s.kind);
		while (same < i && m->profile.groups[m->group[same]].node != node)
			same++;
		m->group[i] = same < i ? m->group[same] : mt_profile_add_group(&m->profile, node);
	}
}

static void add_event(struct maker *m, const struct mt_block *b, uint64_t at, bool freed)
{
	struct mt_event e = {
		.type = freed ? MT_EVENT_FREE : MT_EVENT_ALLOCATE,
		.function = freed ? MT_FUNCTION_FREE : 0,
		.group = b->group,
		.time_ns = at,
		.number = b->number,
		.size = b->size,
		.address = b->address,
	};

	if (m->writer)
		mt_trace_writer_event(m->writer, &e);
}

static void run_second(struct maker *m, unsigned second)
{
	for (size_t i = 0; i < STACKS; i++) {
		struct stack copy = stack_of(m, i), *s = &copy;

		if (second < s->from || second >= s->to)
			continue;
		for (unsigned n = 0; n < s->each_second; n++) {
			uint64_t at = second * SECOND
				+ (n + 1) * (SECOND / 2 / (s->each_second + 1)) + i * 1000;
			struct mt_block block = {
				.address = 0x10000 + m->number * 16,
				.size = s->size + n % 3,
				.number = m->number++,
				.time_ns = at,
				.group = m->group[i],
			};

			mt_model_allocate(&m->model, &block, false);
			add_event(m, &block, at, false);
			if (n % 10 < s->kept_of_ten && !m->freed)
				continue;
			mt_model_free(&m->model, &block, at + 500);
			add_event(m, &block, at + 500, true);
		}
	}
	mt_model_advance(&m->model, (second + 1) * SECOND,
		m->model.live_bytes + (m->demo ? 1u << 20 : 30u << 20));
}

/* A block of events for each second. */
static int run(struct maker *m, unsigned seconds, struct mt_err *err)
{
	int result = 0;

	for (unsigned second = 0; second < seconds && !result; second++) {
		run_second(m, second);
		if (m->writer)
			result = mt_trace_writer_flush(m->writer, &(struct mt_trace_running){0},
				err);
	}
	mt_model_settle(&m->model);
	m->profile.info.ended = 1;
	m->profile.info.stopped = m->stopped;
	return result;
}

static void describe(struct maker *m)
{
	static const char *const server[] = {"./server", "--port", "8080", NULL};
	static const char *const demo[] = {"build/demo", NULL};
	struct mt_profile *p = &m->profile;
	struct mt_module module = {.start = 0x400000, .end = 0x500000};

	for (const char *const *a = m->demo ? demo : server; *a; a++) {
		MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
		p->arguments[p->argument_count++] = mt_strings_add(&p->strings, *a);
	}
	module.path = mt_strings_add(&p->strings, m->demo ? "/srv/bin/demo" : "/srv/bin/server");
	mt_profile_add_module(p, &module);
	mt_profile_add_thread(p,
		&(struct mt_thread){4242, mt_strings_add(&p->strings, m->demo ? "demo" : "main")});
	p->info.pid = 4242;
	p->info.start_unix_ns = 1700000000ull * SECOND;
}

static void log_entry(struct maker *m, enum mt_log_type type, uint64_t second, const char *text,
	const uint64_t values[3])
{
	struct mt_log_entry e = {
		.type = type,
		.time_ns = second * SECOND,
		.thread = MT_NO_THREAD,
		.text = mt_strings_add(&m->profile.strings, text),
	};

	memcpy(e.values, values, 3 * sizeof *values);
	mt_profile_add_log(&m->profile, &e);
}

static void add_log(struct maker *m)
{
	struct mt_info *info = &m->profile.info;

	log_entry(m, MT_LOG_CALL, 1, "", (const uint64_t[]){(uint64_t)-8, 2, 1});
	log_entry(m, MT_LOG_MARKER, 5, "configuration is read", (const uint64_t[]){17, 0, 0});
	log_entry(m, MT_LOG_PAUSE, 20, "", (const uint64_t[]){0, 0, 0});
	log_entry(m, MT_LOG_RESUME, 22, "", (const uint64_t[]){0, 0, 0});
	for (unsigned i = 0; i < 20; i++)
		log_entry(m, MT_LOG_MARKER, 30 + i,
			i % 2 ? "request answered" : "request of 漢字 begins",
			(const uint64_t[]){0, 0, 0});
	log_entry(m, MT_LOG_GAP, 60, "", (const uint64_t[]){59 * SECOND, 1200, 34});
	log_entry(m, MT_LOG_LIMIT, 80,
		"the trace exceeds --max-size 1.0M: all stacks and live blocks alone take 1.2M",
		(const uint64_t[]){1 << 20, 1200000, 0});
	info->lost_events = 1234;
	info->lossy_ns = 60 * SECOND;
	info->counters[MT_COUNTER_THREADS_FULL] = 2;
	info->parent = 4200;
	info->origin = MT_ORIGIN_FORKED;
	info->root = 4200;
	info->exit_status = 9;
}

/* A session of three processes. */
static void add_family(struct maker *m, const char *kind)
{
	struct mt_profile *p = &m->profile;
	bool child = !strcmp(kind, "child"), root = !strcmp(kind, "root");

	p->info.root = 4242;
	/* the child's is not known, as of a trace of an earlier version */
	p->info.peak_rss_bytes = root ? 45ull << 20 : child ? 0 : 49ull << 20;
	p->info.exit_status = root ? 0x300 : child ? 0 : 9;
	if (root)
		return;
	p->info.pid = child ? 4243 : 4250;
	p->info.parent = child ? 4242 : 4243;
	p->info.origin = child ? MT_ORIGIN_FORKED : MT_ORIGIN_EXECUTED;
	p->info.start_unix_ns += (child ? 2 : 3) * SECOND;
	if (!child)
		p->arguments[0] = mt_strings_add(&p->strings, "/usr/lib/server/worker");
}

/* A trace that ends with its last events, as a killed recorder leaves it. */
static int write_end(struct maker *m, struct mt_trace_writer *writer, struct mt_err *err)
{
	int result = m->broken ? 0 : mt_totals_write(writer, &m->profile, err);

	return result || m->broken ? result : mt_trace_writer_finish(writer, err);
}

static int write_all(struct maker *m, unsigned seconds, const char *path, bool events,
	struct mt_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct mt_trace_writer *writer = fd < 0 ? NULL : mt_trace_writer_new(fd, err);
	struct mt_definitions definitions = {0};
	struct mt_buffer symbols = {0};
	int result;

	if (!writer)
		return mt_fail(err, -1, "%s cannot be written", path);
	m->writer = events ? writer : NULL;
	mt_symbols_encode(&m->symbols, &symbols);
	result = mt_definitions_write(&definitions, writer, &m->profile, err);
	if (!result)
		result = mt_trace_writer_block(writer, MT_BLOCK_SYMBOLS, symbols.data, symbols.len,
			err);
	if (!result)
		result = run(m, seconds, err);
	if (!result)
		result = write_end(m, writer, err);
	mt_trace_writer_free(writer);
	mt_buffer_free(&symbols);
	return result;
}

int main(int argc, char **argv)
{
	struct maker m = {0};
	const char *kind = argc > 3 ? argv[3] : "";
	struct mt_err err = {0};
	unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 100;

	if (argc < 2)
		return 2;
	mt_profile_init(&m.profile);
	mt_symbols_init(&m.symbols);
	m.source = !strcmp(kind, "plus") ? "session_new|+!order.c|10"
		: !strcmp(kind, "dash")  ? "session_new|-c.c|10"
					 : NULL;
	m.later = !strcmp(kind, "later");
	m.demo = !strcmp(kind, "demo");
	m.stopped = !strcmp(kind, "halted");
	m.freed = m.stopped || !strcmp(kind, "freed");
	m.bare = !strcmp(kind, "bare");
	m.broken = !strcmp(kind, "broken");
	seconds = strcmp(kind, "begun") ? seconds : 0;
	describe(&m);
	add_stacks(&m);
	if (!strcmp(kind, "clockless"))
		m.profile.info.counters[MT_COUNTER_UNKNOWN_RATE] = 1;
	if (!strcmp(kind, "log"))
		add_log(&m);
	if (!strcmp(kind, "root") || !strcmp(kind, "child") || !strcmp(kind, "grandchild"))
		add_family(&m, kind);
	mt_model_init(&m.model, &m.profile);
	if (write_all(&m, seconds, argv[1], strcmp(kind, "totals") != 0, &err) < 0) {
		fprintf(stderr, "make_trace: %s\n", err.text);
		return 1;
	}
	mt_model_free_memory(&m.model);
	mt_symbols_free(&m.symbols);
	mt_profile_free(&m.profile);
	return 0;
}
