/* One image of the program, from its first event to its complete trace. */
#include "core/capture/merge.h"
#include "core/model/load.h"
#include "core/session/flight.h"
#include "core/session/internal.h"
#include "core/session/memory.h"
#include "core/session/thread_names.h"
#include "core/symbol/symbol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define CALIBRATE_NS (SECOND / 10)
#define MEMORY_EVERY_NS (SECOND / 10)
#define TITLE_FIRST_NS (SECOND / 100)
#define PUBLISH_IDLE_NS 20000000ull
#define ALLOCATOR_LOOKS 8 /* the addresses are set once each, unless the program writes nonsense */
/* two take all; a process that shares the memory and writes on and on is no reason to stay */
#define LAST_POLLS 16

struct mt_image {
	struct mt_recorder *recorder;
	struct mt_process *process;
	struct mt_segment segment;
	struct mt_profile profile;
	struct mt_model model;
	struct mt_merge merge;
	struct mt_definitions definitions;
	struct mt_trace_writer *writer;
	struct mt_resolver *resolver;
	struct mt_timebase clock;
	struct mt_offer *offer;
	uint32_t modules_opened;
	struct mt_thread_names thread_names;
	struct mt_memory_sampler sampler;
	uint64_t second_at, refined_at;
	uint64_t title_at, title_every; /* when the process's title is to be looked at */
	bool retitled;
	uint64_t allocator, own_allocator; /* addresses whose modules are known */
	uint32_t allocator_looks;
	bool paused;
	uint64_t turned_ns; /* of the recorder, as last seen */
	bool turn_due;
	uint32_t pauses;
	uint64_t info_losses; /* as last written */
	uint64_t published_events, published_at;
	bool begun, full;
	char *trace_path;
	struct mt_flight flight;
	struct mt_err failure;
};

/* ---- the trace ------------------------------------------------------------------------------- */

static uint64_t losses(const struct mt_info *info)
{
	return info->lost_events + info->implied_frees + info->unknown_frees + info->cut_stacks
		+ info->ambiguous + info->invalid_records + info->forked_children
		+ info->unrecorded_frees + info->maps + info->unmaps + info->lossy_ns
		+ info->arenas;
}

static void write_out(struct mt_image *i)
{
	const struct mt_info *info = &i->profile.info;
	struct mt_trace_running running = {i->model.live_bytes, i->model.live_count,
		info->allocations, info->frees, info->peak_bytes};
	uint64_t lost = losses(info);
	int error;

	i->merge.unflushed = 0;
	if (i->failure.code || !i->writer)
		return;
	error = mt_definitions_write(&i->definitions, i->writer, &i->profile, &i->failure);
	if (!error)
		error = mt_trace_writer_flush(i->writer, &running, &i->failure);
	if (!error && lost != i->info_losses)
		error = mt_info_write(i->writer, &i->profile, &i->failure);
	i->info_losses = lost;
	i->profile.info.file_bytes = mt_trace_writer_bytes(i->writer);
	if (error)
		i->failure.code = error;
	i->merge.between_due = i->flight.cap && !error
		&& (mt_flight_is_due(&i->flight) || mt_births_are_many(i->merge.births));
}

static void flush(void *image)
{
	write_out(image);
}

/* Between two events: nothing is half done. */
static void take_turn(void *image)
{
	struct mt_image *i = image;
	int result = 0;

	write_out(i);
	if (i->merge.between_due && mt_flight_is_due(&i->flight)) {
		result = mt_flight_turn(&i->flight, &i->failure);
	} else if (i->merge.between_due) {
		mt_births_collect(&i->merge);
		mt_births_done(i->merge.births);
	}
	i->merge.between_due = false;
	if (result < 0)
		i->failure.code = result;
	if (result <= 0)
		return;
	i->full = true;
	mt_merge_halt(&i->merge);
}

/* With a limit to the trace's size. */
static void begin_flight(struct mt_image *i)
{
	const struct mt_session_options *o = i->recorder->options;

	i->flight = (struct mt_flight){
		.profile = &i->profile,
		.model = &i->model,
		.merge = &i->merge,
		.definitions = &i->definitions,
	};
	if (o->max_bytes)
		mt_flight_init(&i->flight, o->max_bytes, o->stop_over_size);
}

