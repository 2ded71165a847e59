/* Private to core/query: what match.c and match_leaks.c share. */
#ifndef MT_QUERY_MATCH_PARTS_H
#define MT_QUERY_MATCH_PARTS_H

#include "core/model/replay.h"
#include "core/query/prepared_query.h"
#include "core/query/reach.h"

struct match {
	struct mt_matched *out;
	struct mt_prepared_query query;
	bool events; /* its fields ask for them */
	struct mt_bits bits;
	bool decided; /* the bits stand already */
	struct mt_replay replay;
	struct mt_reach_peak peak; /* of the range, where not all events are read */
	uint8_t *chosen;
	uint32_t capacity;
};

/* reach: not NULL if not all events are replayed; then peak is known. */
void mt_match_begin_replay(struct match *, struct mt_pass *, const struct mt_reach *);
void mt_match_end_replay(struct match *);
/* By what lives at the end. 1: it takes passes over the events. */
int mt_match_leaks(struct match *, struct mt_err *);

#endif
