/* Four threads that work alike; one of them is given the jobs that fail, and the results of these
 * are not freed. */
#include "common.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define WORKERS 4
#define FAILING 2 /* which of them */
#define KEPT 64
#define AHEAD 64 /* jobs; further no worker gets, so that the leak grows as evenly as all else */

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random;
	void *kept[KEPT]; /* results that are used for a while */
	unsigned long leaked, leaked_bytes;
	atomic_ulong done;
};
static struct worker workers[WORKERS];
static int guilty_line;

static NOINLINE void *make_result(size_t size)
{
	guilty_line = __LINE__ + 1;
	void *result = malloc(size);

	return fill(result, size);
}

static NOINLINE void *make_scratch(size_t size)
{
	return fill(calloc(1, size), size);
}

static NOINLINE char *name_job(unsigned worker, unsigned long job)
{
	char *name = malloc(64);

	snprintf(name, 64, "job %lu of worker %u", job, worker);
	return name;
}

static void work(struct worker *w, unsigned long job)
{
	size_t size = 80 + step_random(&w->random) % 80;
	void *scratch = make_scratch(500 + step_random(&w->random) % 4000);
	void *result = make_result(size);
	char *name = name_job(w->number, job);
	unsigned slot = step_random(&w->random) % KEPT;

	/* it failed: nobody wants the result, and nobody frees it */
	if (w->number == FAILING && job % 8 == 0) {
		w->leaked++;
		w->leaked_bytes += size;
	} else {
		free(w->kept[slot]);
		w->kept[slot] = result;
	}
	free(scratch);
	free(name);
}

static unsigned long least_done(void)
{
	unsigned long least = workers[0].done;

	for (unsigned i = 1; i < WORKERS; i++)
		least = workers[i].done < least ? workers[i].done : least;
	return least;
}

static void *run(void *context)
{
	struct worker *w = context;
	char name[16];

	snprintf(name, sizeof name, "worker-%u", w->number);
	pthread_setname_np(pthread_self(), name);
	for (; next_request(w->done); w->done++) {
		while (!stopped && w->done > least_done() + AHEAD)
			sched_yield();
		work(w, w->done + 1);
	}
	for (unsigned i = 0; i < KEPT; i++)
		free(w->kept[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	begin(argc, argv, 500);
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].number = i;
		workers[i].random = next_random(1u << 30);
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	tell_truth("make_result", __FILE__, guilty_line, workers[FAILING].leaked,
		workers[FAILING].leaked_bytes);
	return 0;
}
