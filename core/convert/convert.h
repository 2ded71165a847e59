/* What other profilers have recorded, as a trace: converted once, in a stream, and from then on
 * like any other. */
#ifndef MT_CONVERT_CONVERT_H
#define MT_CONVERT_CONVERT_H

#include "core/base/err.h"
#include "core/model/profile.h"
#include "core/trace/trace.h"

struct mt_converted {
	const struct mt_source_facts *source; /* what it was; NULL: a trace */
	struct mt_info info;                  /* of the trace */
	uint64_t bytes;                       /* written */
	/* what is wrong with the recording, from where on it was not read; "": nothing */
	char fault[320];
	/* what its recorder did not write down, and what was assumed in its place */
	char note[320];
};

/* Whether it is another profiler's, by its first bytes, whatever it is called; or compressed, so
 * that it is no trace either. */
bool mt_convert_recognises(const char *path);
/* fd: taken; it may be a pipe. memory_max: bytes that reading it may take, or 0: see
 * mt_foreign_memory. progress may be NULL; non-zero cancels (-ECANCELED). Damage is no
 * error where something could be read before it: see fault. */
int mt_convert(const char *path, int fd, uint64_t memory_max,
	int (*progress)(void *context, double fraction), void *context, struct mt_converted *,
	struct mt_err *err);
/* Opens a trace, or what becomes one: that is converted into a temporary file, readable by its
 * owner alone and already without a name. path "-": standard input. Of a trace mt_converted is
 * empty. */
struct mt_trace_reader *mt_convert_open(const char *path, uint64_t memory_max,
	int (*progress)(void *context, double fraction), void *context, struct mt_converted *,
	struct mt_err *err);

#endif
