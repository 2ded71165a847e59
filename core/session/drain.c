/* The draining thread: takes new images, polls all of them in turn, and hands those that have ended
 * to finishers. */
#include "core/base/thread.h"
#include "core/capture/merge.h"
#include "core/session/internal.h"
#include "core/session/onlooker.h"
#include "core/session/snapshot_file.h"
#include "core/symbol/symbol.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A ring that is 3/8 full rings. The clock is for what cannot wait so long, though a wake costs
 * 20 us: modules and threads that will soon be gone, memory while a short program lives, and room
 * for the next burst. Each rest without records is twice as long as the one before. */
#define REST_MS 1
#define REST_MAX_MS 20
#define REST_ALONE_MS 100 /* where no program is recorded */
#define POLL_MAX_MS 4     /* where no doorbell is heard */
#define BELLS_MAX 128     /* of one futex_waitv */
#define FINISHERS 2
#define NOTES_NS 2000000
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

struct finishing {
	struct mt_image *image;
	struct finishing *next;
};

struct drain {
	struct mt_recorder *recorder;
	struct mt_image **images;
	uint32_t count, capacity;
	struct mt_segment_turns turns; /* of the images' segments */
	struct mt_image **ended;       /* whose process's status is awaited */
	uint32_t ended_count, ended_capacity;
	uint64_t deadline;
	unsigned rest_ms;
	bool awaited;  /* somebody who has asked is answered after another poll */
	bool no_waitv; /* containers may forbid it, old kernels have none */

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct finishing *queue, **queue_end; /* lock */
	/* lock: images in the queue, finishers that wait for one */
	uint32_t waiting, idle;
	bool last; /* lock: nothing more will come */
	pthread_t finishers[FINISHERS];
	uint32_t finisher_count;
};

static struct mt_resolver *new_library(const struct drain *d)
{
	return mt_resolver_new(&(struct mt_resolver_options){.cache = d->recorder->options->cache});
}

/* ---- the end of an image --------------------------------------------------------------------- */

/* Replaces a library that is lost. */
static void complete(struct drain *d, struct mt_image *image, struct mt_resolver **library)
{
	struct mt_recorder *r = d->recorder;
	bool root = mt_image_process(image) == r->root;
	struct mt_session_process line;
	struct mt_err err = {0};

	if (mt_image_complete(image, library, &err) < 0)
		mt_recorder_trouble_of(r, mt_image_process(image), &err);
	if (!*library)
		*library = new_library(d);
	mt_image_describe(image, &line);
	mt_image_free(image);
	if (err.code && err.code != -ESTALE && *line.trace_path
		&& strlen(line.trace_path) < sizeof line.trace_path - 1)
		mt_output_remove_empty(line.trace_path);
	mt_recorder_tell(r, &line);
	if (root)
		atomic_fetch_sub(&r->root_images, 1);
	atomic_fetch_sub(&r->incomplete, 1);
	mt_recorder_notify(r);
}

