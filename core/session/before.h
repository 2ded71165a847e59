/* The traces of the programs that a process ran before the one of a trace: NAME.exec0, NAME.exec1,
 * … beside NAME. */
#ifndef MT_SESSION_BEFORE_H
#define MT_SESSION_BEFORE_H

#include <stdint.h>

struct mt_before {
	char **paths; /* the first program first */
	uint32_t count;
	uint32_t missing;    /* that are not there */
	char *first_missing; /* the name of the first of these, or NULL */
};

/* Finds those of the trace at `path`, of which there should be `expected`, by their names alone:
 * who reads them finds out whose they are. A trace that is named NAME.execN itself has none. */
void mt_before_find(struct mt_before *, const char *path, uint32_t expected);
/* NAME without the .execN of an image; caller frees. */
char *mt_before_name(const char *path);
void mt_before_free(struct mt_before *);

#endif
