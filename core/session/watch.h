/* What the recorder watches for by itself: conditions on which it takes a snapshot. */
#ifndef MT_SESSION_WATCH_H
#define MT_SESSION_WATCH_H

#include "core/session/condition.h"
#include "core/session/internal.h"

struct mt_watch {
	struct mt_condition *conditions;
	uint32_t count;
	uint64_t limit_bytes; /* of the root's control group when it began; 0: none */
};

/* Before the root runs. Fails in words if a condition has no meaning there. */
int mt_watch_begin(struct mt_recorder *, struct mt_err *err);
/* The draining thread, between two events: takes a snapshot of each condition that has become true
 * for the image. */
void mt_watch_image(const struct mt_watch *, struct mt_image *, uint64_t monotonic_ns);
/* The same: writes the reports that signals to the program have asked for. */
void mt_watch_signals(struct mt_image *);

#endif
