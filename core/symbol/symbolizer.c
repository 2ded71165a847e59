/* Resolves pcs in a thread of its own. It works on a private copy of modules and pcs and hands over
 * finished batches, so that neither side ever waits for the other's work. */
#include "core/base/thread.h"
#include "core/symbol/guard.h"
#include "core/symbol/resolver.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
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
#define LOOK_MS 100
/* looks at the end, at which the thread has used no processor, or not got on */
#define LEAVE_LOOKS 20
/* times as many looks, at which it is busy with one and the same place: the file is made to keep it
 * busy for ever */
#define BUSY_TIMES 20

#define ALL UINT32_MAX /* in place of a module */
#define CRASHED "names of %s: to read them has crashed (SIG%s), so the file is damaged"

enum waited { WAITED_DONE, WAITED_IDLE, WAITED_BUSY };

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
	_Atomic uint32_t at, done;   /* the module that is looked into; how many pcs were */
	_Atomic uint32_t steps;      /* grows with each file and place that is begun */
	uint8_t *known;              /* by pc: not to be looked up; NULL: none are */
	struct mt_resolver *library; /* whose files are used, too; NULL: none */
	bool finishing;              /* everything is fed, and somebody waits for it */
	bool ended;                  /* lock: the thread is through */
	bool given_up;               /* nobody waits for it any more */
	int crashed;                 /* lock: by which signal; 0: it has not */
	struct mt_symbols texts;     /* lock, once finished: what the program says of its leaks */
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
	atomic_store(&s->at, s->own.pcs[pc].module);
	atomic_fetch_add(&s->steps, 1);
	batch->pcs[batch->count] = pc;
	mt_resolver_pc_as(s->resolver, &s->own, pc, &batch->symbols, batch->count++);
	atomic_fetch_add(&s->done, 1);
	if (batch->count == BATCH_PCS || now_ns() - batch->begun_ns >= BATCH_NS)
		publish(s);
}

/* Resolves what its own part of the profile holds; modules first, as their files may vanish. */
static void resolve(void *context)
{
	struct mt_symbolizer *s = context;

	for (; s->next_module < s->own.module_count && !s->stop; s->next_module++) {
		atomic_store(&s->at, s->next_module);
		atomic_fetch_add(&s->steps, 1);
		mt_resolver_module(s->resolver, &s->own, s->next_module);
	}
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
		if (!s->known || !s->known[s->next_pc])
			resolve_pc(s, s->next_pc);
	}
	if (s->finishing && !s->stop) {
		atomic_store(&s->at, ALL);
		atomic_fetch_add(&s->steps, 1);
		mt_resolver_suppressions(s->resolver, &s->own, &s->texts);
	}
	publish(s);
}

static bool finished(const struct mt_symbolizer *s)
{
	return s->next_module >= s->fed.module_count
		&& (s->next_pc >= s->fed.pc_count || s->fed.pc_count <= MT_PC_FIRST);
}

/* All that the thread used is left as it is. */
static _Noreturn void crash(struct mt_symbolizer *s, int number)
{
	pthread_mutex_lock(&s->lock);
	s->crashed = number;
	s->given_up = true;
	s->busy = false;
	pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
	mt_guard_park();
}

