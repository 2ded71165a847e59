/* Private to core/recording: how a recording is opened. */
#ifndef MT_RECORDING_PARTS_H
#define MT_RECORDING_PARTS_H

#include "core/recording/packing.h"
#include "core/recording/recording.h"

struct mt_recording *mt_recording_new(const char *path);

/* While it is opened. */
struct mt_opening {
	struct mt_recording *recording;
	const struct mt_open_options *options;
	const char *path, *what; /* what: is done */
	struct mt_err *err;
};
int mt_opening_tell(void *opening, double fraction);
int mt_recording_begin_import(struct mt_opening *);

/* Notes what is wrong with the import, and lets go of it. */
void mt_recording_end_import(struct mt_recording *);

#endif
