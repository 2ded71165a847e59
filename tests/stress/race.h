/* Between the two halves of the race: names of tracer and recorder are not the same things. */
#ifndef MT_TESTS_RACE_H
#define MT_TESTS_RACE_H

#define RACE_SLOTS 512

struct race {
	int memory;   /* descriptor of the segment; 0: not made yet */
	void *mapped; /* where the tracer has it */
	long rounds;
	int running; /* threads */
	int pauses;  /* threads stop now and then, and go on slowly */
	void *slots[RACE_SLOTS];
};
extern struct race race;

int race_attach(void);
void *race_work(void *number); /* of a thread */

#endif
