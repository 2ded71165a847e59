/* Private to core/trace: what a scan needs of a reader. */
#ifndef MT_TRACE_READER_H
#define MT_TRACE_READER_H

#include "core/trace/payload.h"

void mt_trace_reader_place(const struct mt_trace_reader *, uint32_t index, struct mt_trace_place *);
/* The error that a fault of the block is, noted as damage where it is that. */
int mt_trace_reader_fault(struct mt_trace_reader *, uint32_t index, int code,
	const struct mt_trace_fault *, struct mt_err *err);

#endif
