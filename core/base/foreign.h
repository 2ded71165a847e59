/* What somebody else's file may cost its reader: a small one can unpack to any size. */
#ifndef MT_BASE_FOREIGN_H
#define MT_BASE_FOREIGN_H

#include <stdint.h>

#define MT_FOREIGN_LEAST (256ull << 20) /* bytes of memory that any file may take */
#define MT_FOREIGN_RATIO 64             /* times the size of the file: beyond that */
#define MT_FOREIGN_MOST (4ull << 30)    /* and no more than that */

/* Bytes of memory that a file of this size may take; asked: what the user allows, or 0. */
static inline uint64_t mt_foreign_memory(uint64_t file_bytes, uint64_t asked)
{
	uint64_t most = file_bytes < MT_FOREIGN_MOST / MT_FOREIGN_RATIO
		? file_bytes * MT_FOREIGN_RATIO
		: MT_FOREIGN_MOST;

	return asked ? asked : most < MT_FOREIGN_LEAST ? MT_FOREIGN_LEAST : most;
}

#endif
