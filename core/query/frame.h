/* One frame of one pc in words, for backtraces and tree labels alike. */
#ifndef MT_QUERY_FRAME_H
#define MT_QUERY_FRAME_H

#include "core/query/query.h"

#define MT_NO_FRAME 0xffffffffu

/* The frames of a pc: 0 when it is a marker or not resolved yet. Checks every bound. */
static inline uint32_t mt_pc_frames(const struct mt_symbols *symbols, uint32_t pc, uint32_t *first)
{
	if (pc < MT_PC_FIRST || pc >= symbols->pc_count)
		return 0;
	*first = symbols->pcs[pc].first;
	if (*first > symbols->frame_count || symbols->pcs[pc].count > symbols->frame_count - *first)
		return 0;
	return symbols->pcs[pc].count;
}

/* Whether a function's name stands for no more than a place: 0x1234, prog+0x1234. */
bool mt_frame_is_place(const char *function);
/* frame: index into symbols->frames, or MT_NO_FRAME when there is none. */
void mt_frame_describe(struct mt_backtrace_frame *out, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t pc, uint32_t frame);

/* A wrapper of malloc (core/query/wrappers.h). */
bool mt_frame_is_wrapper(const struct mt_backtrace_frame *);
/* Not the program's own: of the C, C++ or Rust library, or a wrapper of malloc. */
bool mt_frame_is_of_library(const struct mt_backtrace_frame *);

#endif
