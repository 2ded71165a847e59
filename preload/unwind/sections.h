/* Call frame information that no program header tells of: the section headers in the module's file
 * do. */
#ifndef MT_SECTIONS_H
#define MT_SECTIONS_H

#include "preload/unwind/mapped.h"

/* Finds .eh_frame, as it lies in memory. False: there is none; or the file cannot be read, or is
 * not the one that is mapped. */
bool mt_sections_find_frames(const struct dl_find_object *, const struct mt_mapped *,
	struct mt_bytes *frames);

#endif
