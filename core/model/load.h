/* A trace file as a profile: from its totals where it has them, else by replaying its events. */
#ifndef MT_MODEL_LOAD_H
#define MT_MODEL_LOAD_H

#include "core/model/model.h"
#include "core/model/source.h"
#include "core/trace/trace.h"

struct mt_symbols; /* core/symbol/symbol.h */

/* Writes to the trace what the profile defines beyond what was written before (strings, modules,
 * threads, domains, functions, pcs, nodes, groups, log), and blind spots if they have changed.
 * Zero-initialised state: nothing written yet. */
struct mt_definitions {
	uint32_t strings, modules, threads, domains, functions, pcs, nodes, groups, log;
	uint32_t arguments;
	bool started;
	bool described;         /* START says what machine it was, which is known a little later */
	uint64_t blind_changes; /* of the profile, as last written */
};
int mt_definitions_write(struct mt_definitions *, struct mt_trace_writer *,
	const struct mt_profile *, struct mt_err *err);
/* Other arguments are to take the place of those that were written. */
void mt_definitions_restart(struct mt_definitions *);
/* Writes the event block that is open. The model has taken exactly the events that the writer was
 * given. */
int mt_events_write(struct mt_trace_writer *, struct mt_model *, struct mt_err *err);
/* Writes info so far (an MT_BLOCK_INFO); and at the end the totals block. */
int mt_info_write(struct mt_trace_writer *, const struct mt_profile *, struct mt_err *err);
int mt_totals_write(struct mt_trace_writer *, const struct mt_profile *, struct mt_err *err);
/* Ends the trace: names (payload; NULL: none), info, totals and index. Sets info.file_bytes. */
int mt_trace_write_end(struct mt_trace_writer *, struct mt_profile *,
	const struct mt_buffer *symbols, struct mt_err *err);

/* What a trace promises, and a session that writes one. */
extern const struct mt_source_facts mt_trace_facts;

/* Loads. The profile is zeroed or initialised; its content is replaced. progress (may be NULL) is
 * told fractions 0..1 and may return non-zero to cancel (-ECANCELED). A trace without totals is
 * replayed; without end it is loaded up to where it can be read, with info.recorder_lost set and
 * damage in the reader. The payload of the last MT_BLOCK_SYMBOLS, if any, is left to
 * core/symbol. */
int mt_profile_load(struct mt_profile *, struct mt_trace_reader *,
	int (*progress)(void *context, double fraction), void *context, struct mt_err *err);
/* After loading: 0, or -ENODATA with a sentence if damage hides all but the program's name, or if
 * nothing was recorded yet. */
int mt_profile_check_readable(const struct mt_profile *, const struct mt_trace_reader *,
	struct mt_err *err);
/* Who it was and its sums alone, however large the trace is: strings, the command line, and the
 * last info block. The profile is zeroed or initialised; it is no profile to ask anything else. 1:
 * there are sums; 0: none, it was broken off. */
int mt_profile_peek(struct mt_profile *, struct mt_trace_reader *, struct mt_err *err);

#endif
