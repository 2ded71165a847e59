/* Functions that a program asks for by name. In the handle of a library dlsym finds that library's
 * function, which would pass the tracer by: who is about to get the very function that one of ours
 * goes on to gets ours. */
#include <string.h>

#include "preload/base/text.h"
#include "preload/symbols/find.h"

/* Where the hooks in arch/x86_64/dlsym.c go on to. */
void *(*mt_real_dlsym)(void *, const char *);
void *(*mt_real_dlvsym)(void *, const char *, const char *);

/* Ours of this name, if it goes on to this function. */
static void *leading_to(const void *function, const char *name)
{
	void *hook = mt_find_hook(name);
	struct mt_found found;

	return hook && mt_find_next(name, &found) && found.function == function ? hook : NULL;
}

/* Where another library provides malloc, that of libc has a hook by its other name. */
static void *hook_of(void *function, const char *name)
{
	char other[32];
	void *hook;

	if (!function)
		return NULL;
	hook = leading_to(function, name);
	if (!hook && strlen(name) < sizeof other - sizeof "__libc_") {
		mt_text_add(mt_text_add(other, "__libc_"), name);
		hook = leading_to(function, other);
	}
	return hook ? hook : function;
}

void mt_before_dlsym(void);
void mt_before_dlsym(void)
{
	mt_find_dlsym("dlsym", &mt_real_dlsym);
}

void mt_before_dlvsym(void);
void mt_before_dlvsym(void)
{
	mt_find_dlsym("dlvsym", &mt_real_dlvsym);
}

/* handle is a library's. The real functions do not look at who calls then. */
void *mt_in_handle_dlsym(void *handle, const char *name);
void *mt_in_handle_dlsym(void *handle, const char *name)
{
	return mt_real_dlsym ? hook_of(mt_real_dlsym(handle, name), name) : NULL;
}

void *mt_in_handle_dlvsym(void *handle, const char *name, const char *version);
void *mt_in_handle_dlvsym(void *handle, const char *name, const char *version)
{
	return mt_real_dlvsym ? hook_of(mt_real_dlvsym(handle, name, version), name) : NULL;
}
