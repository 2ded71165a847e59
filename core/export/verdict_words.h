/* The sums of a recording's leak check in words, and as JSON. */
#ifndef MT_EXPORT_VERDICT_WORDS_H
#define MT_EXPORT_VERDICT_WORDS_H

#include "core/export/json.h"
#include "core/export/report.h"
#include "core/model/verdicts.h"

#define MT_VERDICT_WORDS_LEN 400

/* "definitely lost 1.0k in 11 blocks, indirectly 256B in 4, possibly 0B in 0, still reachable 2.3k
 * in 100; at its end". False, and nothing: there was no leak check. */
bool mt_verdict_sentence(char out[MT_VERDICT_WORDS_LEN], const struct mt_report *);

/* "definitely_lost": {"count": N, "bytes": N} */
void mt_verdict_json_sum(struct mt_json *, enum mt_verdict, const struct mt_verdict_sum *);
/* "at_end" and "timestamp": into an open object. */
void mt_verdict_json_moment(struct mt_json *, const struct mt_verdicts *);
/* "leak_check": {...}, or null. */
void mt_verdict_json(struct mt_json *, const struct mt_verdicts *);

#endif
