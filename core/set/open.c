#include "core/set/open.h"
#include "core/set/summary.h"

#include "core/base/thread.h"
#include "core/model/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the time axis ---- */

static bool peek_times(const char *path, uint64_t *begin_ns, uint64_t *end_ns)
{
	struct mt_err ignored = {0};
	struct mt_trace_reader *reader = mt_trace_reader_open(path, &ignored);
	struct mt_profile p = {0};
	bool known = reader && mt_profile_peek(&p, reader, &ignored) >= 0 && p.info.start_unix_ns;

	if (known) {
		*begin_ns = p.info.start_unix_ns;
		*end_ns = *begin_ns + p.info.wall_ns;
	}
	mt_profile_free(&p);
	mt_trace_reader_free(reader);
	return known;
}

void mt_set_find_axis(struct mt_set_options *set, char *const *paths, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t begin, end;

		if (!strcmp(paths[i], "-") || !peek_times(paths[i], &begin, &end))
			continue;
		if (!set->begin_unix_ns || begin < set->begin_unix_ns)
			set->begin_unix_ns = begin;
		if (end > set->end_unix_ns)
			set->end_unix_ns = end;
	}
}

/* ---- members, by several threads ---- */

#define THREADS_MOST 8u

/* Each thread opens the next one that nobody has taken; they are added in the order of paths, so
 * that the same paths give the same numbers. */
struct opening {
	char *const *paths;
	uint32_t count;
	const struct mt_open_options *options;
	struct mt_set *set;
	pthread_mutex_t lock; /* of all below; the set is changed under it */
	pthread_cond_t turned;
	uint32_t taken, turn;
	bool cancelled;
	struct mt_session_process *processes;
	uint32_t process_count, unread;
	struct mt_err first; /* why the first of the unread ones is */
};

static struct mt_recording *open_member(const char *path, struct mt_err *err)
{
	const struct mt_open_options quiet = {0};
	struct mt_recording *r = mt_recording_open(path, &quiet, err);
	struct mt_err ignored = {0};

	if (r) {
		mt_recording_read_names(r, &ignored);
		mt_recording_complete_names(r, &quiet, NULL, &ignored);
	}
	return r;
}

static void add(struct opening *o, uint32_t i, const struct mt_recording *r,
	const struct mt_err *err)
{
	if (!r) {
		if (!o->unread++)
			o->first = *err;
		return;
	}
	mt_set_add(o->set,
		&(struct mt_set_part){
			.path = o->paths[i],
			.whole = r->now.profile,
			.matched = r->now.profile,
			.symbols = r->now.symbols,
		});
	mt_family_describe(&o->processes[o->process_count++], r->now.profile, o->paths[i]);
}

static void *open_members(void *context)
{
	struct opening *o = context;

	pthread_mutex_lock(&o->lock);
	while (!o->cancelled && o->taken < o->count) {
		struct mt_err err = {0};
		uint32_t i = o->taken++;

		pthread_mutex_unlock(&o->lock);
		struct mt_recording *r = open_member(o->paths[i], &err);

		pthread_mutex_lock(&o->lock);
		while (o->turn != i)
			pthread_cond_wait(&o->turned, &o->lock);
		if (!o->cancelled)
			add(o, i, r, &err);
		o->turn++;
		if (o->options->progress
			&& o->options->progress(o->options->context, "reading",
				(double)o->turn / o->count))
			o->cancelled = true;
		pthread_cond_broadcast(&o->turned);
		pthread_mutex_unlock(&o->lock);
		mt_recording_free(r);
		pthread_mutex_lock(&o->lock);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

static void open_all(struct opening *o)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MOST];
	uint32_t started = 0;

	while (started + 1 < THREADS_MOST && (long)started + 1 < processors
		&& !mt_thread_start(&threads[started], "memtui-open", open_members, o))
		started++;
	open_members(o);
	while (started)
		pthread_join(threads[--started], NULL);
}

/* ---- all ---- */

/* What stands for all of them in the list of processes. */
static void describe_all(struct mt_session_process *all, const struct mt_set *set)
{
	const struct mt_profile *p = mt_set_whole(set);

	mt_family_describe(all, p, "");
	all->parent = 0;
	all->wait_status = -1;
	all->failed = 0;
	snprintf(all->command, sizeof all->command, "all %u recordings", mt_set_count(set));
}

static void conclude(struct mt_set_opened *out, struct opening *o, struct mt_set_summary *summary)
{
	struct mt_profile profile;
	struct mt_symbols symbols;

	mt_set_finish(o->set);
	describe_all(&o->processes[o->process_count], o->set);
	out->count = mt_set_count(o->set);
	mt_family_make(&out->members, o->processes, o->process_count + 1);
	o->processes = NULL;
	if (o->unread)
		out->unread = mt_format("%u of %u recordings could not be read: %s", o->unread,
			o->count, o->first.text);
	mt_set_take(o->set, &profile, &symbols);
	if (!o->unread)
		mt_set_summary_write(summary, &profile, &symbols, &out->members);
	out->recording = mt_recording_of(&profile, &symbols);
}

int mt_set_open(struct mt_set_opened *out, char *const *paths, uint32_t count,
	enum mt_set_stacks stacks, const char *cache, const struct mt_open_options *options,
	struct mt_err *err)
{
	struct mt_set_summary *summary = mt_set_summary_new(cache, paths, count, stacks);
	struct mt_set_options set = {.stacks = stacks};
	struct opening o = {
		.paths = paths,
		.count = count,
		.options = options,
		.processes = mt_alloc(((size_t)count + 1) * sizeof *o.processes),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turned = PTHREAD_COND_INITIALIZER,
	};

	*out = (struct mt_set_opened){0};
	if (mt_set_summary_read(summary, out)) {
		mt_set_summary_free(summary);
		free(o.processes);
		return 0;
	}
	mt_set_find_axis(&set, paths, count);
	o.set = mt_set_new(&set);
	open_all(&o);
	if (options->progress)
		options->progress(options->context, "reading", -1);
	if (o.cancelled)
		mt_fail(err, -ECANCELED, "cancelled");
	else if (!mt_set_count(o.set))
		*err = o.first;
	else
		conclude(out, &o, summary);
	free(o.processes);
	mt_set_free(o.set);
	mt_set_summary_free(summary);
	return out->recording ? 0 : err->code ? err->code : -ENODATA;
}

void mt_set_opened_free(struct mt_set_opened *o)
{
	mt_recording_free(o->recording);
	mt_family_free(&o->members);
	free(o->unread);
	*o = (struct mt_set_opened){0};
}
