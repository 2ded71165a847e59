/* Libraries that are opened with RTLD_DEEPBIND. */
#ifndef MT_DEEPBIND_H
#define MT_DEEPBIND_H

/* Where the hook of dlopen goes on to. NULL: not known yet. */
extern void *(*mt_real_dlopen)(const char *, int);

#endif
