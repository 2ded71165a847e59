/* Whether the kernel has ended a process for want of memory. It counts such kills for each control
 * group; a process that ends by SIGKILL soon after the count has risen was one of them. The service
 * does all of this. */
#ifndef MT_SESSION_OOM_H
#define MT_SESSION_OOM_H

#include "core/session/internal.h"

/* A process has come: notes its group. */
void mt_oom_meet(struct mt_process *);
/* Now and then, of one that lives: a kill that was long ago is none of its own. */
void mt_oom_look(struct mt_process *, uint64_t monotonic_ns);
/* It has ended; its status may not be known yet. */
void mt_oom_judge(struct mt_process *, uint64_t monotonic_ns);

#endif
