/* race THREADS ROUNDS [give-back]: tracer and recorder in one process, for ThreadSanitizer:
 * threads write events through the tracer's own code, each into its ring and all into one call
 * tree, while this one drains and merges. Both sides go by the same mapping, since the sanitizer
 * knows memory by its address. Blocks go from thread to thread. A full ring waits for as long as
 * it takes: this is about order, and on a busy machine the one thread that drains may get no
 * processor for longer than a recorder is waited for. With give-back the threads pause, and each
 * poll gives back the pages of all drained records, which else happens twice a second: a record
 * that was written while its page went away would be missing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/capture/merge.h"
#include "core/capture/ring_pages.h"
#include "core/capture/segment.h"
#include "tests/stress/race.h"

#define THREADS_MAX 256

struct race race;
static struct mt_segment segment;

static long sum(const uint64_t *counters, unsigned from, unsigned to)
{
	long n = 0;

	for (unsigned i = from; i <= to; i++)
		n += (long)counters[i];
	return n;
}

static int check(struct mt_merge *merge, long threads)
{
	const struct mt_info *info = &merge->model->profile->info;
	long live = 0, lost;

	mt_merge_counters(merge);
	lost = sum(info->counters, MT_COUNTER_LOST_ALLOCATIONS, MT_COUNTER_LOST_FREES);
	for (int i = 0; i < RACE_SLOTS; i++)
		live += race.slots[i] != NULL;
	printf("%lu allocations, %lu frees, %lu live, %ld lost, "
	       "%u nodes, %u rings; %lu frees implied, %lu unknown\n",
		(unsigned long)info->allocations, (unsigned long)info->frees,
		(unsigned long)merge->model->live_count, lost, segment.header->node_count,
		segment.header->ring_count, (unsigned long)info->implied_frees,
		(unsigned long)info->unknown_frees);
	return info->allocations != (uint64_t)(threads * race.rounds)
		|| merge->model->live_count != (uint64_t)live || lost || info->implied_frees
		|| info->unknown_frees || info->invalid_records || info->cut_stacks;
}

/* The time that it is told makes every look due. */
static uint64_t poll_once(struct mt_merge *merge)
{
	static uint64_t now;

	if (race.pauses)
		mt_ring_pages_tend(merge, now += 1000000000, UINT64_MAX);
	return mt_merge_poll(merge);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 8;
	struct mt_alive alive;
	struct mt_timebase clock;
	struct mt_profile profile;
	struct mt_model model;
	struct mt_merge merge;
	struct mt_err err;
	pthread_t threads[THREADS_MAX];
	int wrong;

	race.rounds = argc > 2 ? atol(argv[2]) : 2000;
	mt_alive_init(&alive);
	mt_clock_start(&clock);
	mt_clock_restart(&clock);
	if (mt_segment_create(&segment,
		    &(struct mt_segment_options){.address_limit = UINT64_MAX,
			    .clock = clock.kind,
			    .flags = MT_SEGMENT_WAIT},
		    &alive, &err)
		< 0) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	race.memory = segment.fd;
	if (race_attach() < 0) {
		fprintf(stderr, "the tracer does not take the segment\n");
		return 2;
	}
	segment.base = race.mapped;
	segment.header = race.mapped;
	mt_profile_init(&profile);
	mt_model_init(&model, &profile);
	mt_merge_init(&merge, &segment, &clock, &model);
	race.running = (int)n;
	race.pauses = argc > 3;
	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, race_work, (void *)i);
	while (__atomic_load_n(&race.running, __ATOMIC_ACQUIRE))
		poll_once(&merge);
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	while (poll_once(&merge))
		;
	wrong = check(&merge, n);
	mt_merge_free(&merge);
	return wrong;
}
