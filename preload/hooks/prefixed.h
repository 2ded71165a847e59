/* The allocation functions that other allocators export beside or in place of malloc. Every one
 * takes at most three words in registers. */
#ifndef MT_PREFIXED_H
#define MT_PREFIXED_H

#include <stdbool.h>

#include "core/rendezvous.h"
#include "core/wire.h"

/* Looks the next definitions up, while the program starts. */
void mt_prefixed_find(void);
/* The names and hooks of all functions, for entries that shall lead here. Returns how many. */
unsigned mt_prefixed_hooks(struct mt_wire_hook *);
/* Entries of functions of one object lead to this set of hooks now: those of the same list that
 * have an original. is_libc: the object is the C library. Returns how many. */
unsigned mt_prefixed_lead(const struct mt_wire_hook *, unsigned set, uint64_t start, uint64_t end,
	bool is_libc);

/* What a function does: where its size stands, and the block that it ends. */
enum mt_shape {
	MT_SHAPE_SIZE,           /* (size, ...) */
	MT_SHAPE_ZERO,           /* the same, zeroed */
	MT_SHAPE_ALIGNED,        /* (size, alignment) */
	MT_SHAPE_ZERO_ALIGNED,   /* the same, zeroed */
	MT_SHAPE_FLAGS,          /* (size, flags of jemalloc) */
	MT_SHAPE_ALIGNMENT,      /* (alignment, size) */
	MT_SHAPE_PRODUCT,        /* (count, size), not zeroed */
	MT_SHAPE_CLEAR,          /* (count, size), zeroed */
	MT_SHAPE_CLEAR_ALIGNED,  /* (count, size, alignment), zeroed */
	MT_SHAPE_POSIX,          /* (void **, alignment, size) */
	MT_SHAPE_TEXT,           /* strdup, strndup */
	MT_SHAPE_RESIZE,         /* (block, size, ...) */
	MT_SHAPE_RESIZE_PRODUCT, /* (block, count, size) */
	MT_SHAPE_RESIZE_OR_FREE, /* (block, size): where it fails the block is freed */
	MT_SHAPE_FREE,           /* (block, ...) */
};

/* X(family, symbol, shape, function); the function says what may free it: mi_free what mi_new has
 * allocated */
