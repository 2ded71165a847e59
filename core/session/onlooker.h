/* What /proc tells of a process's memory lies behind a lock that the process itself may hold
 * without having a processor: whoever asks waits with it, for a second where hundreds of threads
 * are to run. So a thread of its own asks, and the draining thread takes what has come. */
#ifndef MT_SESSION_ONLOOKER_H
#define MT_SESSION_ONLOOKER_H

#include "core/base/buffer.h"
#include "core/session/memory.h"
#include "core/session/objects.h"

struct mt_onlooker;
struct mt_process;

/* At one process. The draining thread's, but for the time between a begin and the end of that. */
struct mt_look {
	const struct mt_process *process;
	struct mt_memory_sampler sampler; /* as it was; then as it is */
	struct mt_buffer arguments;       /* the same */
	struct mt_objects objects;        /* what all looks have found */
	bool wants_memory, wants_title;   /* memory: objects, too */
	bool retitled;                    /* the arguments have changed */
	/* the onlooker's */
	struct mt_look *next;
	bool under_way, done, given_up;
};

struct mt_onlooker *mt_onlooker_new(struct mt_objects_cache *borrowed);
/* Waits for the look that it is at. All have been given up. */
void mt_onlooker_free(struct mt_onlooker *);

struct mt_look *mt_look_new(const struct mt_process *borrowed);
/* What is wanted, and what was known, is in it. It is not under way. */
void mt_look_begin(struct mt_onlooker *, struct mt_look *);
bool mt_look_is_under_way(struct mt_onlooker *, struct mt_look *);
/* Waits at most so long for one that is under way. True once for each: what it has seen is in
 * it. */
bool mt_look_take(struct mt_onlooker *, struct mt_look *, uint64_t wait_ns);
/* At any time; NULL: nothing. */
void mt_look_free(struct mt_onlooker *, struct mt_look *);

#endif