static void *finisher(void *at)
{
	struct drain *d = at;
	struct mt_resolver *library = new_library(d);

	pthread_mutex_lock(&d->lock);
	for (;;) {
		struct finishing *f = d->queue;

		if (!f && d->last)
			break;
		if (!f) {
			d->idle++;
			pthread_cond_wait(&d->more, &d->lock);
			d->idle--;
			continue;
		}
		d->queue = f->next;
		if (!d->queue)
			d->queue_end = &d->queue;
		d->waiting--;
		pthread_mutex_unlock(&d->lock);
		complete(d, f->image, &library);
		free(f);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	mt_resolver_free(library);
	return NULL;
}

/* Names take their time: in the background, by few threads, so that hundreds of ends are a queue
 * and no crowd. */
static void hand_over(struct drain *d, struct mt_image *image)
{
	struct finishing *f = mt_alloc(sizeof *f);
	bool start;

	f->image = image;
	pthread_mutex_lock(&d->lock);
	*d->queue_end = f;
	d->queue_end = &f->next;
	d->waiting++;
	start = d->waiting > d->idle && d->finisher_count < FINISHERS;
	pthread_cond_signal(&d->more);
	pthread_mutex_unlock(&d->lock);
	if (start
		&& mt_thread_start(&d->finishers[d->finisher_count], "finisher", finisher, d) == 0)
		d->finisher_count++;
}

static void await_status(struct drain *d, struct mt_image *image)
{
	MT_GROW(d->ended, d->ended_count, d->ended_capacity);
	d->ended[d->ended_count++] = image;
}

static int status_of(struct mt_recorder *r, const struct mt_process *p)
{
	int status;

	pthread_mutex_lock(&r->lock);
	status = p->wait_status;
	pthread_mutex_unlock(&r->lock);
	return status;
}

/* Those whose status came, or will not come; all: there is no time left. */
static void hand_over_ended(struct drain *d, bool all)
{
	for (uint32_t i = d->ended_count; i-- > 0;) {
		struct mt_image *image = d->ended[i];
		const struct mt_process *p = mt_image_process(image);

		if (!all && atomic_load(&p->awaited))
			continue;
		d->ended[i] = d->ended[--d->ended_count];
		mt_image_set_status(image, status_of(d->recorder, p));
		hand_over(d, image);
	}
}

static void join_finishers(struct drain *d)
{
	pthread_mutex_lock(&d->lock);
	d->last = true;
	pthread_cond_broadcast(&d->more);
	pthread_mutex_unlock(&d->lock);
	for (uint32_t i = 0; i < d->finisher_count; i++)
		pthread_join(d->finishers[i], NULL);
	finisher(d); /* where no thread could be made */
}

/* The service may not touch it any more. */
static void withdraw(struct mt_recorder *r, struct mt_image *image)
{
	struct mt_process *p = mt_image_process(image);

	pthread_mutex_lock(&r->lock);
	if (p->header == mt_image_segment(image)->header)
		p->header = NULL;
	pthread_mutex_unlock(&r->lock);
}

static void forget(struct drain *d, const struct mt_image *image)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (d->images[i] == image) {
			d->images[i] = d->images[--d->count];
			break;
		}
	atomic_store(&d->recorder->image_count, d->count);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Opens an image's file when it is wanted. False: there is none; the image has failed. */
static bool begin(struct drain *d, struct mt_image *image)
{
	struct mt_recorder *r = d->recorder;
	struct mt_process *p = mt_image_process(image);
	struct mt_err err = {0};
	int fd;

	if (p->path_taken) {
		fd = mt_output_beside(&p->trace_path, &err);
		p->path_taken = fd < 0;
	} else if (p == r->root) {
		fd = r->output_fd >= 0 ? r->output_fd : mt_output_open(p->trace_path, &err);
		r->output_fd = -1;
	} else if (p->trace_path) {
		fd = mt_output_open(p->trace_path, &err);
	} else {
		fd = mt_output_other(&p->trace_path, r->options->output, mt_image_path(image),
			p->pid, r->trace_path, &err);
	}
	if (fd >= 0 && mt_image_begin(image, fd, &err) == 0) {
		mt_image_set_path(image, p->trace_path);
		atomic_store(&p->begun, true);
		return true;
	}
	if (fd >= 0)
		mt_output_remove_empty(p->trace_path);
	mt_image_fail(image, &err);
	mt_recorder_trouble_of(r, p, &err);
	return false;
}

/* The name of an image that another one follows; false: without events it has none. */
static bool set_aside(struct drain *d, struct mt_image *image, bool empty)
{
	struct mt_process *p = mt_image_process(image);
	struct mt_err err;
	char *aside;

	if (!mt_image_has_begun(image))
		return false;
	if (!mt_output_is_regular(p->trace_path))
		return true;
	if (empty) {
		unlink(p->trace_path);
		return false;
	}
	if (mt_output_set_aside(&aside, p->trace_path, &p->set_aside, &err) < 0) {
		mt_recorder_trouble_of(d->recorder, p, &err);
		p->path_taken = true;
		return true;
	}
	mt_image_set_path(image, aside);
	free(aside);
	return true;
}

/* ---- images ---------------------------------------------------------------------------------- */

#define SHOWN_NS 200000000ull /* between two descriptions of an image for lists */

static void show(struct drain *d, struct mt_image *image)
{
	struct mt_process *p = mt_image_process(image);
	struct mt_session_process line;

	mt_image_describe(image, &line);
	pthread_mutex_lock(&d->recorder->lock);
	if (!p->shown)
		p->shown = mt_alloc(sizeof *p->shown);
	*p->shown = line;
	pthread_mutex_unlock(&d->recorder->lock);
}

/* Takes it out of the loop. followed: by another image of its process. */
static void end_image(struct drain *d, struct mt_image *image, int wait_status, bool followed)
{
	struct mt_recorder *r = d->recorder;
	struct mt_process *p = mt_image_process(image);
	struct mt_session_process line;
	struct mt_err err = {0};
	bool kept = true;

	withdraw(r, image);
	if (!mt_image_has_begun(image) && !mt_image_failed(image, &err) && mt_image_pending(image))
		begin(d, image);
	mt_image_end(image, wait_status, &err);
	mt_image_pass_on(image, followed);
	mt_image_publish_last(image);
	mt_image_describe(image, &line);
	show(d, image);
	if (followed) {
		struct mt_snapshot *snapshot = atomic_load(&p->snapshot);

		kept = set_aside(d, image, line.events == 0);
		if (snapshot)
			mt_snapshot_restart(snapshot);
	}
	forget(d, image);
	p->image = NULL;
	mt_recorder_notify(r);
	/* its status may have come since it was looked at */
	if (kept && !followed && wait_status == MT_STATUS_UNKNOWN) {
		await_status(d, image);
		return;
	}
	if (kept) {
		hand_over(d, image);
		return;
	}
	mt_image_free(image);
	if (p == r->root)
		atomic_fetch_sub(&r->root_images, 1);
	atomic_fetch_sub(&r->incomplete, 1);
}

/* A process that was attached is to be left as it was, too. */
static void want_detach(struct mt_recorder *r)
{
	if (!mt_recorder_is_attached(r) || atomic_exchange(&r->detach_due, true))
		return;
	mt_recorder_notify(r);
}

static void adopt(struct drain *d, struct mt_process *p, struct mt_offer *offer)
{
	struct mt_recorder *r = d->recorder;

	if (p->image)
		end_image(d, p->image, MT_STATUS_UNKNOWN, true);
	p->image = mt_image_new(r, p, offer);
	atomic_fetch_add(&r->incomplete, 1);
	MT_GROW(d->images, d->count, d->capacity);
	d->images[d->count++] = p->image;
	mt_segment_join(mt_image_segment(p->image), &d->turns);
	atomic_store(&r->image_count, d->count);
	if (p == r->root && !begin(d, p->image)) {
		end_image(d, p->image, MT_STATUS_UNKNOWN, false);
		want_detach(r);
	}
}

static void take_note(struct drain *d, struct mt_note *note)
{
	if (note->offer)
		adopt(d, note->process, note->offer);
	else if (note->process->image)
		end_image(d, note->process->image, status_of(d->recorder, note->process), false);
	if (!note->offer) {
		atomic_store(&note->process->done, true);
		mt_snapshot_files_drop(d->recorder, note->process);
		mt_recorder_notify(d->recorder);
	}
	free(note);
}

/* As many as fit between two polls: rings fill meanwhile. */
static void take_notes(struct drain *d)
{
	struct mt_recorder *r = d->recorder;
	uint64_t until = mt_clock_monotonic_ns() + NOTES_NS;
	struct mt_note *first;

	do {
		pthread_mutex_lock(&r->lock);
		first = r->notes;
		if (first && !(r->notes = first->next))
			r->notes_end = &r->notes;
		pthread_mutex_unlock(&r->lock);
		if (first)
			take_note(d, first);
	} while (first && mt_clock_monotonic_ns() < until);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Recording ends although the process goes on: its trace cannot be written, or the time is over. */
static void stop_image(struct drain *d, struct mt_image *image)
{
	struct mt_err err = {0};

	/* A process that was detached records nothing any more. Its last events are to be taken as
	 * those before: in a pause, a free without a block would be one of an unrecorded block. */
	if (!mt_recorder_is_attached(d->recorder) || !atomic_load(&d->recorder->gave_up))
		__atomic_store_n(&mt_image_segment(image)->header->recording, 0, __ATOMIC_RELEASE);
	mt_image_failed(image, &err);
	if (mt_image_process(image) == d->recorder->root && err.code)
		/* nothing can be written where the root's trace is */
		atomic_store(&d->recorder->stopping, true);
	if (mt_image_process(image) == d->recorder->root)
		want_detach(d->recorder);
	mt_image_set_stopped(image);
	end_image(d, image, MT_STATUS_UNKNOWN, false);
}

/* Before a poll: what was asked by now. Requests that come while others wait are seen later. */
static void see_live_requests(struct mt_process *p)
{
	if (p->live_seen != p->live_answered)
		return;
	p->live_seen = atomic_load(&p->live_asked);
	p->live_seen_ns = mt_clock_monotonic_ns();
}

/* After a poll that began at this time. It has taken all that came before the requests if it began
 * so much later that stamps of two processors are in order; else the next one has. */
static void answer_live(struct drain *d, struct mt_image *image, uint64_t began_ns)
{
	struct mt_recorder *r = d->recorder;
	struct mt_process *p = mt_image_process(image);
	struct mt_live_answer *answer, *before;

	if (p->live_seen == p->live_answered || !mt_image_has_begun(image))
		return;
	if (began_ns < p->live_seen_ns + MT_MERGE_WINDOW_NS) {
		d->awaited = true;
		return;
	}
	answer = mt_image_answer_live(image);
	answer->number = p->live_answered = p->live_seen;
	pthread_mutex_lock(&r->lock);
	before = p->live;
	p->live = answer;
	pthread_mutex_unlock(&r->lock);
	mt_live_answer_free(before);
	mt_recorder_notify(r);
}

/* Recording is to end although programs go on. */
static bool is_over(const struct drain *d, uint64_t now)
{
	return (d->deadline && now >= d->deadline) || atomic_load(&d->recorder->stop_due);
}

/* Returns whether it is done with. */
static bool tend(struct drain *d, struct mt_image *image, uint64_t *records)
{
	uint64_t began_ns, taken, now;
	struct mt_err err;

	see_live_requests(mt_image_process(image));
	began_ns = mt_clock_monotonic_ns();
	bool ready = mt_image_has_begun(image) || !mt_image_pending(image) || begin(d, image);

	taken = ready ? mt_image_poll(image) : 0;
	now = mt_clock_monotonic_ns();
	*records += taken;
	mt_image_tend(image, now, taken == 0);
	if (now - mt_image_process(image)->shown_ns >= SHOWN_NS) {
		mt_image_process(image)->shown_ns = now;
		show(d, image);
	}
	if (!ready || mt_image_failed(image, &err) || mt_image_is_full(image)
		|| (is_over(d, now) && !mt_recorder_is_attached(d->recorder))) {
		stop_image(d, image);
		return true;
	}
	answer_live(d, image, began_ns);
	mt_recorder_see_ending(d->recorder, mt_image_process(image));
	mt_snapshot_files_begin(d->recorder, image);
	if (mt_image_publish(image, now, taken == 0))
		mt_recorder_notify(d->recorder);
	return false;
}

struct bell {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static unsigned list_bells(struct drain *d, struct bell *bells, uint32_t own)
{
	unsigned count = 0;

	bells[count++] = (struct bell){own, (uint64_t)(uintptr_t)&d->recorder->bell, 2, 0};
	/* those of late first: with too many, the rest is looked at by the clock */
	for (uint32_t i = d->count; i-- > 0;) {
		struct mt_wire_header *h = mt_image_segment(d->images[i])->header;

		if (count < BELLS_MAX)
			bells[count++] =
				(struct bell){__atomic_load_n(&h->doorbell, __ATOMIC_ACQUIRE),
					(uint64_t)(uintptr_t)&h->doorbell, 2, 0};
		__atomic_store_n(&h->asleep, 1, __ATOMIC_SEQ_CST);
	}
	return count;
}

static bool has_notes(struct mt_recorder *r)
{
	bool there;

	pthread_mutex_lock(&r->lock);
	there = r->notes != NULL;
	pthread_mutex_unlock(&r->lock);
	return there;
}

/* Programs with a system-call filter ring no doorbell. */
static bool any_mute(const struct drain *d)
{
	bool any = false;

	for (uint32_t i = 0; i < d->count; i++)
		any |= __atomic_load_n(&mt_image_segment(d->images[i])->header->mute,
			       __ATOMIC_RELAXED)
			!= 0;
	return any;
}

static unsigned rest_ms(const struct drain *d)
{
	if (d->count == 0)
		return REST_ALONE_MS;
	if (d->count >= BELLS_MAX || any_mute(d))
		return REST_MS;
	return d->no_waitv && d->rest_ms > POLL_MAX_MS ? POLL_MAX_MS : d->rest_ms;
}

/* Until a doorbell rings, or the time is over. */
static void rest(struct drain *d)
{
	struct mt_recorder *r = d->recorder;
	struct bell bells[BELLS_MAX];
	uint32_t own = atomic_load(&r->bell);
	struct timespec timeout;
	unsigned count, ms;
	uint64_t until;

	if (has_notes(r) || atomic_load(&r->over))
		return;
	count = list_bells(d, bells, own);
	/* not before: who becomes mute says so, and then wakes those who sleep */
	ms = rest_ms(d);
	until = mt_clock_monotonic_ns() + ms * 1000000ull;
	timeout = (struct timespec){(time_t)(until / 1000000000), (long)(until % 1000000000)};
	if (!d->no_waitv
		&& syscall(SYS_futex_waitv, bells, count, 0, &timeout, CLOCK_MONOTONIC) < 0)
		d->no_waitv = errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT;
	if (d->no_waitv) {
		timeout = (struct timespec){0, rest_ms(d) * 1000000l};
		syscall(SYS_futex, &r->bell, FUTEX_WAIT, own, &timeout, NULL, 0);
	}
	for (uint32_t i = 0; i < d->count; i++)
		__atomic_store_n(&mt_image_segment(d->images[i])->header->asleep, 0,
			__ATOMIC_RELAXED);
}

static void drain_once(struct drain *d)
{
	uint64_t records = 0;
	uint32_t least = d->count ? mt_image_segment(d->images[0])->sizes.records / 8 : 1;
	uint64_t notes_at = mt_clock_monotonic_ns() + NOTES_NS;

	d->awaited = false;
	if (is_over(d, mt_clock_monotonic_ns())) {
		if (mt_recorder_is_attached(d->recorder)) /* it is recorded until it is detached */
			want_detach(d->recorder);
		else
			atomic_store(&d->recorder->stopping, true);
	}
	for (uint32_t i = 0, left = d->count; left && i < d->count; left--) {
		if (!tend(d, d->images[i], &records))
			i++;
		/* who is new does not wait for all others to be read: its segment ticks from then
		 * on */
		if (mt_clock_monotonic_ns() < notes_at)
			continue;
		take_notes(d);
		notes_at = mt_clock_monotonic_ns() + NOTES_NS;
	}
	if (records)
		d->rest_ms = REST_MS;
	else if (d->rest_ms < REST_MAX_MS)
		d->rest_ms = d->rest_ms * 2 > REST_MAX_MS ? REST_MAX_MS : d->rest_ms * 2;
	if (records < least && !d->awaited)
		rest(d);
}

void mt_drain_run(struct mt_recorder *r)
{
	struct drain d = {
		.recorder = r,
		.rest_ms = REST_MS,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
	};

	d.queue_end = &d.queue;
	r->onlooker = mt_onlooker_new(r->objects);
	if (r->options->duration_ns)
		d.deadline = mt_clock_monotonic_ns() + r->options->duration_ns;
	while (!atomic_load(&r->over) || has_notes(r)) {
		take_notes(&d);
		hand_over_ended(&d, false);
		drain_once(&d);
	}
	while (d.count && atomic_load(&r->gave_up))
		stop_image(&d, d.images[0]);
	while (d.count)
		end_image(&d, d.images[0], MT_STATUS_UNKNOWN, false);
	hand_over_ended(&d, true);
	free(d.ended);
	free(d.images);
	free(d.turns.headers);
	join_finishers(&d);
	mt_snapshot_files_await(r);
	mt_onlooker_free(r->onlooker);
}
