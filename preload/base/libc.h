/* What of libc only glibc has. A program for another one (musl) may be started below a recorded
 * one, with the tracer in its environment: there these functions are missing, which must not be an
 * error, and the tracer stays out of its way. */
#ifndef MT_LIBC_H
#define MT_LIBC_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));
extern __typeof(dladdr1) dladdr1 __attribute__((weak));
/* pthread_atfork is this, but in a part of glibc that is linked in, where it is no weak one. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
	void *of) __attribute__((weak));
extern int __cxa_atexit(void (*function)(void *), void *argument, void *of) __attribute__((weak));
extern void *__dso_handle;

static inline bool mt_is_glibc(void)
{
	return &_dl_find_object != NULL;
}

/* The object that an address lies in. Takes no lock. Negative: there is none. */
static inline int mt_object_of(const void *address, struct dl_find_object *object)
{
	return mt_is_glibc() ? _dl_find_object((void *)(uintptr_t)address, object) : -1;
}

#endif
