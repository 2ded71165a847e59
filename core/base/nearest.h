/* Did you mean: which of several names is the one that was mistyped. */
#ifndef MT_BASE_NEAREST_H
#define MT_BASE_NEAREST_H

/* next: the i-th name, NULL at the end. NULL: none is near. */
const char *mt_nearest(const char *text, const char *(*next)(const void *context, int i), const void *context);

#endif
