/* What check has measured: between its parts. */
#ifndef MT_EXPORT_CHECK_PARTS_H
#define MT_EXPORT_CHECK_PARTS_H

#include "core/export/check.h"
#include "core/export/json.h"
#include "core/query/query.h"

/* What a group leaks; with a baseline, beyond that. */
struct mt_check_leak {
	uint32_t group;
	uint64_t blocks, bytes;
	uint64_t blocks_before, bytes_before; /* in the baseline */
};

enum mt_check_outcome { PASS, FAIL, UNKNOWN };

struct mt_judged {
	struct mt_check_leak *leaks; /* the largest first */
	uint32_t leak_count;
	/* taken for the baseline's by a nameless frame's module */
	uint64_t doubtful_blocks, doubtful_bytes;
	struct mt_selection selection; /* by what leaked */
	struct mt_check_value values[MT_CHECK_COUNT];
	struct mt_limit limits[MT_CHECK_COUNT];
	enum mt_check_outcome outcomes[MT_CHECK_COUNT];
	uint64_t estimated_blocks, estimated_bytes;
	bool holds, exact;
	bool by_groups; /* single events are gone, and the whole groups answer */
	/* of the trace alone, without what the process ran before */
	struct mt_check_value own[MT_CHECK_COUNT];
};

static inline bool mt_check_is_of_leaks(int limit)
{
	return limit == MT_CHECK_LEAKED || limit == MT_CHECK_LEAKED_COUNT;
}

/* Fills the values from one trace. To be freed after an error too. */
int mt_check_measure(struct mt_judged *, const struct mt_report *, struct mt_err *);
void mt_judged_free(struct mt_judged *);
/* Adds those of the programs that the process ran before, and says what was not measured at all. */
void mt_check_fold(struct mt_judged *, const struct mt_report *);
bool mt_check_is_incomplete(const struct mt_report *);
/* Tells whether part of what was allocated was not seen, beyond what --allow-unseen accepts. */
bool mt_check_is_blind(const struct mt_report *);
bool mt_check_images_are_blind(const struct mt_report *);
/* Tells whether no allocation was recorded. */
bool mt_check_is_empty(const struct mt_report *);
/* Lines that say why values are uncertain, each behind the prefix. */
void mt_check_reasons(const struct mt_report *, const struct mt_judged *, const char *prefix);
/* Text: what was judged along with the trace, and how much of a limit's value is whose. */
void mt_check_say_images(const struct mt_report *, const struct mt_judged *);
void mt_check_say_shares(const struct mt_report *, const struct mt_judged *, int limit);
/* "images": [...]: into an open object. */
void mt_check_json_images(struct mt_json *, const struct mt_report *);
/* The trace of the program that has the largest peak. */
const char *mt_check_path_of_peak(const struct mt_report *, const struct mt_judged *);
/* A limit as JSON, in an open object: name, value, whether it is exact. */
void mt_check_json_value(struct mt_json *, int limit, const struct mt_check_value *);
/* For people. */
void mt_check_text(const struct mt_report *, const struct mt_judged *);
/* "leaked 1.3k, at most 0B"; heading_width: that of the first word at least. */
void mt_check_limit_words(char *out, size_t size, const struct mt_report *,
	const struct mt_judged *, int limit, int heading_width);
/* For build servers. */
void mt_check_junit(const struct mt_report *, const struct mt_judged *);
const char *mt_check_heading(int limit);
enum mt_unit mt_check_unit(int limit);

#endif
