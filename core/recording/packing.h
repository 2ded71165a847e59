/* Private to core/recording: the events of a stand-alone recording, written as a trace while they
 * are merged. */
#ifndef MT_RECORDING_PACKING_H
#define MT_RECORDING_PACKING_H

#include "core/capture/import.h"
#include "core/model/load.h"
#include "core/symbol/symbol.h"

struct mt_packing {
	struct mt_import *import;         /* borrowed, as is */
	const struct mt_profile *profile; /* what it imports into */
	struct mt_definitions definitions;
	struct mt_trace_writer *writer;
	int (*progress)(void *context, double fraction);
	void *context;
	struct mt_err failure; /* of writing; sticks */
};

/* Before the first update. fd: taken. */
int mt_packing_begin(struct mt_packing *, struct mt_import *, const struct mt_profile *, int fd,
	struct mt_err *err);
/* As mt_import_update; negative, too, where the trace cannot be written. */
int mt_packing_update(struct mt_packing *, int (*progress)(void *context, double fraction),
	void *context, struct mt_err *err);
/* Completes the trace. symbols: NULL: without names. */
int mt_packing_finish(struct mt_packing *, const struct mt_symbols *, struct mt_err *err);
void mt_packing_free(struct mt_packing *);

#endif
