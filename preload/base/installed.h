/* What the room install/ provides, or whoever else leads calls to the hooks, beside the real
 * functions in mt_tracer.real: all others read it here, and do not know how it was found. It is
 * complete before the first hook is called. */
#ifndef MT_INSTALLED_H
#define MT_INSTALLED_H

#include "preload/base/environment.h"
#include "preload/base/tracer.h"

struct mt_installed {
	/* Looks the real functions up, if that is yet to be done. False: this thread is looking
	 * them up, and they cannot be called yet. */
	bool (*find_real)(void);
	/* In a forked child, from its one thread. */
	void (*in_child)(void);
	/* A new image's segment has begun, and its first event waits. NULL: it need not be told. */
	void (*begun)(void);
	/* The same: it takes the signals that it is to heed. NULL: none. */
	void (*signals)(struct mt_wire_header *);
	/* The descriptor of this image's segment, which somebody has brought. NULL: it is asked
	 * for. */
	int (*segment)(void);
	/* The session, or the options of a stand-alone recording: entries NAME=VALUE up to NULL,
	 * with the names of the variables. NULL: they are not there yet. */
	char **(*settings)(void);
};
extern struct mt_installed mt_installed;

typedef long (*mt_real_syscall_function)(long, long, long, long, long, long, long);
/* libc's syscall(). The hook in arch/x86_64/syscall.c jumps to it, so it has a name of its own. */
extern mt_real_syscall_function mt_real_syscall;

/* The value of a setting, or NULL. */
static inline const char *mt_setting(const char *name)
{
	return mt_environment_find(mt_installed.settings(), name);
}

/* True once the real functions can be called. */
static inline bool mt_real_ready(void)
{
	return mt_installed.find_real();
}

#endif
