/* Which files lack names, and why, in one sentence. */
#include "core/symbol/internal.h"
#include "core/symbol/resolver.h"

#include <stdlib.h>

enum {
	LACK_NONE,
	LACK_FILE,
	LACK_OTHER,
	LACK_CHANGED,
	LACK_REFUSED,
	LACK_OVERSIZED,
	LACK_DEBUG_REFUSED,
	LACK_LINES,
	LACK_SPLIT,
	LACKS
};

struct lack {
	const char *one, *many; /* words after the number; then the first file */
	unsigned count;
	const char *first;
};

static int lack_of(const struct file *file)
{
	switch (file->state) {
	case FILE_NONE: return LACK_NONE;
	case FILE_MISSING: return LACK_FILE;
	case FILE_OTHER: return LACK_OTHER;
	case FILE_CHANGED: return LACK_CHANGED;
	case FILE_REFUSED: return LACK_REFUSED;
	case FILE_OVERSIZED: return LACK_OVERSIZED;
	case FILE_OPEN: break;
	}
	if (file->oversized)
		return LACK_OVERSIZED;
	if (file->refused)
		return LACK_DEBUG_REFUSED;
	if (file->without_lines)
		return LACK_LINES;
	return file->dwarf && mt_dwarf_split_missing(file->dwarf) ? LACK_SPLIT : LACK_NONE;
}

const char *mt_resolver_missing(const struct mt_resolver *resolver)
{
	struct mt_resolver *r = (struct mt_resolver *)resolver; /* the sentence is a cache */
	struct lack lacks[LACKS] = {
		[LACK_FILE] = {"file was not found", "files were not found", 0, NULL},
		[LACK_OTHER] = {"file differs from the one that ran (build-id)",
			"files differ from those that ran (build-id)", 0, NULL},
		[LACK_CHANGED] = {"file was overwritten", "files were overwritten", 0, NULL},
		[LACK_REFUSED] = {"file is not regular or not readable",
			"files are not regular or not readable", 0, NULL},
		[LACK_OVERSIZED] =
			{"file takes too much memory when decompressed (see --max-memory)",
				"files take too much memory when decompressed (see --max-memory)",
				0, NULL},
		[LACK_DEBUG_REFUSED] =
			{"file refers to debug files that are not regular or not readable",
				"files refer to debug files that are not regular or not readable",
				0, NULL},
		[LACK_LINES] = {"file has no debug information", "files have no debug information",
			0, NULL},
		[LACK_SPLIT] = {"file lacks its .dwo files", "files lack their .dwo files", 0,
			NULL},
	};
	struct mt_buffer text = {0};

	for (uint32_t i = 0; i < r->file_count; i++) {
		const struct file *file = r->files[i];
		struct lack *lack = &lacks[file->asked ? lack_of(file) : LACK_NONE];

		if (!lack->count++)
			lack->first = *file->path ? file->path : "the program itself";
	}
	for (unsigned i = LACK_NONE + 1; i < LACKS; i++) {
		if (lacks[i].count)
			mt_buffer_printf(&text, "%s%u %s (%s%s)", text.len ? "; " : "",
				lacks[i].count, lacks[i].count == 1 ? lacks[i].one : lacks[i].many,
				lacks[i].first, lacks[i].count == 1 ? "" : " …");
	}
	free(r->missing);
	r->missing = (char *)text.data;
	return r->missing;
}
