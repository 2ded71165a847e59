/* The clock of time stamps, and how it translates to nanoseconds since the start of the
 * recording. */
#ifndef MT_CAPTURE_CLOCK_H
#define MT_CAPTURE_CLOCK_H

#include "core/wire.h"

struct mt_timebase {
	enum mt_clock kind;
	uint64_t start, start_monotonic_ns; /* the same instant, in both clocks */
	uint64_t anchor, anchor_ns;         /* from here on the scale holds */
	uint64_t scale;                     /* nanoseconds per unit, as a fraction of 2^32 */
};

uint64_t mt_clock_monotonic_ns(void);
/* Chooses the clock and starts it; takes two milliseconds with the TSC. */
void mt_clock_start(struct mt_timebase *);
/* The recording starts now; the scale stays as it is. */
void mt_clock_restart(struct mt_timebase *);
/* Corrects the scale by the time that has passed since; call it every second or so. */
void mt_clock_refine(struct mt_timebase *);
uint64_t mt_clock_now(const struct mt_timebase *);

static inline uint64_t mt_clock_ns(const struct mt_timebase *c, uint64_t stamp)
{
	__extension__ typedef __int128 wide;
	wide ns = ((wide)(int64_t)(stamp - c->anchor) * (wide)c->scale >> 32) + (wide)c->anchor_ns;

	return ns < 0 ? 0 : (uint64_t)ns;
}

#endif
