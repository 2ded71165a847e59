/* Text on its way into a file, packed as the file's name says: .zst, .gz, else as it is. */
#ifndef MT_EXPORT_PACKED_H
#define MT_EXPORT_PACKED_H

#include "core/base/buffer.h"
#include "core/base/err.h"

#include <stdbool.h>
#include <stdio.h>

#define MT_PACKED_PIECE (64u << 10)

struct mt_packed_out {
	struct mt_buffer text; /* what is not packed yet: add to it, then call step */
	FILE *out;             /* borrowed; look at ferror when done */
	void *zstd, *gzip;
	uint8_t *piece;
};

/* name: of the file, or NULL. */
int mt_packed_begin(struct mt_packed_out *, FILE *out, const char *name, struct mt_err *);
void mt_packed_write(struct mt_packed_out *, bool last);
static inline void mt_packed_step(struct mt_packed_out *p)
{
	if (p->text.len >= MT_PACKED_PIECE)
		mt_packed_write(p, false);
}
/* Writes the rest. */
void mt_packed_end(struct mt_packed_out *);

#endif
