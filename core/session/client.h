/* Connecting to a recorder: for watchers, and for the list of sessions. */
#ifndef MT_SESSION_CLIENT_H
#define MT_SESSION_CLIENT_H

#include "core/session/internal.h"

#include <sys/socket.h>

/* A connected socket whose peer has our uid or is root; or a negative errno. */
int mt_session_connect(const char *name, struct mt_err *err);
/* recvmsg, with patience; -1 and errno when nothing came. */
ssize_t mt_session_receive(int fd, struct msghdr *message);
/* Says who we are: MT_MESSAGE_HELLO with the process to watch, or _LIST. */
int mt_session_hello(int fd, enum mt_message_type, pid_t process, struct mt_err *err);
/* Takes the answer; fds: -1 where none came. */
int mt_session_welcome(int fd, struct mt_welcome *, int fds[2], struct mt_err *err);

#endif
