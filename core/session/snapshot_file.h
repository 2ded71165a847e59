/* Snapshot files: complete traces of what an image has recorded up to a moment, each written by a
 * forked copy of the recorder. doc/control.md. */
#ifndef MT_SESSION_SNAPSHOT_FILE_H
#define MT_SESSION_SNAPSHOT_FILE_H

#include "core/session/internal.h"

struct mt_snapshot_files *mt_snapshot_files_new(void);

/* The service: somebody asks. pattern: an absolute name, which may have the fields of an output's;
 * len 0: beside the process's trace. */
void mt_snapshot_file_ask(struct mt_recorder *, struct mt_process *, uint64_t peer,
	const char *pattern, size_t len);
/* The draining thread, between two events: begins those that somebody has asked for. */
void mt_snapshot_files_begin(struct mt_recorder *, struct mt_image *);
/* The same, of a condition that has become true; the front is told. label: what stands in the name
 * for it. */
void mt_snapshot_file_take(struct mt_recorder *, struct mt_image *, const char *condition,
	const char *label);
/* The same, of a signal: a report in words in place of the trace. sort: its metric, which stays. */
void mt_snapshot_file_report(struct mt_recorder *, struct mt_image *, const char *signal,
	const char *label, const char *sort);
/* The process is recorded no more, so what was not begun will not be. */
void mt_snapshot_files_drop(struct mt_recorder *, const struct mt_process *);
/* Waits until all are complete and told. */
void mt_snapshot_files_await(struct mt_recorder *);

/* The service: whether this child of the recorder writes a snapshot file. */
bool mt_snapshot_file_is_child(struct mt_recorder *, pid_t);
/* The service: a child was reaped. False: it was none that wrote a file. */
bool mt_snapshot_file_ended(struct mt_recorder *, pid_t, int wait_status);
struct mt_snapshot_result {
	uint64_t peer; /* who has asked; 0: a condition */
	uint64_t moment_ns, bytes;
	char path[1024], condition[64];
	struct mt_err err;
};
/* The service: the next one that is complete or has failed, once each. */
bool mt_snapshot_file_next_done(struct mt_recorder *, struct mt_snapshot_result *);

#endif
