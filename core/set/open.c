#include "core/set/open.h"
#include "core/set/summary.h"

#include "core/base/thread.h"
#include "core/model/load.h"

#include <errno.h>
#include <stdatomic.h>
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

enum { INCOMPLETE, DAMAGED, LOSSY, TROUBLES };

/* Each thread opens the next one that nobody has taken; they are added in the order of paths, so
 * that the same paths give the same numbers. */
struct opening {
	char *const *paths;
	uint32_t count;
	const struct mt_open_options *options;
	struct mt_set *set;
	_Atomic uint32_t taken;
	_Atomic bool cancelled;
	pthread_mutex_t lock; /* of all below, and of the set */
	pthread_cond_t turned;
	uint32_t turn;
	struct mt_session_process *processes;
	uint32_t process_count, unread;
	struct mt_err first; /* why the first of the unread ones is */
	struct trouble {
		uint32_t count;
		const char *first; /* path */
	} troubles[TROUBLES];
	bool own_rules, looked_up;
};

/* *looked_up: names came from the files of this machine. */
static struct mt_recording *open_member(const char *path, bool *looked_up, struct mt_err *err)
{
	const struct mt_open_options quiet = {0};
	struct mt_recording *r = mt_recording_open(path, &quiet, err);
	struct mt_err ignored = {0};

	if (r) {
		mt_recording_read_names(r, &ignored);
		*looked_up = mt_recording_lacks_names(r);
		mt_recording_complete_names(r, &quiet, NULL, &ignored);
	}
	return r;
}

static void note(struct trouble *trouble, bool is, const char *path)
{
	if (is && !trouble->count++)
		trouble->first = path;
}

static void note_troubles(struct opening *o, struct mt_recording *r, const char *path)
{
	const struct mt_info *info = &r->now.profile->info;
	const struct mt_trace_reader *reader = r->now.reader;
	bool damaged = mt_recording_facts(r).fault
		|| (reader && mt_trace_reader_damage(reader, NULL)
			&& !mt_trace_reader_is_cut(reader));

	note(&o->troubles[DAMAGED], damaged, path);
	note(&o->troubles[INCOMPLETE], !damaged && info->recorder_lost, path);
	note(&o->troubles[LOSSY], info->lost_events, path);
	o->own_rules |= r->now.symbols->embedded != MT_EMBEDDED_NONE;
}

/* "2 of 20 recordings are incomplete …: the first is a.dat; 1 is damaged …"; NULL:
 * none is any of it. */
static char *trouble_words(const struct opening *o)
{
	static const char *const words[TROUBLES][2] = {
		[INCOMPLETE] = {"is incomplete (still being recorded, or the recorder was killed)",
			"are incomplete (still being recorded, or the recorder was killed)"},
		[DAMAGED] = {"is damaged and was read up to there",
			"are damaged and were read up to there"},
		[LOSSY] = {"has lost events, so its totals are too small",
			"have lost events, so their totals are too small"},
	};
	struct mt_buffer text = {0};

	for (int i = 0; i < TROUBLES; i++) {
		const struct trouble *t = &o->troubles[i];

		if (!t->count)
			continue;
		mt_buffer_printf(&text, text.len ? "; %u" : "%u", t->count);
		if (text.len < 12)
			mt_buffer_printf(&text, " of %u recordings", o->count);
		mt_buffer_printf(&text, " %s: %s%s", words[i][t->count > 1],
			t->count > 1 ? "the first is " : "", t->first);
	}
	if (mt_set_columns_dropped(o->set))
		mt_buffer_printf(&text,
			"%scolumns that some recordings lack (those of a leak check, for "
			"example) are left out",
			text.len ? "; " : "");
	if (!text.len)
		return NULL;
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}

static void add(struct opening *o, uint32_t i, struct mt_recording *r, const struct mt_err *err)
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
	note_troubles(o, r, o->paths[i]);
}

/* Adding is what is done one after another; who opens does not wait for who adds. */
static void *open_members(void *context)
{
	struct opening *o = context;
	uint32_t i;

	while (!atomic_load(&o->cancelled) && (i = atomic_fetch_add(&o->taken, 1)) < o->count) {
		struct mt_err err = {0};
		bool looked_up = false;
		struct mt_recording *r = open_member(o->paths[i], &looked_up, &err);

		pthread_mutex_lock(&o->lock);
		while (o->turn != i)
			pthread_cond_wait(&o->turned, &o->lock);
		if (!atomic_load(&o->cancelled))
			add(o, i, r, &err);
		o->looked_up |= looked_up;
		o->turn++;
		if (o->options->progress
			&& o->options->progress(o->options->context, "reading",
				(double)o->turn / o->count))
			atomic_store(&o->cancelled, true);
		pthread_cond_broadcast(&o->turned);
		pthread_mutex_unlock(&o->lock);
		mt_recording_free(r);
	}
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
	out->troubles = trouble_words(o);
	out->own_rules = o->own_rules;
	if (!o->unread && !out->troubles && !out->own_rules && !o->looked_up)
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
	else if (!mt_set_count(o.set) && count > 1)
		mt_fail(err, o.first.code, "none of the %u recordings can be read; the first: %s",
			count, o.first.text);
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
	free(o->troubles);
	*o = (struct mt_set_opened){0};
}
