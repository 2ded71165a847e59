/* Resolves pcs in a thread of its own. It works on a private copy of modules and pcs and hands over
 * finished batches, so that neither side ever waits for the other's work. */
#include "core/base/thread.h"
#include "core/symbol/internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH_PCS 512u
#define BATCH_NS 50000000u /* names appear at least this often */
#define NICENESS 10

struct batch {
	struct batch *next;
	struct mt_symbols symbols; /* by position in pcs */
	uint32_t pcs[BATCH_PCS];
	uint32_t count;
	uint64_t begun_ns;
};

struct mt_symbolizer {
	pthread_t thread;
	bool threaded;
	atomic_bool stop;
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	/* under the lock */
	struct mt_profile fed; /* strings, modules and pcs alone */
	struct batch *ready, **ready_end;
	bool busy;
	char *missing;
	/* the thread's own */
	struct mt_profile own;
	struct mt_resolver *resolver;
	struct batch *batch;
	uint32_t next_module, next_pc;
};

/* ---- the part of a profile that resolving needs ---- */

static void part_init(struct mt_profile *part)
{
	memset(part, 0, sizeof *part);
	mt_strings_init(&part->strings);
}

static void part_free(struct mt_profile *part)
{
	mt_strings_free(&part->strings);
	free(part->modules);
	free(part->pcs);
}

/* Appends what the part does not have yet. */
static void part_extend(struct mt_profile *part, const struct mt_profile *from)
{
	for (uint32_t i = part->module_count; i < from->module_count; i++) {
		struct mt_module module = from->modules[i];

		module.path =
			mt_strings_add(&part->strings, mt_strings_get(&from->strings, module.path));
		MT_GROW(part->modules, part->module_count, part->module_capacity);
		part->modules[part->module_count++] = module;
	}
	for (uint32_t i = part->pc_count; i < from->pc_count; i++) {
		MT_GROW(part->pcs, part->pc_count, part->pc_capacity);
		part->pcs[part->pc_count++] = from->pcs[i];
	}
}

/* ---- the thread ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	mt_symbols_free(&batch->symbols);
	free(batch);
}

static void publish(struct mt_symbolizer *s)
{
	const char *missing = mt_resolver_missing(s->resolver);

	pthread_mutex_lock(&s->lock);
	free(s->missing);
	s->missing = missing ? mt_strdup(missing) : NULL;
	if (s->batch) {
		*s->ready_end = s->batch;
		s->ready_end = &s->batch->next;
		s->batch = NULL;
	}
	pthread_mutex_unlock(&s->lock);
}

static void resolve_pc(struct mt_symbolizer *s, uint32_t pc)
{
	struct batch *batch = s->batch;

	if (!batch) {
		batch = s->batch = mt_alloc(sizeof *batch);
		mt_symbols_init(&batch->symbols);
		batch->begun_ns = now_ns();
	}
	batch->pcs[batch->count] = pc;
	mt_resolver_pc_as(s->resolver, &s->own, pc, &batch->symbols, batch->count++);
	if (batch->count == BATCH_PCS || now_ns() - batch->begun_ns >= BATCH_NS)
		publish(s);
}

/* Resolves what its own part of the profile holds; modules first, as their files may vanish. */
static void resolve(struct mt_symbolizer *s)
{
	for (; s->next_module < s->own.module_count && !s->stop; s->next_module++)
		mt_resolver_module(s->resolver, &s->own, s->next_module);
	if (s->next_pc < MT_PC_FIRST)
		s->next_pc = MT_PC_FIRST;
	for (; s->next_pc < s->own.pc_count && !s->stop; s->next_pc++) {
		if ((s->next_pc & 63) == 0) { /* modules that came in the meantime */
			pthread_mutex_lock(&s->lock);
			bool more = s->fed.module_count > s->own.module_count;

			pthread_mutex_unlock(&s->lock);
			if (more)
				break;
		}
		resolve_pc(s, s->next_pc);
	}
	publish(s);
}

static bool finished(const struct mt_symbolizer *s)
{
	return s->next_module >= s->fed.module_count
		&& (s->next_pc >= s->fed.pc_count || s->fed.pc_count <= MT_PC_FIRST);
}

static void *run(void *argument)
{
	struct mt_symbolizer *s = argument;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS); /* of this thread alone */
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		if (finished(s)) {
			s->busy = false;
			pthread_cond_broadcast(&s->idle);
			pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		part_extend(&s->own, &s->fed);
		pthread_mutex_unlock(&s->lock);
		resolve(s);
		pthread_mutex_lock(&s->lock);
	}
	s->busy = false;
	pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- its users ---- */

struct mt_symbolizer *mt_symbolizer_new(const struct mt_resolver_options *options)
{
	struct mt_symbolizer *s = mt_alloc(sizeof *s);

	part_init(&s->fed);
	part_init(&s->own);
	s->ready_end = &s->ready;
	s->resolver = mt_resolver_new(options);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->threaded = mt_thread_start(&s->thread, "symbols", run, s) == 0;
	return s;
}

void mt_symbolizer_feed(struct mt_symbolizer *s, const struct mt_profile *profile)
{
	pthread_mutex_lock(&s->lock);
	if (profile->module_count > s->fed.module_count || profile->pc_count > s->fed.pc_count)
		s->busy = s->threaded;
	part_extend(&s->fed, profile);
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (!s->threaded) { /* no thread could be had: slower, but with names */
		part_extend(&s->own, &s->fed);
		resolve(s);
	}
}

bool mt_symbolizer_collect(struct mt_symbolizer *s, struct mt_symbols *symbols)
{
	struct batch *batch;
	bool any = false;

	pthread_mutex_lock(&s->lock);
	batch = s->ready;
	s->ready = NULL;
	s->ready_end = &s->ready;
	pthread_mutex_unlock(&s->lock);
	while (batch) {
		struct batch *next = batch->next;

		for (uint32_t i = 0; i < batch->count; i++)
			mt_symbols_copy_pc(symbols, batch->pcs[i], &batch->symbols, i);
		any |= batch->count > 0;
		batch_free(batch);
		batch = next;
	}
	return any;
}

bool mt_symbolizer_busy(struct mt_symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	bool busy = s->busy;

	pthread_mutex_unlock(&s->lock);
	return busy;
}

void mt_symbolizer_wait(struct mt_symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->busy)
		pthread_cond_wait(&s->idle, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

char *mt_symbolizer_missing(struct mt_symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	char *missing = s->missing ? mt_strdup(s->missing) : NULL;

	pthread_mutex_unlock(&s->lock);
	return missing;
}

void mt_symbolizer_free(struct mt_symbolizer *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (s->threaded)
		pthread_join(s->thread, NULL);
	while (s->ready) {
		struct batch *next = s->ready->next;

		batch_free(s->ready);
		s->ready = next;
	}
	batch_free(s->batch);
	mt_resolver_free(s->resolver);
	part_free(&s->fed);
	part_free(&s->own);
	free(s->missing);
	pthread_cond_destroy(&s->idle);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
