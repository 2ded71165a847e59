/* Stand-alone recordings: reads the file that a tracer without a recorder writes, while it grows or
 * after any death of its program, and feeds it to the merge as a recorder would its segment.
 * Nothing that the file says is believed; memory holds the tables and two chunks of each ring,
 * whatever the file's size. */
#ifndef MT_CAPTURE_IMPORT_H
#define MT_CAPTURE_IMPORT_H

#include "core/base/err.h"
#include "core/capture/merge.h"

struct mt_import;

/* Whether a regular file of this path begins as such a recording does. */
bool mt_import_recognises(const char *path);
/* The recording that a process is writing: its path, which the caller frees, or NULL. inherited: it
 * has that of the process that it was forked from, until it records something itself. */
char *mt_import_of_process(pid_t pid, bool *inherited);
/* profile: initialised and empty; borrowed, and in one place until free. */
struct mt_import *mt_import_open(const char *path, struct mt_profile *profile, struct mt_err *err);
/* Consumes what was published since and brings the profile up to date. 1: something changed, 0:
 * nothing did, or a negative errno. progress (may be NULL) is told fractions and may return
 * non-zero to cancel (-ECANCELED). */
int mt_import_update(struct mt_import *, int (*progress)(void *context, double fraction),
	void *context, struct mt_err *err);
/* Whether its program still runs, as far as can be seen from here: then more may come. */
bool mt_import_lives(const struct mt_import *);
/* What is wrong with the file, in words: cut short, damaged, ended before the program did; or NULL.
 * damaged: it is not as the tracer wrote it. */
const char *mt_import_fault(const struct mt_import *, bool *damaged);
/* For who writes a trace of it: set its writer and flush before the first update. */
struct mt_merge *mt_import_merge(struct mt_import *);
void mt_import_free(struct mt_import *);

#endif
