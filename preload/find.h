/* Looking symbols up where they may well not be: dlsym would allocate for its error, and take a lock. */
#ifndef MT_FIND_H
#define MT_FIND_H

#include <link.h>

/* The function of that name in one loaded object, or NULL. */
void *mt_find_in(const struct link_map *, const char *name);
/* The next after the tracer among the objects that the program was started with. For use while it starts. */
void *mt_find_next(const char *name);

#endif
