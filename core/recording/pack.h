/* Recordings that are no traces, as traces: compressed, with symbols, index and totals. */
#ifndef MT_RECORDING_PACK_H
#define MT_RECORDING_PACK_H

#include "core/recording/recording.h"

struct mt_packed {
	struct mt_err nameless; /* why names are missing; code 0: none are */
	struct mt_info info;    /* of the trace */
	uint64_t bytes;         /* written */
	char remark[512];       /* what is wrong with the recording, or was assumed; or "" */
	bool lives;             /* its program runs on: this is what there was */
};

/* Whether it is a stand-alone recording, or another profiler's. */
bool mt_pack_recognises(const char *path);
/* Standard output as a descriptor for mt_pack, or a negative errno. */
int mt_pack_output(struct mt_err *err);
/* fd: taken; it may be a pipe. */
int mt_pack(const char *path, int fd, const struct mt_open_options *, struct mt_packed *packed,
	struct mt_err *err);

#endif
