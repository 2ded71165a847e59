/* The recorder's session as the environment names it. */
#ifndef MT_RENDEZVOUS_H
#define MT_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

/* The memfd of a new segment, or a negative errno; -EAGAIN: no environment yet,
 * -ENOENT: no session. forked_from: id of the parent's segment; 0: this is no forked child.
 * *uncounted: in, whether the caller can count this process among the untraced; out, after a
 * failure, whether it has to, because the recorder does not. */
int mt_rendezvous(uint64_t forked_from, bool *uncounted);

#include "core/rendezvous.h"
#include "core/wire.h"

#define MT_RENDEZVOUS_PATH 48 /* /proc/PID/fd/NUMBER */

/* The value of MEMTUI_SESSION that this process goes by; NULL: none has been read. */
const char *mt_rendezvous_session(void);
/* Where the tracer's library can be opened whatever the root directory is. False: the session names
 * no such place. */
bool mt_rendezvous_library(char path[MT_RENDEZVOUS_PATH]);

/* Tells whether a program that this process executed now would find the recorder. */
bool mt_rendezvous_is_reached(void);

/* What the recorder's answer to the last request for a segment said of a module to patch. */
struct mt_wire_reply mt_rendezvous_offer(void);
/* Sends the request, whose token and version it fills in, and waits for the answer, for a bounded
 * time. Afterwards the connection is closed. False: no answer came. */
bool mt_rendezvous_patches(struct mt_wire_patches *, struct mt_wire_reply *);

#endif
