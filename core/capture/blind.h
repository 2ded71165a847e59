/* Notes that the tracer leaves in its segment before an exec, as blind spots of the profile
 * (doc/blind-spots.md). */
#ifndef MT_CAPTURE_BLIND_H
#define MT_CAPTURE_BLIND_H

#include "core/capture/segment.h"
#include "core/model/blind.h"

/* Which entry of the profile a place of the segment has become. Zero-initialised: none yet. */
struct mt_blind_notes {
	uint32_t entries[MT_WIRE_BLIND_PLACES]; /* index + 1 */
	uint32_t counts[MT_WIRE_BLIND_PLACES];
};

/* Takes what the notes say now. Returns how many places make no sense. */
uint32_t mt_blind_notes_take(struct mt_blind_notes *, const struct mt_segment *,
	struct mt_profile *);

#endif
