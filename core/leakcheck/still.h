/* A process whose memory stands still: all its threads are stopped, or a copy of it was made, and
 * they run again. doc/leak-check.md, "The copy". */
#ifndef MT_LEAKCHECK_STILL_H
#define MT_LEAKCHECK_STILL_H

#include "core/inject/inject.h"
#include "core/leakcheck/memory.h"
#include "core/rendezvous.h"

struct mt_still {
	pid_t pid;
	struct mt_still_memory memory;
	struct mt_tracee_mapping *maps; /* by address; paths last as long as this */
	uint32_t map_count, map_capacity;
	struct mt_tracee_registers **threads; /* as they were at the moment */
	uint32_t thread_count, thread_capacity;
	struct mt_wire_own *own; /* memory of the tracer's */
	uint32_t own_count;
	uint32_t own_unlisted; /* pieces of it that are not known */
	uint64_t still_ns;     /* the most that a thread stood still; 0: they still do */
	/* why there is no copy: mt_still_unwanted, or another reason; NULL: there is one */
	const char *no_copy;
	/* private */
	struct mt_tracee *tracee;
	pid_t copy, copy_inside; /* its numbers here and in the process */
	uint64_t copy_function;
	bool keeps_place; /* what core/inject has mapped is needed later */
	int lock;
};

extern const char mt_still_unwanted[];

#define MT_STILL_NO_COPY 1u  /* all threads stand still until mt_still_resume */
#define MT_STILL_ATTACHED 2u /* memtui has attached the process: some of its memory stays */

/* moment is called once, while all threads stand still: it finds out what lives. Where it fails, or
 * this fails otherwise, the process runs as before. */
int mt_still_take(struct mt_still *, pid_t, unsigned flags,
	int (*moment)(void *context, struct mt_err *), void *context, struct mt_err *);
/* Lets threads go that stand still because there is no copy: from now on, memory changes. */
void mt_still_resume(struct mt_still *);
/* The process is as before. Not 0: err says what could not be put right. */
int mt_still_release(struct mt_still *, struct mt_err *);

#endif
