/* Conditions on which the recorder takes a snapshot by itself: 'rss>2G', 'live>90%',
 * 'growth>10M/s'. doc/control.md. */
#ifndef MT_SESSION_CONDITION_H
#define MT_SESSION_CONDITION_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define MT_CONDITIONS_MAX 32
#define MT_GROWTH_SAMPLES 10 /* of the live bytes, this far apart */
#define MT_GROWTH_STEP_NS 500000000ull

enum mt_quantity { MT_QUANTITY_RSS, MT_QUANTITY_LIVE, MT_QUANTITY_GROWTH };

struct mt_condition {
	enum mt_quantity quantity;
	bool percent;   /* of the control group's memory limit */
	double amount;  /* bytes, bytes per second, or percent */
	char text[40];  /* as it was given, without blanks */
	char label[64]; /* for the name of a file: rss-over-2G */
};

/* "QUANTITY>AMOUNT"; err: a sentence without the option's name. */
int mt_condition_parse(struct mt_condition *, const char *text, struct mt_err *err);

/* What one process has of each condition: zeroed at first. */
struct mt_condition_values {
	uint64_t rss_bytes, live_bytes, limit_bytes; /* as they are now; limit 0: none */
};
struct mt_condition_state {
	uint32_t held; /* by condition: it was true, and was not yet clearly false since */
	struct {
		uint64_t ns, bytes;
	} samples[MT_GROWTH_SAMPLES + 1]; /* the oldest first */
	uint32_t sample_count;
};
/* Now and then, with rising times: takes a sample of what grows when it is due. */
void mt_condition_sample(struct mt_condition_state *, uint64_t now_ns, uint64_t live_bytes);
/* True when the condition (its number in the list) has become true, once per crossing: it must have
 * been below nine tenths of the amount before. */
bool mt_condition_crossed(struct mt_condition_state *, const struct mt_condition *, uint32_t number,
	const struct mt_condition_values *);

#endif
