/* The ways to the recorder that need neither its network namespace nor its root directory: a second
 * socket, bound to a file, and the tracer's library. Both are reached by descriptors that the
 * recorder holds, as /proc/PID/fd/NUMBER (core/wire.h). No file is left behind: a descriptor leads
 * to a file without a name, too. */
#include "core/base/buffer.h"
#include "core/session/service_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Binds in the directory and removes the name. Returns a descriptor of the file, or -1. */
static int bind_in(int listener, char *directory)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = -1, len;

	if (!mkdtemp(directory))
		return -1;
	len = snprintf(address.sun_path, sizeof address.sun_path, "%s/s", directory);
	if (len < (int)sizeof address.sun_path
		&& bind(listener, (struct sockaddr *)&address, sizeof address) == 0) {
		chmod(address.sun_path, 0600); /* whatever the umask */
		fd = open(address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		unlink(address.sun_path);
	}
	rmdir(directory);
	return fd;
}

static int bind_file(int listener)
{
	const char *const places[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof places / sizeof *places; i++) {
		char *directory = places[i] && *places[i] == '/'
			? mt_format("%s/memtui-XXXXXX", places[i])
			: NULL;

		if (directory)
			fd = bind_in(listener, directory);
		free(directory);
	}
	return fd;
}

void mt_service_listen_by_file(struct mt_recorder *r)
{
	r->file_listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r->socket_fd = r->file_listen_fd < 0 ? -1 : bind_file(r->file_listen_fd);
	if (r->socket_fd < 0 || listen(r->file_listen_fd, 4096) < 0) {
		if (r->file_listen_fd >= 0)
			close(r->file_listen_fd);
		r->file_listen_fd = -1;
	}
	r->library_fd = open(r->launch.library, O_RDONLY | O_CLOEXEC);
}

/* Numbers of one length, as the name has: some programs copy their environment into the heap.
 * Descriptor 0 is never one of these: it says that there is none. */
char *mt_service_session(const struct mt_recorder *r)
{
	return mt_format("%s:%s:%07u.%03d.%03d", r->name, r->token, (unsigned)getpid(),
		r->file_listen_fd < 0 ? 0 : r->socket_fd, r->library_fd < 0 ? 0 : r->library_fd);
}
