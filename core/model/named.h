/* Private to core/model: numbers that have their names in the file. */
#ifndef MT_MODEL_NAMED_H
#define MT_MODEL_NAMED_H

#include "core/trace/varint.h"

struct mt_named {
	const char *name;
	size_t offset; /* in a struct */
	size_t size;   /* 4 or 8 */
	uint64_t most;
};

/* Appends the fields of the struct that are not 0. */
void mt_named_add(struct mt_buffer *, const struct mt_named *, size_t count, const void *of);
/* Sets all fields of the struct: to 0 where the file does not have them. Names that are not among
 * the fields are passed over. */
void mt_named_get(struct mt_cursor *, const struct mt_named *, size_t count, void *of);

#endif
