/* The recorder's session as the environment names it. */
#ifndef MT_RENDEZVOUS_H
#define MT_RENDEZVOUS_H

#include <stdbool.h>

#define MT_RENDEZVOUS_PATH 48 /* /proc/PID/fd/NUMBER */

/* The value of MEMTUI_SESSION that this process goes by; NULL: none has been read. */
const char *mt_rendezvous_session(void);
/* Where the tracer's library can be opened whatever the root directory is. False: the session names
 * no such place. */
bool mt_rendezvous_library(char path[MT_RENDEZVOUS_PATH]);

/* Tells whether a program that this process executed now would find the recorder. */
bool mt_rendezvous_is_reached(void);

#endif
