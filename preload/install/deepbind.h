/* Libraries that are opened with RTLD_DEEPBIND, or in a name space of their own. */
#ifndef MT_DEEPBIND_H
#define MT_DEEPBIND_H

#include <dlfcn.h>

/* Where the hooks of dlopen and dlmopen go on to. NULL: not known yet. */
extern void *(*mt_real_dlopen)(const char *, int);
extern void *(*mt_real_dlmopen)(Lmid_t, const char *, int);
/* In a forked child: what a thread that has not come along has begun is begun anew. */
void mt_deepbind_in_child(void);

#endif
