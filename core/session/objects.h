/* The executable and the libraries that a process has mapped: which of them carry an allocator that
 * no hook reaches, and how much writable data they have. */
#ifndef MT_SESSION_OBJECTS_H
#define MT_SESSION_OBJECTS_H

#include "core/base/buffer.h"
#include "core/session/named.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Files that were read before, by all processes of a session: they are mostly the same. Any thread
 * may use it; it is kept to the end of the recorder. */
struct mt_objects_cache;
/* named: functions that the user names (NULL: none); borrowed. */
struct mt_objects_cache *mt_objects_cache_new(const struct mt_named_functions *named);
/* The allocator of a file that has those, in place of its name. */
extern const char mt_objects_named[];

/* One file with an allocator of its own. */
struct mt_object_found {
	char *path;
	const char *allocator; /* a constant */
};

/* What is known of one process's objects. Zero-initialised: nothing. */
struct mt_objects {
	/* writable mappings of files, what follows them without one (.bss), the main stack */
	uint64_t data_bytes;
	uint64_t *seen; /* inodes of the files that were read */
	uint32_t seen_count, seen_capacity;
	struct mt_object_found *found;
	uint32_t found_count, found_capacity;
};

/* Reads /proc/PID/maps and the files in it that are new. False: the process is gone, or may not be
 * looked at. */
bool mt_objects_look(struct mt_objects *, struct mt_objects_cache *, pid_t);
/* The executable alone, by its path: of a process that ended before it was looked at. */
void mt_objects_look_at(struct mt_objects *, struct mt_objects_cache *, const char *path);
void mt_objects_free(struct mt_objects *);

#endif
