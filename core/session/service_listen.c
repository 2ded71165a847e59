/* The ways to the recorder that need neither its network namespace nor its root directory: a second
 * socket, bound to a file, and the tracer's library. Both are reached by descriptors that the
 * recorder holds, as /proc/PID/fd/NUMBER (core/wire.h); who is in another user namespace may not
 * look at these, and takes the socket's path. So its file stays as long as the recorder lives, in a
 * directory for its user alone. */
#include "core/base/buffer.h"
#include "core/session/service_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY "memtui-XXXXXX"
#define SETTLED_S 60 /* a recorder may be between its bind and its listen */

/* ---- what killed recorders have left --------------------------------------------------------- */

/* Tells whether nobody listens there any more. */
static bool is_abandoned(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused = false;

	if (strlen(path) < sizeof address.sun_path && fd >= 0) {
		strcpy(address.sun_path, path);
		refused = connect(fd, (struct sockaddr *)&address, sizeof address) < 0
			&& errno == ECONNREFUSED;
	}
	if (fd >= 0)
		close(fd);
	return refused;
}

/* An old directory that is empty, or has such a socket in it. */
static void remove_if_abandoned(const char *directory)
{
	char *path = mt_format("%s/s", directory);
	struct stat own, status;

	if (lstat(directory, &own) == 0 && S_ISDIR(own.st_mode) && own.st_uid == geteuid()
		&& own.st_mtime < time(NULL) - SETTLED_S) {
		if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) && is_abandoned(path))
			unlink(path);
		rmdir(directory);
	}
	free(path);
}

static void clear_away(const char *place)
{
	DIR *d = opendir(place);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (strlen(entry->d_name) == strlen(DIRECTORY)
			&& !strncmp(entry->d_name, DIRECTORY, strlen("memtui-"))) {
			char *directory = mt_format("%s/%s", place, entry->d_name);

			remove_if_abandoned(directory);
			free(directory);
		}
	if (d)
		closedir(d);
}

/* ---- the socket ------------------------------------------------------------------------------ */

/* Binds in a new directory. Returns a descriptor of the file, or -1. */
static int bind_in(struct mt_recorder *r, const char *place)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *directory = mt_format("%s/" DIRECTORY, place);
	int fd = -1;

	if (strlen(directory) + strlen("/s") < sizeof address.sun_path && mkdtemp(directory)) {
		snprintf(address.sun_path, sizeof address.sun_path, "%s/s", directory);
		if (bind(r->file_listen_fd, (struct sockaddr *)&address, sizeof address) == 0) {
			chmod(address.sun_path, 0600); /* whatever the umask */
			fd = open(address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
			r->socket_path = mt_strdup(address.sun_path);
		} else {
			rmdir(directory);
		}
	}
	free(directory);
	return fd;
}

/* A program's own directory for temporary files comes last: it may look at what is in it. */
static int bind_file(struct mt_recorder *r)
{
	const char *const places[] = {getenv("XDG_RUNTIME_DIR"), "/tmp", getenv("TMPDIR")};
	int fd = -1;

	for (size_t i = 0; !r->socket_path && i < sizeof places / sizeof *places; i++)
		if (places[i] && *places[i] == '/') {
			clear_away(places[i]);
			fd = bind_in(r, places[i]);
		}
	return fd;
}

void mt_service_remove_file(struct mt_recorder *r)
{
	char *slash = r->socket_path ? strrchr(r->socket_path, '/') : NULL;

	if (!slash)
		return;
	unlink(r->socket_path);
	*slash = '\0';
	rmdir(r->socket_path);
	free(r->socket_path);
	r->socket_path = NULL;
}

void mt_service_listen_by_file(struct mt_recorder *r)
{
	r->file_listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r->socket_fd = r->file_listen_fd < 0 ? -1 : bind_file(r);
	if (r->socket_fd < 0 || listen(r->file_listen_fd, 4096) < 0) {
		mt_service_remove_file(r);
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
	return mt_format("%s:%s:%07u.%03d.%03d%s%s", r->name, r->token, (unsigned)getpid(),
		r->file_listen_fd < 0 ? 0 : r->socket_fd, r->library_fd < 0 ? 0 : r->library_fd,
		r->socket_path ? ":" : "", r->socket_path ? r->socket_path : "");
}