/* How many processes but one are being recorded. */
static uint32_t others(struct mt_recorder *r)
{
	uint32_t count;

	pthread_mutex_lock(&r->lock);
	count = r->live_count;
	pthread_mutex_unlock(&r->lock);
	return count ? count - 1 : 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void add_arguments(struct mt_profile *p, const struct mt_buffer *text)
{
	const char *at = (const char *)text->data, *end = at + text->len;

	for (; at < end; at += strlen(at) + 1) {
		MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
		p->arguments[p->argument_count++] = mt_strings_add(&p->strings, at);
	}
}

/* What the sampler has seen of the process. */
static void take_memory(struct mt_image *i)
{
	i->model.memory = i->sampler.memory;
	i->profile.info.arenas = i->sampler.arenas;
	i->profile.info.vss_bytes = i->sampler.vss_bytes;
	i->profile.info.shared_bytes = i->sampler.shared_bytes;
	i->profile.info.arena_resident_bytes = i->sampler.arena_resident_bytes;
}

struct mt_image *mt_image_new(struct mt_recorder *r, struct mt_process *process,
	struct mt_offer *offer)
{
	struct mt_image *i = mt_alloc(sizeof *i);

	i->recorder = r;
	i->process = process;
	i->offer = offer;
	i->segment = offer->segment;
	i->clock = offer->clock;
	mt_profile_init(&i->profile);
	i->profile.info.start_unix_ns = offer->start_unix_ns;
	i->profile.info.pid = (uint32_t)process->pid;
	i->profile.info.parent = (uint32_t)process->parent;
	i->profile.info.root = (uint32_t)r->program;
	i->profile.info.origin = offer->forked ? MT_ORIGIN_FORKED : MT_ORIGIN_EXECUTED;
	add_arguments(&i->profile, &offer->arguments);
	mt_model_init(&i->model, &i->profile);
	i->sampler = offer->sampler;
	take_memory(i);
	mt_merge_init(&i->merge, &i->segment, &i->clock, &i->model);
	i->merge.flush = flush;
	i->merge.between = take_turn;
	i->merge.context = i;
	begin_flight(i);
	i->paused = offer->paused;
	i->pauses = offer->pauses;
	if (i->paused)
		mt_merge_pause(&i->merge, true, 0);
	i->merge.tables.program_path = offer->program_path;
	i->merge.tables.directory = offer->directory;
	i->resolver =
		mt_resolver_new(&(struct mt_resolver_options){.root_pid = (uint32_t)process->pid,
			.cache = r->options->cache});
	return i;
}

int mt_image_begin(struct mt_image *i, int fd, struct mt_err *err)
{
	i->writer = mt_trace_writer_new(fd, err);
	if (!i->writer) {
		i->failure = *err;
		return err->code;
	}
	mt_trace_writer_stays(i->writer);
	i->begun = true;
	i->merge.writer = i->flight.writer = i->writer;
	write_out(i);
	return 0;
}

bool mt_image_has_begun(const struct mt_image *i)
{
	return i->begun;
}

struct mt_process *mt_image_process(const struct mt_image *i)
{
	return i->process;
}

const char *mt_image_path(const struct mt_image *i)
{
	return i->offer->program_path;
}

void mt_image_set_path(struct mt_image *i, const char *trace_path)
{
	free(i->trace_path);
	i->flight.path = i->trace_path = mt_strdup(trace_path);
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* The module of an address of the program, as a string; 0: not known. */
static uint32_t module_of(struct mt_image *i, uint64_t address)
{
	uint32_t id = address ? mt_tables_module_path(&i->merge.tables, address) : 0;
	char *path = address && !id ? mt_memory_module(i->process->pid, address) : NULL;

	if (path)
		id = mt_strings_add(&i->profile.strings, path);
	free(path);
	return id;
}

/* Whose malloc it is; at once, for the process may be gone soon. */
static void meet_allocators(struct mt_image *i)
{
	const struct mt_wire_header *h = i->segment.header;
	uint64_t allocator = __atomic_load_n(&h->allocator, __ATOMIC_RELAXED);
	uint64_t own = __atomic_load_n(&h->own_allocator, __ATOMIC_RELAXED);

	if ((allocator == i->allocator && own == i->own_allocator)
		|| i->allocator_looks >= ALLOCATOR_LOOKS)
		return;
	i->allocator_looks++;
	i->profile.info.allocator = module_of(i, i->allocator = allocator);
	i->profile.info.own_allocator = module_of(i, i->own_allocator = own);
	mt_merge_allocators(&i->merge);
}

/* New modules and threads are looked at at once: both may be gone soon. */
static void meet_new(struct mt_image *i)
{
	meet_allocators(i);
	for (; i->modules_opened < i->profile.module_count; i->modules_opened++)
		mt_resolver_module(i->resolver, &i->profile, i->modules_opened);
	mt_thread_names_meet(&i->thread_names, &i->profile, i->process->pid);
}

/* Before what was published is read: an allocation may have gone unrecorded whose free is there. */
static void heed_pauses(struct mt_image *i)
{
	uint32_t pauses = atomic_load(&i->recorder->pauses);

	i->merge.unrecorded |= pauses != i->pauses
		|| !__atomic_load_n(&i->segment.header->recording, __ATOMIC_RELAXED);
	i->pauses = pauses;
}

static void log_pause(struct mt_image *i, bool paused)
{
	uint64_t start = i->clock.start_monotonic_ns;

	i->paused = paused;
	mt_merge_pause(&i->merge, paused, i->turned_ns > start ? i->turned_ns - start : 0);
}

/* A person has gone on: that ends the program's own pause, too, whose mark may not have been taken
 * yet. */
static void end_own_pause(struct mt_image *i)
{
	if (i->profile.info.paused
		&& __atomic_load_n(&i->segment.header->recording, __ATOMIC_RELAXED)) {
		log_pause(i, false);
		i->turn_due = false;
	} else if (mt_clock_monotonic_ns() - i->turned_ns > 1000000000ull) {
		i->turn_due = false; /* what comes now is later */
	}
}

/* A person's pause comes behind what was recorded until then, its end before what is recorded
 * again. */
uint64_t mt_image_poll(struct mt_image *i)
{
	bool paused = atomic_load(&i->recorder->paused);
	uint64_t turned_ns = atomic_load(&i->recorder->turned_ns), records;

	if (turned_ns != i->turned_ns)
		i->turn_due = true;
	i->turned_ns = turned_ns;
	heed_pauses(i);
	if (!paused && i->paused)
		log_pause(i, false);
	records = mt_merge_poll(&i->merge);
	if (paused && !i->paused)
		log_pause(i, true);
	if (i->turn_due && !paused)
		end_own_pause(i);
	meet_new(i);
	return records;
}

bool mt_image_pending(const struct mt_image *i)
{
	return mt_merge_pending(&i->merge);
}

static uint64_t elapsed(const struct mt_image *i)
{
	return mt_clock_ns(&i->clock, mt_clock_now(&i->clock));
}

/* All that was published with an earlier stamp was taken: what is published meanwhile belongs to
 * later steps of the timeline, or reopens its own. */
static uint64_t taken_up_to(const struct mt_image *i)
{
	return mt_clock_ns(&i->clock, i->merge.horizon);
}

static void tend_second(struct mt_image *i)
{
	mt_thread_names_refresh(&i->thread_names, &i->profile, i->process->pid);
	mt_merge_counters(&i->merge, atomic_load(&i->process->untraced));
	mt_merge_slack(&i->merge, false);
	write_out(i);
}

/* Of a forked child, whose command line is its parent's until it says what it is: when its age has
 * doubled, and then every second. */
static void look_at_title(struct mt_image *i, uint64_t now)
{
	struct mt_process *p = i->process;
	struct mt_offer *o = i->offer;

	i->title_every = !i->title_every  ? TITLE_FIRST_NS
		: i->title_every < SECOND ? 2 * i->title_every
					  : SECOND;
	i->title_at = now + i->title_every;
	if (!mt_process_retitled(p, &o->arguments))
		return;
	i->retitled = true;
	mt_process_command(p->pid, &o->arguments, o->command, sizeof o->command);
	pthread_mutex_lock(&i->recorder->lock);
	if (p->header == i->segment.header) /* else it has executed another program since */
		memcpy(p->command, o->command, sizeof p->command);
	pthread_mutex_unlock(&i->recorder->lock);
}

void mt_image_tend(struct mt_image *i, uint64_t now)
{
	if (i->offer->forked && now >= i->title_at)
		look_at_title(i, now);
	if (now - i->refined_at >= CALIBRATE_NS) {
		mt_clock_refine(&i->clock);
		i->refined_at = now;
	}
	if (mt_memory_sample(&i->sampler, i->process->pid, i->segment.fd,
		    __atomic_load_n(&i->segment.header->private_bytes, __ATOMIC_RELAXED), now)) {
		mt_model_advance(&i->model, taken_up_to(i), 0);
		take_memory(i);
		/* many take turns */
		i->sampler.rss_at += MEMORY_EVERY_NS * (atomic_load(&i->recorder->image_count) / 8);
	}
	if (now - i->second_at >= SECOND) {
		tend_second(i);
		if (i->merge.between_due)
			take_turn(i);
		i->second_at = now;
	}
}

bool mt_image_is_full(const struct mt_image *i)
{
	return i->full;
}

bool mt_image_failed(const struct mt_image *i, struct mt_err *err)
{
	if (i->failure.code)
		*err = i->failure;
	return i->failure.code != 0;
}

void mt_image_fail(struct mt_image *i, const struct mt_err *err)
{
	i->failure = *err;
}

static void publish(struct mt_image *i, struct mt_snapshot *snapshot)
{
	if (i->segment.base)
		mt_merge_counters(&i->merge, atomic_load(&i->process->untraced));
	if (!i->profile.info.ended)
		mt_model_advance(&i->model, taken_up_to(i), 0);
	mt_model_settle(&i->model);
	mt_snapshot_publish(snapshot, &i->profile);
	i->published_events = i->profile.info.events;
}

bool mt_image_publish(struct mt_image *i, uint64_t now, bool idle)
{
	struct mt_process *p = i->process;
	struct mt_snapshot *snapshot = atomic_load(&p->snapshot);
	uint64_t interval, since = now - i->published_at;
	bool fresh;

	if (!snapshot)
		return false;
	fresh = atomic_load(&p->fresh) && atomic_exchange(&p->fresh, false);
	interval = atomic_load(&p->interval_ms) * 1000000ull;
	if (!atomic_load(&p->watchers) && !fresh)
		return false;
	idle = idle && i->profile.info.events != i->published_events;
	if (!fresh && (!interval || since < PUBLISH_IDLE_NS || (since < interval && !idle)))
		return false;
	mt_snapshot_others(snapshot, others(i->recorder));
	publish(i, snapshot);
	i->published_at = now;
	return true;
}

void mt_image_publish_last(struct mt_image *i)
{
	struct mt_snapshot *snapshot = atomic_load(&i->process->snapshot);

	if (snapshot)
		publish(i, snapshot);
}

struct mt_segment *mt_image_segment(struct mt_image *i)
{
	return &i->segment;
}

/* ---- the end --------------------------------------------------------------------------------- */

int mt_image_end(struct mt_image *i, int wait_status, struct mt_err *err)
{
	for (int n = 0; n < LAST_POLLS && mt_image_poll(i); n++)
		;
	mt_model_advance(&i->model, elapsed(i), 0);
	mt_merge_counters(&i->merge, atomic_load(&i->process->untraced));
	mt_merge_slack(&i->merge, true);
	i->profile.info.exit_status = wait_status;
	i->profile.info.ended = 1;
	mt_model_settle(&i->model);
	write_out(i);
	if (i->writer && !i->failure.code)
		mt_flight_end(&i->flight);
	mt_merge_free(&i->merge); /* what is left may wait for its symbols */
	mt_segment_free(&i->segment);
	if (i->failure.code && err)
		*err = i->failure;
	return i->failure.code;
}

void mt_image_set_status(struct mt_image *i, int wait_status)
{
	i->profile.info.exit_status = wait_status;
}

static void find_symbols(struct mt_image *i, struct mt_resolver *library, struct mt_buffer *payload)
{
	struct mt_symbols symbols;

	mt_symbols_init(&symbols);
	mt_resolver_borrow(i->resolver, library);
	for (uint32_t pc = MT_PC_FIRST; pc < i->profile.pc_count; pc++)
		mt_resolver_pc(i->resolver, &i->profile, pc, &symbols);
	mt_resolver_suppressions(i->resolver, &i->profile, &symbols);
	mt_resolver_give_back(i->resolver, library);
	mt_symbols_encode(&symbols, payload);
	mt_symbols_free(&symbols);
}

static int write_end(struct mt_image *i, const struct mt_buffer *symbols, struct mt_err *err)
{
	int error;

	if (i->flight.cap)
		return mt_flight_complete(&i->flight, symbols, err);
	error = mt_trace_writer_block(i->writer, MT_BLOCK_SYMBOLS, symbols->data, symbols->len,
		err);
	i->profile.info.file_bytes = mt_trace_writer_bytes(i->writer);
	if (!error)
		error = mt_info_write(i->writer, &i->profile, err);
	if (!error)
		error = mt_totals_write(i->writer, &i->profile, err);
	return error ? error : mt_trace_writer_finish(i->writer, err);
}

/* The last title. Not before: what watchers see of the arguments does not change. */
static int write_title(struct mt_image *i, struct mt_err *err)
{
	if (!i->retitled)
		return 0;
	i->profile.argument_count = 0;
	add_arguments(&i->profile, &i->offer->arguments);
	mt_definitions_restart(&i->definitions);
	return mt_definitions_write(&i->definitions, i->writer, &i->profile, err);
}

int mt_image_complete(struct mt_image *i, struct mt_resolver *library, struct mt_err *err)
{
	struct mt_buffer symbols = {0};
	int error;

	if (!i->writer)
		return 0;
	if (i->failure.code) {
		if (err)
			*err = i->failure;
		return i->failure.code;
	}
	find_symbols(i, library, &symbols);
	error = write_title(i, err);
	if (!error)
		error = write_end(i, &symbols, err);
	mt_buffer_free(&symbols);
	if (error)
		i->failure.code = error;
	return error;
}

void mt_image_describe(const struct mt_image *i, struct mt_session_process *out)
{
	const struct mt_info *info = &i->profile.info;

	*out = (struct mt_session_process){
		.pid = i->process->pid,
		.parent = i->process->parent,
		.wait_status = info->exit_status,
		.recorded = i->begun,
		.forked = i->offer->forked,
		.failed = i->failure.code != 0,
		.untraced = (uint32_t)info->counters[MT_COUNTER_FORKED_CHILDREN],
		.start_unix_ns = info->start_unix_ns,
		.events = info->events,
		.allocations = info->allocations,
		.peak_bytes = info->peak_bytes,
		.leaked_bytes = i->model.live_bytes,
		.leaked_count = i->model.live_count,
		.lost_events = info->lost_events,
	};
	snprintf(out->command, sizeof out->command, "%.127s", i->offer->command);
	snprintf(out->trace_path, sizeof out->trace_path, "%s", i->trace_path ? i->trace_path : "");
}

void mt_image_free(struct mt_image *i)
{
	mt_resolver_free(i->resolver);
	mt_flight_free(&i->flight);
	if (i->writer)
		mt_trace_writer_free(i->writer);
	if (i->segment.base) /* else it is gone with it */
		mt_merge_free(&i->merge);
	mt_model_free_memory(&i->model);
	mt_profile_free(&i->profile);
	mt_segment_free(&i->segment);
	mt_buffer_free(&i->offer->arguments);
	mt_thread_names_free(&i->thread_names);
	free(i->offer);
	free(i->trace_path);
	free(i);
}
