/* Did you mean: which of several names is the one that was mistyped. */
#ifndef MT_BASE_NEAREST_H
#define MT_BASE_NEAREST_H

/* next: the i-th name, NULL at the end. NULL: none is near. */
const char *mt_nearest(const char *text, const char *(*next)(const void *context, int i),
	const void *context);
/* The `most` (or fewer) nearest, however far they are, best first: those that have a word of text's
 * before all others; words end at '_'. Returns how many. */
unsigned mt_nearest_names(const char *text, const char *(*next)(const void *context, int i),
	const void *context, const char **nearest, unsigned most);

#endif
