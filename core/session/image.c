/* One image of the program, from its first event to its complete trace. */
#include "core/model/verdicts.h"
#include "core/session/family.h"
#include "core/session/image_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PUBLISH_IDLE_NS 20000000ull
/* two take all; a process that shares the memory and writes on and on is no reason to stay */
#define LAST_POLLS 16

/* ---- beginning ------------------------------------------------------------------------------- */

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
	i->profile.info.images_before = process->set_aside;
	i->profile.info.origin = offer->forked ? MT_ORIGIN_FORKED
		: offer->attached              ? MT_ORIGIN_ATTACHED
					       : MT_ORIGIN_EXECUTED;
	i->profile.info.sample_bytes = r->options->sample_bytes;
	i->profile.info.sample_every = r->options->sample_every;
	i->profile.info.record_min = r->options->record_min;
	i->profile.info.record_max = r->options->record_max;
	mt_image_add_arguments(i);
	mt_model_init(&i->model, &i->profile);
	i->sampler = offer->sampler;
	mt_image_take_memory(i);
	mt_merge_init(&i->merge, &i->segment, &i->clock, &i->model);
	i->merge.one_by_one = mt_info_leaves_out(&i->profile.info);
	mt_image_use_trace(i);
	i->markers = atomic_load(&r->marker_count);
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
static void end_own_pause(struct mt_image *i, uint64_t polled_ns)
{
	if (i->profile.info.paused
		&& __atomic_load_n(&i->segment.header->recording, __ATOMIC_RELAXED)) {
		log_pause(i, false);
		i->turn_due = false;
	} else if (polled_ns > i->turned_ns + 1000000000ull) {
		i->turn_due = false; /* what comes now is later */
	}
}

/* Behind what was recorded until then. */
static void take_markers(struct mt_image *i)
{
	struct mt_recorder *r = i->recorder;
	uint64_t start = i->clock.start_monotonic_ns;

	for (; i->markers < atomic_load(&r->marker_count); i->markers++) {
		struct mt_marker m;

		pthread_mutex_lock(&r->lock);
		m = r->markers[i->markers];
		pthread_mutex_unlock(&r->lock);
		mt_merge_mark(&i->merge, m.text,
			m.monotonic_ns > start ? m.monotonic_ns - start : 0);
	}
}

/* A person's pause comes behind what was recorded until then, its end before what is recorded
 * again. */
uint64_t mt_image_poll(struct mt_image *i)
{
	bool paused = atomic_load(&i->recorder->paused);
	uint64_t turned_ns = atomic_load(&i->recorder->turned_ns), records;
	uint64_t now = mt_clock_monotonic_ns(); /* what came up to then is there after the poll */

	if (turned_ns != i->turned_ns)
		i->turn_due = true;
	i->turned_ns = turned_ns;
	heed_pauses(i);
	if (!paused && i->paused)
		log_pause(i, false);
	records = mt_merge_poll(&i->merge);
	take_markers(i);
	if (paused && !i->paused)
		log_pause(i, true);
	if (i->turn_due && !paused)
		end_own_pause(i, now);
	mt_image_meet_new(i);
	return records;
}

bool mt_image_pending(const struct mt_image *i)
{
	return mt_merge_pending(&i->merge);
}

/* Of a leak check of this image, which came from outside. */
static void take_verdicts(struct mt_image *i)
{
	struct mt_process *p = i->process;
	struct mt_verdicts *v = mt_alloc(sizeof *v);

	pthread_mutex_lock(&i->recorder->lock);
	struct mt_buffer payload = p->verdicts;

	p->verdicts = (struct mt_buffer){0};
	pthread_mutex_unlock(&i->recorder->lock);
	if (payload.len && !mt_verdicts_decode(v, &payload, i->profile.group_count)
		&& v->image == i->profile.info.images_before) {
		i->profile.verdicts = v;
	} else {
		mt_verdicts_free(v);
		free(v);
	}
	mt_buffer_free(&payload);
}

/* Of a process whose next events nobody takes any more: what is known beside them. */
static void conclude(struct mt_image *i, int wait_status)
{
	mt_image_set_status(i, wait_status);
	mt_merge_machine(&i->merge);
	mt_merge_slack(&i->merge, true);
	i->profile.info.ended = 1;
	mt_model_settle(&i->model);
	mt_image_write_out(i);
	if (i->writer && !i->failure.code) {
		mt_flight_end(&i->flight);
		mt_image_take_live(i);
		take_verdicts(i);
	}
}

