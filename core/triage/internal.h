/* What the two halves of the store share: judgements in memory (triage.c) and the file
 * (triage_file.c). */
#ifndef MT_TRIAGE_INTERNAL_H
#define MT_TRIAGE_INTERNAL_H

#include "core/base/buffer.h"
#include "core/triage/triage.h"

#include <sys/stat.h>

/* A line of the file: a judgement, or text that is kept as it is. */
struct mt_triage_line {
	struct mt_judgement judgement; /* its texts are own */
	char *text;                    /* NULL: a judgement */
	size_t len;
};
struct mt_triage_lines {
	struct mt_triage_line *items;
	uint32_t count, capacity;
	uint32_t damaged, first_damaged;
};

struct mt_triage_step {
	struct mt_judgement *before; /* new without a note: there was none */
	uint32_t count;
};

struct mt_triage {
	char *path;
	bool own;
	struct mt_triage_lines lines; /* as last read or written */
	struct mt_judgement *pending; /* not in the file yet, by fingerprint; own texts */
	uint32_t pending_count, pending_capacity;
	/* what holds, by fingerprint: lines with what is pending on top */
	struct mt_judgement **all;
	uint32_t all_count, all_capacity;
	struct mt_triage_step *steps;
	uint32_t step_count, step_capacity;
	struct stat seen; /* of the file; st_ino 0: none was read */
	uint64_t generation;
};

void mt_judgement_copy(struct mt_judgement *, const struct mt_judgement *from);
void mt_judgement_free(struct mt_judgement *);
bool mt_judgement_is_nothing(const struct mt_judgement *);
void mt_triage_index(struct mt_triage *);
void mt_triage_lines_free(struct mt_triage_lines *);
/* Judgements, by fingerprint and each once, into lines in place of what they say of these
 * fingerprints. */
void mt_triage_lines_merge(struct mt_triage_lines *, const struct mt_judgement *, uint32_t count);
/* Of judgements by fingerprint; NULL: none. */
struct mt_judgement *mt_judgement_find(struct mt_judgement *, uint32_t count, uint64_t fingerprint);
void mt_triage_lines_parse(struct mt_triage_lines *, const char *text, size_t len);
void mt_triage_lines_write(const struct mt_triage_lines *, struct mt_buffer *out);

#endif
