/* Private to core/recording: what a recording consists of. */
#ifndef MT_RECORDING_PARTS_H
#define MT_RECORDING_PARTS_H

#include "core/recording/packing.h"
#include "core/recording/recording.h"

struct mt_recording {
	struct mt_generation now;
	char *path;                       /* NULL: a session */
	struct mt_client *client;         /* a session, else NULL */
	struct mt_import *import;         /* a stand-alone recording that grows, else NULL */
	struct mt_symbolizer *symbolizer; /* NULL: no names come in the background */
	uint64_t image;                   /* as mt_client_image */
	const struct mt_source_facts *source;
	bool live, lost_recorder, names_wait, damaged;
	char fault[512], note[512]; /* "": none */
};

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