#define MT_PREFIXED_C(X, family, prefix) \
	X(family, prefix##malloc, SIZE, MALLOC) \
	X(family, prefix##calloc, CLEAR, CALLOC) \
	X(family, prefix##realloc, RESIZE, REALLOC) \
	X(family, prefix##free, FREE, FREE) \
	X(family, prefix##posix_memalign, POSIX, POSIX_MEMALIGN) \
	X(family, prefix##aligned_alloc, ALIGNMENT, ALIGNED_ALLOC) \
	X(family, prefix##memalign, ALIGNMENT, MEMALIGN) \
	X(family, prefix##valloc, SIZE, VALLOC) \
	X(family, prefix##pvalloc, SIZE, PVALLOC)

#define MT_PREFIXED_X(X, family, prefix) \
	X(family, prefix##mallocx, FLAGS, MALLOC) \
	X(family, prefix##rallocx, RESIZE, REALLOC) \
	X(family, prefix##dallocx, FREE, FREE) \
	X(family, prefix##sdallocx, FREE, FREE)

#define MT_PREFIXED_MI(X) \
	X(MI, mi_zalloc, ZERO, CALLOC) \
	X(MI, mi_malloc_small, SIZE, MALLOC) \
	X(MI, mi_zalloc_small, ZERO, CALLOC) \
	X(MI, mi_mallocn, PRODUCT, MALLOC) \
	X(MI, mi_malloc_aligned, ALIGNED, ALIGNED_ALLOC) \
	X(MI, mi_zalloc_aligned, ZERO_ALIGNED, ALIGNED_ALLOC) \
	X(MI, mi_calloc_aligned, CLEAR_ALIGNED, ALIGNED_ALLOC) \
	X(MI, mi_realloc_aligned, RESIZE, REALLOC) \
	X(MI, mi_reallocn, RESIZE_PRODUCT, REALLOC) \
	X(MI, mi_reallocarray, RESIZE_PRODUCT, REALLOCARRAY) \
	X(MI, mi_reallocf, RESIZE_OR_FREE, REALLOC) \
	X(MI, mi_strdup, TEXT, MALLOC) \
	X(MI, mi_strndup, TEXT, MALLOC) \
	X(MI, mi_new, SIZE, MALLOC) \
	X(MI, mi_new_nothrow, SIZE, MALLOC) \
	X(MI, mi_new_aligned, ALIGNED, ALIGNED_ALLOC) \
	X(MI, mi_new_aligned_nothrow, ALIGNED, ALIGNED_ALLOC) \
	X(MI, mi_new_n, PRODUCT, MALLOC) \
	X(MI, mi_cfree, FREE, FREE) \
	X(MI, mi_free_size, FREE, FREE) \
	X(MI, mi_free_aligned, FREE, FREE) \
	X(MI, mi_free_size_aligned, FREE, FREE)

#define MT_PREFIXED_TC(X) \
	X(TC, tc_malloc_skip_new_handler, SIZE, MALLOC) \
	X(TC, tc_new, SIZE, NEW) \
	X(TC, tc_new_nothrow, SIZE, NEW) \
	X(TC, tc_new_aligned, ALIGNED, NEW) \
	X(TC, tc_new_aligned_nothrow, ALIGNED, NEW) \
	X(TC, tc_newarray, SIZE, NEW_ARRAY) \
	X(TC, tc_newarray_nothrow, SIZE, NEW_ARRAY) \
	X(TC, tc_newarray_aligned, ALIGNED, NEW_ARRAY) \
	X(TC, tc_newarray_aligned_nothrow, ALIGNED, NEW_ARRAY) \
	X(TC, tc_cfree, FREE, FREE) \
	X(TC, tc_free_sized, FREE, FREE) \
	X(TC, tc_delete, FREE, DELETE) \
	X(TC, tc_delete_nothrow, FREE, DELETE) \
	X(TC, tc_delete_sized, FREE, DELETE) \
	X(TC, tc_delete_aligned, FREE, DELETE) \
	X(TC, tc_delete_sized_aligned, FREE, DELETE) \
	X(TC, tc_deletearray, FREE, DELETE_ARRAY) \
	X(TC, tc_deletearray_nothrow, FREE, DELETE_ARRAY) \
	X(TC, tc_deletearray_sized, FREE, DELETE_ARRAY) \
	X(TC, tc_deletearray_aligned, FREE, DELETE_ARRAY) \
	X(TC, tc_deletearray_sized_aligned, FREE, DELETE_ARRAY)

/* The plain family of a program that defines it for itself: only entries lead to these. */
#define MT_PROGRAM_PREFIX "mt_program_"
#define MT_PREFIXED_PROGRAM(X) \
	MT_PREFIXED_C(X, PROGRAM, mt_program_) \
	X(PROGRAM, mt_program_reallocarray, RESIZE_PRODUCT, REALLOCARRAY) \
	X(PROGRAM, mt_program_cfree, FREE, FREE) \
	X(PROGRAM, mt_program__Znwm, SIZE, NEW) \
	X(PROGRAM, mt_program__ZnwmRKSt9nothrow_t, SIZE, NEW) \
	X(PROGRAM, mt_program__ZnwmSt11align_val_t, ALIGNED, NEW) \
	X(PROGRAM, mt_program__ZnwmSt11align_val_tRKSt9nothrow_t, ALIGNED, NEW) \
	X(PROGRAM, mt_program__Znam, SIZE, NEW_ARRAY) \
	X(PROGRAM, mt_program__ZnamRKSt9nothrow_t, SIZE, NEW_ARRAY) \
	X(PROGRAM, mt_program__ZnamSt11align_val_t, ALIGNED, NEW_ARRAY) \
	X(PROGRAM, mt_program__ZnamSt11align_val_tRKSt9nothrow_t, ALIGNED, NEW_ARRAY) \
	X(PROGRAM, mt_program__ZdlPv, FREE, DELETE) \
	X(PROGRAM, mt_program__ZdlPvm, FREE, DELETE) \
	X(PROGRAM, mt_program__ZdlPvRKSt9nothrow_t, FREE, DELETE) \
	X(PROGRAM, mt_program__ZdlPvSt11align_val_t, FREE, DELETE) \
	X(PROGRAM, mt_program__ZdlPvmSt11align_val_t, FREE, DELETE) \
	X(PROGRAM, mt_program__ZdlPvSt11align_val_tRKSt9nothrow_t, FREE, DELETE) \
	X(PROGRAM, mt_program__ZdaPv, FREE, DELETE_ARRAY) \
	X(PROGRAM, mt_program__ZdaPvm, FREE, DELETE_ARRAY) \
	X(PROGRAM, mt_program__ZdaPvRKSt9nothrow_t, FREE, DELETE_ARRAY) \
	X(PROGRAM, mt_program__ZdaPvSt11align_val_t, FREE, DELETE_ARRAY) \
	X(PROGRAM, mt_program__ZdaPvmSt11align_val_t, FREE, DELETE_ARRAY) \
	X(PROGRAM, mt_program__ZdaPvSt11align_val_tRKSt9nothrow_t, FREE, DELETE_ARRAY)

/* What the user names: only entries lead to these. */
#define MT_NAMED_PREFIX "mt_named_"
#define MT_PREFIXED_NAMED(X) \
	MT_PREFIXED_C(X, NAMED, mt_named_) \
	X(NAMED, mt_named_reallocarray, RESIZE_PRODUCT, REALLOCARRAY)

#define MT_PREFIXED_INSIDE(X) \
	MT_PREFIXED_PROGRAM(X) \
	MT_PREFIXED_NAMED(X)
#define MT_PREFIXED_ALL(X) \
	MT_PREFIXED(X) \
	MT_PREFIXED_INSIDE(X)

/* What is exported. */
#define MT_PREFIXED(X) \
	MT_PREFIXED_C(X, JE, je_) \
	MT_PREFIXED_X(X, JE, je_) \
	MT_PREFIXED_C(X, RJEM, _rjem_) \
	MT_PREFIXED_X(X, RJEM, _rjem_) \
	MT_PREFIXED_X(X, X, ) \
	MT_PREFIXED_C(X, MI, mi_) \
	MT_PREFIXED_MI(X) \
	MT_PREFIXED_C(X, TC, tc_) \
	MT_PREFIXED_TC(X)

#endif
