/* Allocators that a program or a library carries inside itself and calls without the dynamic
 * linker, so that no hook sees it (doc/blind-spots.md). */
#ifndef MT_SYMBOL_BUNDLED_H
#define MT_SYMBOL_BUNDLED_H

#include <stdbool.h>

/* The name of the allocator that the ELF file defines for its own use, by its symbol tables; NULL:
 * none that is known, or the file is stripped. A library's exported functions are not meant: calls
 * of these lead to the tracer's hooks. is_program: the file is the executable, whose own
 * definitions come before all others. fd: borrowed, a regular file. */
const char *mt_bundled_allocator(int fd, bool is_program);
/* What it returns of a program that only defines malloc for itself. */
extern const char mt_bundled_own_malloc[];

#endif
