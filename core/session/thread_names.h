/* The names that a program's threads give themselves, at any time of their lives. */
#ifndef MT_SESSION_THREAD_NAMES_H
#define MT_SESSION_THREAD_NAMES_H

#include "core/model/profile.h"

#include <stdint.h>
#include <sys/types.h>

struct mt_thread_names {
	uint32_t met;     /* threads of the profile that were looked at */
	uint32_t *living; /* those of them that were there when last looked at */
	uint32_t living_count, living_capacity;
};

/* Threads that are new in the profile; at once, for they may be gone soon. */
void mt_thread_names_meet(struct mt_thread_names *, struct mt_profile *, pid_t);
/* Those that live, again. Threads that have ended cost nothing: a program may have had ten
 * thousands, and while they are looked at rings fill. */
void mt_thread_names_refresh(struct mt_thread_names *, struct mt_profile *, pid_t);
void mt_thread_names_free(struct mt_thread_names *);

#endif
