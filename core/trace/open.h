/* Private to core/trace: opening what a person named, and reading from it. */
#ifndef MT_TRACE_OPEN_H
#define MT_TRACE_OPEN_H

#include "core/trace/block.h"
#include "core/trace/trace.h"

/* A descriptor of the trace at path ("-": standard input, spooled), its file header checked; or a
 * negative errno. */
int mt_trace_open(const char *path, struct mt_err *err);
/* The version of the format that the file header says, which is one that can be read. */
int mt_trace_version(int fd, const char *path, unsigned *version, struct mt_err *err);
/* Exactly len bytes at offset; -ENODATA when the file ends before; errors name the offset. */
int mt_trace_pread(int fd, const char *path, void *bytes, size_t len, uint64_t offset,
	struct mt_err *err);

#endif
