/* Private to core/trace, and to the recorder's loop over pairs (pair_encoder.h): the columns of the
 * open event block as they are filled, and what of that is not worth being inline. */
#ifndef MT_TRACE_ENCODER_H
#define MT_TRACE_ENCODER_H

#include "core/trace/columns.h"
#include "core/trace/predictor.h"
#include "core/trace/varint.h"

struct mt_columns {
	struct predictor predictor;
	bool started;
	uint64_t first_number, first_us, last_us, base_us;
	uint64_t time_ns; /* of the last event */
	uint8_t *at[MT_COLUMNS], *start[MT_COLUMNS];
};

/* An entry for what was not foreseen; each returns its bit of the head byte. mt_columns_put_time: 0
 * if it is the same microsecond. */
unsigned mt_columns_put_group(struct mt_columns *, uint32_t *predicted, uint32_t group);
unsigned mt_columns_put_address(struct mt_columns *, uint64_t difference);
unsigned mt_columns_put_kind(struct mt_columns *, uint8_t kind);
unsigned mt_columns_put_time(struct mt_columns *, uint64_t time_ns);
unsigned mt_columns_put_thread(struct mt_columns *, uint32_t thread);

/* How the next free names its block. */
static inline enum mode choose_mode(const struct predictor *p, uint64_t number, uint64_t distance)
{
	enum mode mode = number == p->last_number - 1 ? MODE_BEFORE : MODE_DISTANCE;

	mode = number == p->last_number + 1 ? MODE_NEXT : mode;
	return distance == p->last_distance ? MODE_SAME : mode;
}

#endif
