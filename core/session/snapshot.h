/* What the recorder publishes: the profile and the program's terminal output, in a memfd that
 * watchers map read-only. Arrays only grow; what changes in place is guarded by a sequence count.
 * Neither side trusts the other: the reader checks every number. */
#ifndef MT_SESSION_SNAPSHOT_H
#define MT_SESSION_SNAPSHOT_H

#include "core/base/err.h"
#include "core/model/profile.h"

#define MT_TERMINAL_BYTES (1u << 20)

struct mt_snapshot; /* the recorder's side */
struct mt_snapshot *mt_snapshot_new(struct mt_err *err);
void mt_snapshot_free(struct mt_snapshot *);
int mt_snapshot_fd(const struct mt_snapshot *);
/* A new image of the program begins: all that was published is void. */
void mt_snapshot_restart(struct mt_snapshot *);
void mt_snapshot_publish(struct mt_snapshot *, const struct mt_profile *);
/* How many other processes are being recorded; published with the profile. */
void mt_snapshot_others(struct mt_snapshot *, uint32_t count);
/* From one thread, which may be another than that of publish. */
void mt_snapshot_terminal(struct mt_snapshot *, const void *bytes, size_t len);

struct mt_snapshot_view; /* the watcher's side */
/* fd: borrowed. */
struct mt_snapshot_view *mt_snapshot_view_new(int fd, struct mt_err *err);
void mt_snapshot_view_free(struct mt_snapshot_view *);
/* 1 changed, 0 nothing new, negative errno. */
int mt_snapshot_view_update(struct mt_snapshot_view *, struct mt_profile *, struct mt_err *err);
uint32_t mt_snapshot_view_others(const struct mt_snapshot_view *);
/* Which image of the program was copied last: with another one all ids begin anew. */
uint64_t mt_snapshot_view_image(const struct mt_snapshot_view *);
/* Copies terminal output from position *at on, and moves it. */
size_t mt_snapshot_view_terminal(const struct mt_snapshot_view *, uint64_t *at, void *buffer,
	size_t len);

#endif
