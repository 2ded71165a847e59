/* __libc_malloc and its kin: glibc's other names of the plain family. An allocator in its place has
 * them too (jemalloc, mimalloc), or leaves them to glibc and may call them itself. */
#ifndef MT_LIBC_FAMILY_H
#define MT_LIBC_FAMILY_H

#include "preload/base/tracer.h"

/* Looks the next definitions up, when the real functions have just been. */
void mt_libc_family_find(const struct mt_real *);

/* Are they the provider's of malloc, so that they are the plain functions? False where there are
 * none, too, or before that is known. */
extern uint32_t mt_libc_is_plain;

/* Otherwise: the function of glibc's, with its own record unless the call is part of one that is
 * recorded. */
void *mt_libc_allocate(enum mt_function_id, const struct mt_entry *, size_t a, size_t b);
void *mt_libc_resize(const struct mt_entry *, void *, size_t);
void mt_libc_free(const struct mt_entry *, void *);

#endif