static uint64_t elapsed(const struct mt_image *i)
{
	return mt_clock_ns(&i->clock, mt_clock_now(&i->clock));
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

uint64_t mt_image_taken_up_to(const struct mt_image *i)
{
	return mt_clock_ns(&i->clock, i->merge.horizon);
}

static void publish(struct mt_image *i, struct mt_snapshot *snapshot)
{
	if (i->segment.base)
		mt_image_take_counters(i);
	if (!i->profile.info.ended)
		mt_model_advance(&i->model, mt_image_taken_up_to(i), 0);
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
	mt_image_look_no_more(i);
	mt_model_advance(&i->model, elapsed(i), 0);
	mt_image_take_counters(i);
	conclude(i, wait_status);
	mt_merge_free(&i->merge); /* what is left may wait for its symbols */
	mt_segment_free(&i->segment);
	if (i->failure.code && err)
		*err = i->failure;
	return i->failure.code;
}

/* ---- snapshot files (doc/control.md) --------------------------------------------------------- */

int mt_image_prepare_snapshot(struct mt_image *i, uint64_t *moment_ns, struct mt_err *err)
{
	struct stat st;

	mt_image_take_counters(i);
	mt_model_advance(&i->model, mt_image_taken_up_to(i), 0);
	mt_model_settle(&i->model);
	mt_image_write_out(i);
	*moment_ns = i->profile.info.wall_ns;
	if (i->failure.code) {
		*err = i->failure;
		return err->code;
	}
	if (strcmp(i->trace_path, "-") && fstat(mt_trace_writer_fd(i->writer), &st) == 0
		&& S_ISREG(st.st_mode))
		return 0;
	return mt_fail(err, -ENOTSUP,
		"the recording of process %d is a stream, of which no snapshot can be taken",
		(int)i->process->pid);
}

/* The bytes of the trace so far; behind them the file is written on. */
static int copy_trace(const struct mt_image *i, int to, struct mt_err *err)
{
	int from = mt_trace_writer_fd(i->writer);
	uint64_t left = mt_trace_writer_bytes(i->writer);
	char bytes[65536];
	loff_t at = 0;
	ssize_t n;

	while (left && (n = copy_file_range(from, &at, to, NULL, left, 0)) > 0)
		left -= (uint64_t)n;
	while (left && (n = pread(from, bytes, left < sizeof bytes ? left : sizeof bytes, at)) > 0
		&& mt_write_all(to, bytes, (size_t)n) == 0) {
		left -= (uint64_t)n;
		at += n;
	}
	return left ? mt_fail(err, errno ? -errno : -EIO, "cannot copy the trace %s: %s",
		       i->trace_path, strerror(errno ? errno : EIO))
		    : 0;
}

int mt_image_write_snapshot(struct mt_image *i, int fd, const char *path, struct mt_err *err)
{
	struct mt_resolver *library;

	errno = 0;
	if (copy_trace(i, fd, err) < 0)
		return err->code;
	if (dup3(fd, mt_trace_writer_fd(i->writer), O_CLOEXEC) < 0)
		return mt_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	mt_image_set_path(i, path);
	mt_image_set_stopped(i);
	conclude(i, MT_STATUS_UNKNOWN);
	library = mt_resolver_new(
		&(struct mt_resolver_options){.cache = i->recorder->options->cache});
	return mt_image_complete(i, &library, err);
}

const char *mt_image_trace_path(const struct mt_image *i)
{
	return i->trace_path;
}

void mt_image_pass_on(struct mt_image *i, bool followed)
{
	mt_untraced_pass_on(i->recorder, &i->profile, i->process, followed);
	i->passed_on = followed ? PASSED_ALL
		: i->process == i->recorder->root
		? PASSED_NONE
		: PASSED_SELF;
}

/* Of which no other trace is to tell. */
static uint64_t untraced(const struct mt_image *i)
{
	const struct mt_profile *p = &i->profile;
	uint64_t sum = i->passed_on == PASSED_ALL ? 0 : mt_blind_processes(p);

	for (uint32_t at = 0; i->passed_on == PASSED_SELF && at < p->blind_count; at++)
		if (p->blind[at].pid == p->info.pid && !mt_blind_is_own(&p->blind[at]))
			sum -= p->blind[at].count;
	return sum;
}

void mt_image_set_stopped(struct mt_image *i)
{
	i->profile.info.stopped = 1;
}

void mt_image_set_status(struct mt_image *i, int wait_status)
{
	struct mt_info *info = &i->profile.info;

	info->exit_status = wait_status;
	if (wait_status == MT_STATUS_UNKNOWN || !WIFSIGNALED(wait_status)
		|| WTERMSIG(wait_status) != SIGKILL)
		return;
	info->oom_killed = atomic_load(&i->process->oom_killed);
	info->oom_limit_bytes = info->oom_killed ? i->process->oom_limit_bytes : 0;
}

void mt_image_describe(const struct mt_image *i, struct mt_session_process *out)
{
	mt_family_describe(out, &i->profile, i->trace_path ? i->trace_path : "");
	out->pid = i->process->pid;
	out->parent = i->process->parent;
	out->wait_status = i->profile.info.exit_status;
	out->recorded = i->begun;
	out->forked = i->offer->forked;
	out->failed = i->failure.code != 0;
	out->followed = 0;
	out->untraced = (uint32_t)untraced(i);
	out->leaked_bytes = i->model.live_bytes;
	out->leaked_count = i->model.live_count;
	snprintf(out->command, sizeof out->command, "%.127s", i->offer->command);
}

void mt_image_free(struct mt_image *i)
{
	mt_resolver_free(i->resolver);
	mt_flight_free(&i->flight);
	mt_image_drop_live(i);
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
