/* Blind spots in words and as JSON (doc/blind-spots.md). */
#ifndef MT_EXPORT_BLIND_H
#define MT_EXPORT_BLIND_H

#include "core/export/json.h"
#include "core/model/blind.h"

/* A sentence about one entry: "/bin/x is statically linked: no tracer can be loaded (process 12)".
 * brief: without the directory. The path is the program's own text: make it safe before it is
 * shown. Caller frees. */
char *mt_blind_sentence(const struct mt_profile *, const struct mt_blind *, bool brief);
/* One sentence for a title: the entry that matters most, and how many more there are. NULL: nothing
 * was left unseen, as far as is known. Caller frees. */
char *mt_blind_summary(const struct mt_profile *, bool brief);
/* True if one of the shell patterns, with commas between, is that of the entry's path, of its last
 * part, or of the reason's name. patterns: NULL: none. */
bool mt_blind_matches(const struct mt_profile *, const struct mt_blind *, const char *patterns);
/* "blind": [{process, path, reason, processes, bytes}] into an open object. */
void mt_blind_json(struct mt_json *, const struct mt_profile *);

#endif
