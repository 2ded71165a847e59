/* What the system has given a process: read from /proc and from the heap headers of glibc, never at
 * the expense of draining. Independent of the recorder. */
#ifndef MT_SESSION_MEMORY_H
#define MT_SESSION_MEMORY_H

#include "core/model/profile.h"

#include <stdbool.h>
#include <sys/types.h>

/* Zeroed at first. */
struct mt_memory_sampler {
	struct mt_memory memory; /* as last seen */
	uint32_t arenas;
	uint64_t vss_bytes, shared_bytes, arena_resident_bytes;
	struct {
		uint64_t rss, size, shared;
	} read;                            /* bytes as the kernel tells them */
	uint64_t all_virtual, own_virtual; /* bytes of the address space; what the segment takes */
	uint64_t own_shared, own_private;  /* bytes that are memtui's own, of the pages */
	/* bytes of the tracer's library that are resident, and of them those of its file, and those
	 * that no other process maps */
	uint64_t library_bytes, library_file, library_alone;
	uint64_t library_start, library_end;         /* where it is mapped */
	pid_t pid;                                   /* or of a thread of it that lives */
	bool maps_seen;                              /* at the last look */
	uint64_t first_at;                           /* when it was met */
	uint64_t rss_at, rest_at, smaps_at, maps_at; /* not before; monotonic */
};

/* Of a process that waits for its recorder, has no segment yet, and may be gone when it is next
 * looked at. */
void mt_memory_meet(struct mt_memory_sampler *, pid_t, uint64_t now_ns);
/* Reads the RSS when rss_at is reached: every 100 ms, and of a younger process when it is twice as
 * old as at the last look. Returns false if the process is gone. This waits for nobody. */
bool mt_memory_sample(struct mt_memory_sampler *, pid_t, uint64_t now_ns);
/* Says how much of what was just read is memtui's own: of the segment, and in private memory. */
void mt_memory_own(struct mt_memory_sampler *, uint64_t shared_bytes, uint64_t private_bytes);
/* The rest, of what was sampled just now: whether it is due, which it then is no more; a look at a
 * copy, which may have to wait until the process has had a processor; and what that has seen. */
bool mt_memory_is_due(struct mt_memory_sampler *, uint64_t now_ns);
void mt_memory_look(struct mt_memory_sampler *copy);
void mt_memory_take(struct mt_memory_sampler *, const struct mt_memory_sampler *seen);
/* Path of what is mapped there, or NULL; caller frees. */
char *mt_memory_module(pid_t, uint64_t address);

#endif
