/* What record, run and pack say of a trace that is complete: the numbers of 'memtui info'. */
#ifndef MT_TUI_CLOSING_H
#define MT_TUI_CLOSING_H

#include "core/query/lost.h"
#include "tui/command/commands.h"

#define MT_CLOSING_LEN 320

struct mt_closing {
	struct mt_recording *recording; /* NULL: it could not be opened */
	struct mt_profile lost; /* of a recording with a leak check of the end; else empty */
	struct mt_suppressed suppressed;
	struct mt_info info; /* of the trace; leaks are without those that are suppressed */
	bool estimated;      /* some of the leaks may be free */
};
/* Reads the trace at path and applies its suppressions and the built-in ones, and those of the
 * arguments. To be freed after an error too. */
int mt_closing_load(struct mt_closing *, const char *path, const struct mt_arguments *,
	struct mt_err *);
void mt_closing_free(struct mt_closing *);
/* "62 allocations and 3 reallocations" */
void mt_closing_calls(char out[MT_CLOSING_LEN], const struct mt_info *);
/* The same, and ", peak 41.0k, leaked 2.0k in 3 blocks (72.0k in 1 block suppressed)"; with a leak
 * check of the end: ", lost 1.0k in 1 block (3.0k in 4 blocks not freed)". */
void mt_closing_text(char out[MT_CLOSING_LEN], const struct mt_closing *);

#endif
