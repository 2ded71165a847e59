/* What happened in a recording, in words: its begin, modules, markers, pauses, gaps, calls of the
 * allocator, its end, and what was lost. Maps are left out: there may be a million, and 'memtui
 * mmaps' lists them. */
#ifndef MT_EXPORT_JOURNAL_H
#define MT_EXPORT_JOURNAL_H

#include "core/export/json.h"
#include "core/query/query.h"

/* X(id, tag) */
#define MT_JOURNAL_KINDS(X) \
	X(BEGIN, "begin") \
	X(MODULE, "module") \
	X(MARKER, "marker") \
	X(PAUSE, "pause") \
	X(RESUME, "resume") \
	X(GAP, "gap") \
	X(LIMIT, "limit") \
	X(CALL, "call") \
	X(LOSS, "lost") \
	X(BLIND, "unseen") \
	X(NOTE, "note") \
	X(WARNING, "warning") \
	X(END, "end")

enum mt_journal_kind {
#define X(id, tag) MT_JOURNAL_##id,
	MT_JOURNAL_KINDS(X) MT_JOURNAL_KIND_COUNT,
#undef X
};
const char *mt_journal_tag(enum mt_journal_kind);

enum mt_journal_time {
	MT_JOURNAL_EXACT,
	MT_JOURNAL_UNSEEN,  /* a module that no stack led through: when it came is not known */
	MT_JOURNAL_BY_THEN, /* a module: it was first seen in a stack then */
	MT_JOURNAL_SO_FAR,  /* a sum of the whole recording: it has no time of its own */
};
struct mt_journal_line {
	uint64_t time_ns;
	uint32_t index;     /* what of its kind: as mt_journal_text needs it */
	uint8_t kind, time; /* enum mt_journal_kind, mt_journal_time */
};
#define MT_JOURNAL_NOTHING UINT32_MAX /* index of the one loss where there is none */
struct mt_journal {
	struct mt_journal_line *lines; /* oldest first; sums and the end stand last */
	uint32_t count, capacity;
};

/* Anew; damage: why the file makes no sense from some place on, or NULL. */
void mt_journal_make(struct mt_journal *, const struct mt_profile *, const char *damage);
/* The words of a line, one line of text; symbols: as known so far. damage: as it was given to
 * mt_journal_make. */
void mt_journal_text(char *out, size_t len, const struct mt_journal_line *,
	const struct mt_profile *, const struct mt_symbols *symbols, const char *damage);
void mt_journal_free(struct mt_journal *);

/* The name of a parameter of mallopt; NULL: it has none. */
const char *mt_journal_parameter(int id);

/* An object each, as info has them: a marker, and an interval in which events were lost. */
void mt_journal_marker_json(struct mt_json *, const struct mt_profile *,
	const struct mt_log_entry *);
void mt_journal_gap_json(struct mt_json *, const struct mt_log_entry *);

#endif
