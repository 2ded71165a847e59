/* Notes about programs that will not be recorded (core/wire.h, doc/blind-spots.md). */
#ifndef MT_BLIND_H
#define MT_BLIND_H

#include "preload/base/tracer.h"

struct mt_blind_noted {
	struct mt_wire_blind *place; /* NULL: there was none */
	bool counted;                /* in its place */
};
/* Notes in the segment that one more process, pid, is to be of this program. */
struct mt_blind_noted mt_blind_note(enum mt_blind_reason reason, const char *path, uint32_t pid);
/* The same in another segment, of which the first two pages are mapped at the header. */
struct mt_blind_noted mt_blind_note_in(struct mt_wire_header *, enum mt_blind_reason reason,
	const char *path, uint32_t pid);
/* The exec has failed. */
void mt_blind_take_back(const struct mt_blind_noted *);
/* The end of a path, as much as a note holds. */
void mt_blind_copy_path(char to[sizeof((struct mt_wire_blind *)0)->path], const char *path);

#endif
