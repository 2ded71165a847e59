/* Asking a recorder for what lives in a process. */
#include "core/session/client.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static int refused(int status, pid_t process, struct mt_err *err)
{
	switch (status) {
	case -ESRCH:
		return mt_fail(err, status, "process %d is no longer being recorded", (int)process);
	case -ENODATA:
		return mt_fail(err, status,
			"process %d has not allocated yet; its recording begins with its first "
			"allocation or free",
			(int)process);
	case -ENOTSUP:
		return mt_fail(err, status,
			"the recording of process %d is a stream, so only its totals are known "
			"(--combined-only)",
			(int)process);
	}
	return mt_fail(err, status, "the recorder cannot tell what lives in process %d: %s",
		(int)process, strerror(-status));
}

int mt_session_live(const char *name, pid_t process, struct mt_session_live *live,
	struct mt_err *err)
{
	struct mt_welcome w;
	int fds[2];
	int fd = mt_session_connect(name, err);

	*live = (struct mt_session_live){.trace_fd = -1, .list_fd = -1};
	if (fd < 0)
		return fd;
	int status = mt_session_hello(fd, MT_MESSAGE_LIVE, process, err);

	if (!status)
		status = mt_session_welcome(fd, &w, fds, err);
	close(fd);
	if (status < 0)
		return status;
	if (!w.status && fds[0] < 0)
		w.status = -EMFILE; /* we have no descriptor left */
	live->trace_fd = fds[0];
	live->list_fd = fds[1];
	live->moment_ns = w.moment_ns;
	live->trace_bytes = w.trace_bytes;
	memcpy(live->trace_path, w.entry.trace_path, sizeof live->trace_path);
	return w.status ? refused(w.status, process, err) : 0;
}
