/* A stand-alone recording as a compressed trace with symbols, index and totals. */
#ifndef MT_SESSION_PACK_H
#define MT_SESSION_PACK_H

#include "core/base/err.h"
#include "core/model/profile.h"

struct mt_packed {
	struct mt_err nameless; /* why names are missing; code 0: none are */
	struct mt_info info;    /* of the trace */
	uint64_t bytes;         /* written */
	const char *fault;      /* what is wrong with the recording, or NULL; a constant */
	bool lives;             /* its program runs on: this is what there was */
};

/* A new file, or standard output for "-": a descriptor for mt_pack, or a negative errno. */
int mt_pack_output(const char *path, struct mt_err *err);
/* fd: taken; it may be a pipe. progress (may be NULL): what is being done, and how far. */
int mt_pack(const char *path, int fd, void (*progress)(const char *what, double fraction),
	struct mt_packed *packed, struct mt_err *err);

#endif
