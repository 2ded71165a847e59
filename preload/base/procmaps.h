/* What the kernel says of the program's mappings. */
#ifndef MT_PROCMAPS_H
#define MT_PROCMAPS_H

#include <stdbool.h>
#include <stdint.h>

struct mt_procmap {
	uint64_t start, end;
	bool readable;
};
/* Returns false to end the walk. */
typedef bool mt_procmaps_visit(const struct mt_procmap *, void *context);
/* Calls back for each mapping, in ascending order. Does nothing where the file cannot be read. */
void mt_procmaps_each(mt_procmaps_visit *, void *context);

#endif