static void *run(void *argument)
{
	struct mt_symbolizer *s = argument;
	int number;

	if (!s->finishing) /* of this thread alone */
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
	if (s->library)
		mt_resolver_borrow(s->resolver, s->library);
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
		number = mt_guard(resolve, s);
		if (number)
			crash(s, number);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	if (s->library)
		mt_resolver_give_back(s->resolver, s->library);
	pthread_mutex_lock(&s->lock);
	s->busy = false;
	s->ended = true;
	pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- its users ---- */

static struct mt_symbolizer *make(struct mt_resolver *resolver, struct mt_resolver *library,
	bool finishing)
{
	struct mt_symbolizer *s = mt_alloc(sizeof *s);
	pthread_condattr_t monotonic;

	part_init(&s->fed);
	part_init(&s->own);
	mt_symbols_init(&s->texts);
	s->ready_end = &s->ready;
	s->resolver = resolver;
	s->library = library;
	s->finishing = finishing;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->idle, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return s;
}

static void start(struct mt_symbolizer *s)
{
	s->threaded = mt_thread_start(&s->thread, "symbols", run, s) == 0;
}

struct mt_symbolizer *mt_symbolizer_new(const struct mt_resolver_options *options)
{
	struct mt_symbolizer *s = make(mt_resolver_new(options), NULL, false);

	start(s);
	return s;
}

void mt_symbolizer_feed(struct mt_symbolizer *s, const struct mt_profile *profile)
{
	pthread_mutex_lock(&s->lock);
	if (profile->module_count > s->fed.module_count || profile->pc_count > s->fed.pc_count)
		s->busy = s->threaded && !s->crashed;
	part_extend(&s->fed, profile);
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (!s->threaded) { /* no thread could be had: slower, but with names */
		part_extend(&s->own, &s->fed);
		resolve(s);
	}
}

/* Places of the module without names, or of ALL, get those of what has none. Returns how many. */
static uint32_t name_rest(const struct mt_profile *profile, struct mt_symbols *symbols,
	uint32_t module)
{
	uint32_t count = 0;

	for (uint32_t pc = MT_PC_FIRST; pc < profile->pc_count; pc++) {
		uint32_t first = symbols->frame_count;

		if ((pc < symbols->pc_count && symbols->pcs[pc].count)
			|| (module != ALL && profile->pcs[pc].module != module))
			continue;
		mt_resolver_add_unknown(profile, &profile->pcs[pc], symbols, NULL, 0);
		mt_symbols_set(symbols, pc, first);
		count++;
	}
	return count;
}

/* Returns false if there was nothing. */
static bool take_ready(struct mt_symbolizer *s, struct mt_symbols *symbols)
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
		if (!s->crashed) /* else it may lie where a lock of malloc is held for ever */
			batch_free(batch);
		batch = next;
	}
	return any;
}

bool mt_symbolizer_collect(struct mt_symbolizer *s, struct mt_symbols *symbols)
{
	bool any = take_ready(s, symbols);

	pthread_mutex_lock(&s->lock);
	if (s->crashed)
		any |= name_rest(&s->fed, symbols, ALL) > 0;
	pthread_mutex_unlock(&s->lock);
	return any;
}

bool mt_symbolizer_busy(struct mt_symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	bool busy = s->busy;

	pthread_mutex_unlock(&s->lock);
	return busy;
}

static uint64_t processor_ns(pthread_t thread)
{
	struct timespec t = {0};
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) == 0)
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One look, shorter if there is news. lock is held. */
static bool look(struct mt_symbolizer *s)
{
	uint64_t until = now_ns() + LOOK_MS * 1000000u;
	struct timespec end = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

	return pthread_cond_timedwait(&s->idle, &s->lock, &end) == 0;
}

/* Waits until the thread is through with what it has, or with everything. It is given up if at so
 * many looks in a row it had used no processor, so that it waits for a file system that does not
 * answer, or at busy_max looks had not got on. A machine that stood still took one look. */
static enum waited await(struct mt_symbolizer *s, bool end, unsigned looks_max, uint64_t busy_max,
	void (*progress)(void *, double), void *context)
{
	uint64_t used = 0, now, busy = 0;
	uint32_t steps = 0, at;
	unsigned idle = 0;
	bool waits;

	pthread_mutex_lock(&s->lock);
	while ((waits = end ? !s->ended : s->busy) && idle < looks_max && busy < busy_max) {
		if (look(s))
			continue;
		now = processor_ns(s->thread);
		at = atomic_load(&s->steps);
		idle = now == used ? idle + 1 : 0;
		busy = at == steps ? busy + 1 : 0;
		used = now;
		steps = at;
		if (progress && s->fed.pc_count)
			progress(context, (double)atomic_load(&s->done) / s->fed.pc_count);
	}
	pthread_mutex_unlock(&s->lock);
	return !waits ? WAITED_DONE : idle >= looks_max ? WAITED_IDLE : WAITED_BUSY;
}

void mt_symbolizer_wait(struct mt_symbolizer *s)
{
	await(s, false, UINT_MAX, UINT64_MAX, NULL, NULL);
}

static const char *path_at(const struct mt_symbolizer *s, const struct mt_profile *profile)
{
	uint32_t module = atomic_load(&s->at);

	return module < profile->module_count
		? mt_strings_get(&profile->strings, profile->modules[module].path)
		: "a file";
}

char *mt_symbolizer_missing(struct mt_symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	char *missing = s->missing ? mt_strdup(s->missing) : NULL;

	if (s->crashed) {
		free(missing);
		missing = mt_format(CRASHED, path_at(s, &s->fed), sigabbrev_np(s->crashed));
	}
	pthread_mutex_unlock(&s->lock);
	return missing;
}

