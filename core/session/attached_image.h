/* The file of the tracer that is written into a running process (doc/attach.md): what it looks like
 * in memory. */
#ifndef MT_SESSION_ATTACHED_IMAGE_H
#define MT_SESSION_ATTACHED_IMAGE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_attached_image {
	uint8_t *bytes; /* what is not zero of it */
	size_t used;    /* so many */
	uint64_t size;  /* of the whole, in pages */
	uint64_t data;  /* from here on it is written to, before that executed and read */
	/* from its beginning: what the recorder calls and writes */
	uint64_t parameters, begin, lead, end;
};

/* Reads the file. Every number in it is checked. */
int mt_attached_image_read(struct mt_attached_image *, const char *path, struct mt_err *);
void mt_attached_image_free(struct mt_attached_image *);
/* Puts in the addresses that it has when it lies at base. Once. */
int mt_attached_image_relocate(struct mt_attached_image *, uint64_t base, struct mt_err *);

/* By which a place of ours is known in a process: the first bytes of a mapping. Files have zeroes
 * where the name stands. */
#define MT_ATTACHED_MARK_SIZE 16u
extern const uint8_t mt_attached_mark[MT_ATTACHED_MARK_SIZE];

#endif
