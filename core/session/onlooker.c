#include "core/session/onlooker.h"
#include "core/base/thread.h"
#include "core/session/internal.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

struct mt_onlooker {
	pthread_mutex_t lock;
	pthread_cond_t asked, seen;
	struct mt_look *queue, **queue_end; /* lock */
	bool last;                          /* lock: nothing more will come */
	bool runs;
	pthread_t thread;
	struct mt_objects_cache *objects;
};

struct mt_onlooker *mt_onlooker_new(struct mt_objects_cache *objects)
{
	struct mt_onlooker *o = mt_alloc(sizeof *o);
	pthread_condattr_t monotonic;

	pthread_mutex_init(&o->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&o->asked, NULL);
	pthread_cond_init(&o->seen, &monotonic);
	pthread_condattr_destroy(&monotonic);
	o->queue_end = &o->queue;
	o->objects = objects;
	return o;
}

static void discard(struct mt_look *l)
{
	mt_buffer_free(&l->arguments);
	mt_objects_free(&l->objects);
	free(l);
}

static void look(struct mt_onlooker *o, struct mt_look *l)
{
	if (l->wants_memory) {
		mt_memory_look(&l->sampler);
		mt_objects_look(&l->objects, o->objects, l->process->pid);
	}
	l->retitled = l->wants_title && mt_process_retitled(l->process, &l->arguments);
}

static void *run(void *at)
{
	struct mt_onlooker *o = at;

	prctl(PR_SET_NAME, "onlooker"); /* for top, and for tests that wait for a look */
	pthread_mutex_lock(&o->lock);
	while (o->queue || !o->last) {
		struct mt_look *l = o->queue;

		if (!l) {
			pthread_cond_wait(&o->asked, &o->lock);
			continue;
		}
		o->queue = l->next;
		if (!o->queue)
			o->queue_end = &o->queue;
		if (!l->given_up) {
			pthread_mutex_unlock(&o->lock);
			look(o, l);
			pthread_mutex_lock(&o->lock);
		}
		l->under_way = false;
		l->done = true;
		if (l->given_up)
			discard(l);
		pthread_cond_broadcast(&o->seen);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

void mt_onlooker_free(struct mt_onlooker *o)
{
	pthread_mutex_lock(&o->lock);
	o->last = true;
	pthread_cond_signal(&o->asked);
	pthread_mutex_unlock(&o->lock);
	if (o->runs)
		pthread_join(o->thread, NULL);
	pthread_cond_destroy(&o->asked);
	pthread_cond_destroy(&o->seen);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

struct mt_look *mt_look_new(const struct mt_process *process)
{
	struct mt_look *l = mt_alloc(sizeof *l);

	l->process = process;
	return l;
}

void mt_look_begin(struct mt_onlooker *o, struct mt_look *l)
{
	l->next = NULL;
	l->done = false;
	if (!o->runs)
		o->runs = mt_thread_start(&o->thread, "onlooker", run, o) == 0;
	if (!o->runs) { /* better late than never */
		look(o, l);
		l->done = true;
		return;
	}
	pthread_mutex_lock(&o->lock);
	l->under_way = true;
	*o->queue_end = l;
	o->queue_end = &l->next;
	pthread_cond_signal(&o->asked);
	pthread_mutex_unlock(&o->lock);
}

bool mt_look_is_under_way(struct mt_onlooker *o, struct mt_look *l)
{
	bool under_way;

	pthread_mutex_lock(&o->lock);
	under_way = l->under_way;
	pthread_mutex_unlock(&o->lock);
	return under_way;
}

bool mt_look_take(struct mt_onlooker *o, struct mt_look *l, uint64_t wait_ns)
{
	uint64_t until = mt_clock_monotonic_ns() + wait_ns;
	struct timespec end = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	bool done;

	pthread_mutex_lock(&o->lock);
	while (wait_ns && l->under_way && !pthread_cond_timedwait(&o->seen, &o->lock, &end))
		;
	done = l->done;
	l->done = false;
	pthread_mutex_unlock(&o->lock);
	return done;
}

void mt_look_free(struct mt_onlooker *o, struct mt_look *l)
{
	bool mine;

	if (!l)
		return;
	pthread_mutex_lock(&o->lock);
	mine = !l->under_way;
	l->given_up = true;
	pthread_mutex_unlock(&o->lock);
	if (mine)
		discard(l);
}