/* The thread may never come to an end. Then all that it uses is left to it. */
static bool end_thread(struct mt_symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (!s->threaded)
		return true;
	if (!s->given_up && await(s, true, LEAVE_LOOKS, LEAVE_LOOKS, NULL, NULL) == WAITED_DONE) {
		pthread_join(s->thread, NULL);
		return true;
	}
	pthread_detach(s->thread);
	return false;
}

void mt_symbolizer_free(struct mt_symbolizer *s)
{
	if (!s || !end_thread(s))
		return;
	while (s->ready) {
		struct batch *next = s->ready->next;

		batch_free(s->ready);
		s->ready = next;
	}
	batch_free(s->batch);
	mt_resolver_free(s->resolver);
	part_free(&s->fed);
	part_free(&s->own);
	mt_symbols_free(&s->texts);
	free(s->known);
	free(s->missing);
	pthread_cond_destroy(&s->idle);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- all at once ---- */

static void note_known(struct mt_symbolizer *s, const struct mt_profile *profile,
	const struct mt_symbols *symbols)
{
	s->known = mt_alloc(profile->pc_count);
	for (uint32_t pc = 0; pc < profile->pc_count && pc < symbols->pc_count; pc++)
		s->known[pc] = symbols->pcs[pc].count > 0;
}

static int fail_waiting(const struct mt_symbolizer *s, const struct mt_profile *profile,
	const struct mt_lookup *lookup, enum waited waited, uint32_t nameless, struct mt_err *err)
{
	unsigned seconds = lookup->looks * LOOK_MS / 1000;

	if (waited == WAITED_IDLE)
		return mt_fail(err, -ETIMEDOUT,
			"%s: its file system has not answered for %u s; %u of %u addresses have "
			"no names",
			path_at(s, profile), seconds, nameless, profile->pc_count);
	return mt_fail(err, -ETIMEDOUT,
		"%s: looking up one name has taken more than %u s, so the file may be damaged; %u "
		"of %u addresses have no names",
		path_at(s, profile), seconds * BUSY_TIMES, nameless, profile->pc_count);
}

static int fail_crashed(const struct mt_symbolizer *s, const struct mt_profile *profile,
	uint32_t nameless, struct mt_err *err)
{
	return mt_fail(err, -EFAULT, CRASHED "; %u of %u addresses have no names",
		path_at(s, profile), sigabbrev_np(s->crashed), nameless, profile->pc_count);
}

/* Returns the resolver for another attempt, without the file that the last one crashed on, or
 * NULL. */
static struct mt_resolver *attempt(const struct mt_lookup *lookup, struct mt_resolver *resolver,
	struct mt_resolver *library, const struct mt_profile *profile, struct mt_symbols *symbols,
	struct mt_err *err)
{
	struct mt_symbolizer *s = make(resolver, library, true);
	struct mt_resolver *next = NULL;
	enum waited waited;
	char *missing;
	uint32_t module;

	note_known(s, profile, symbols);
	part_extend(&s->fed, profile);
	s->busy = true;
	start(s);
	if (!s->threaded) {
		s->stop = false;
		part_extend(&s->own, &s->fed);
		resolve(s);
		s->busy = false;
	}
	waited = await(s, false, lookup->looks, (uint64_t)lookup->looks * BUSY_TIMES,
		lookup->progress, lookup->context);
	s->given_up |= waited != WAITED_DONE;
	take_ready(s, symbols);
	if (waited != WAITED_DONE) {
		fail_waiting(s, profile, lookup, waited, name_rest(profile, symbols, ALL), err);
	} else if (s->crashed) {
		module = atomic_load(&s->at);
		fail_crashed(s, profile, name_rest(profile, symbols, module), err);
		if (module != ALL)
			next = mt_resolver_instead_of(s->resolver, module);
	} else if (symbols->embedded == MT_EMBEDDED_NONE) {
		symbols->embedded = s->texts.embedded;
		symbols->suppressions = mt_strings_add(&symbols->strings,
			mt_strings_get(&s->texts.strings, s->texts.suppressions));
	}
	missing = s->given_up ? NULL : mt_symbolizer_missing(s);
	if (missing && lookup->say)
		lookup->say("%s", missing);
	free(missing);
	mt_symbolizer_free(s);
	return next;
}

int mt_lookup(const struct mt_lookup *lookup, const struct mt_profile *profile,
	struct mt_symbols *symbols, struct mt_err *err)
{
	struct mt_resolver *next;
	struct mt_err ignored;

	err = err ? err : &ignored;
	*err = (struct mt_err){0};
	next = attempt(lookup, lookup->resolver, lookup->library, profile, symbols, err);
	while (next)
		next = attempt(lookup, next, NULL, profile, symbols, err);
	return err->code;
}
