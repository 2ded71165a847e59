/* Private to core/convert: one format of lines of text that becomes a trace. A new format is a file
 * with a struct mt_text_source, and a word in the list. */
#ifndef MT_CONVERT_TEXT_SOURCE_H
#define MT_CONVERT_TEXT_SOURCE_H

#include "core/convert/build.h"
#include "core/model/source.h"

/* X(name): mt_NAME_source, in the order in which they are asked whether a file is theirs. */
#define MT_TEXT_SOURCES(X) X(heaptrack)

/* What a source tells of a file when no line is left, or one was wrong. */
struct mt_text_end {
	char made[64];       /* how it came to be: "by heaptrack 1.4" */
	const char *assumed; /* in place of what it does not know; NULL: nothing */
	const char *beyond;  /* what it lacks beyond what the source lacks; NULL: nothing */
	bool whole;          /* it has its end */
	/* NULL, or why it cannot be read as it is, and the program that makes of it what can */
	const char *refused, *filter;
};

struct mt_text_source {
	struct mt_source_facts facts;
	size_t state_size;                                 /* which begins zeroed */
	bool (*recognises)(const char *first, size_t len); /* by its first line */
	void (*begin)(void *state, struct mt_build *borrowed);
	/* NULL, or what is wrong with the line, which is changed. */
	const char *(*line)(void *state, char *line, size_t len);
	void (*end)(void *state, struct mt_text_end *);
	uint64_t (*memory)(const void *state); /* bytes that it takes beside what it builds */
	void (*free)(void *state);
};
#define X(name) extern const struct mt_text_source mt_##name##_source;
MT_TEXT_SOURCES(X)
#undef X

#endif
