/* A watcher's end of a session. */
#include "core/session/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* messages; a recorder that takes none of them for that long loses what comes then */
#define WAITING_MAX 256
/* A recorder that is kept from running answers late; a machine that stood still took one look. */
#define LOOK_MS 100
#define LOOKS 100

struct mt_client {
	int fd, snapshot_fd, master_fd;
	struct mt_snapshot_view *view;
	struct mt_session_entry entry;
	bool gone;
	struct mt_message *waiting; /* what the recorder has no room for yet, in order */
	uint32_t waiting_count, waiting_capacity;
	uint8_t *kept; /* the last MT_TERMINAL_BYTES, once the recorder is gone */
	uint64_t kept_end;
};

/* ---- connecting ------------------------------------------------------------------------------ */

static int check_peer(int fd, const char *name, struct mt_err *err)
{
	struct ucred who;
	socklen_t len = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0
		|| (who.uid != getuid() && who.uid != 0))
		return mt_fail(err, -EPERM, "session %s belongs to another user", name);
	return 0;
}

/* Whether a call that waited in vain for LOOK_MS, or was interrupted by a stop, is made again. */
static bool looks_again(unsigned *looks)
{
	return (errno == EAGAIN || errno == EINTR) && ++*looks < LOOKS;
}

/* Its queue may be full. */
static bool connects(int fd, const struct sockaddr_un *address, socklen_t len)
{
	unsigned looks = 0;

	do
		if (connect(fd, (const struct sockaddr *)address, len) == 0)
			return true;
	while (looks_again(&looks));
	return false;
}

ssize_t mt_session_receive(int fd, struct msghdr *message)
{
	unsigned looks = 0;
	ssize_t n;

	do
		n = recvmsg(fd, message, MSG_CMSG_CLOEXEC);
	while (n < 0 && looks_again(&looks));
	return n;
}

int mt_session_connect(const char *name, struct mt_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_usec = LOOK_MS * 1000};
	size_t len = strlen(name);
	int fd;

	if (!len || len >= sizeof address.sun_path - 1)
		return mt_fail(err, -EINVAL, "%s: not a session", name);
	memcpy(address.sun_path + 1, name, len);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return mt_fail(err, -errno, "cannot create a socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (!connects(fd, &address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)))
		mt_fail(err, -errno, "session %s: %s; it may have ended", name, strerror(errno));
	else if (check_peer(fd, name, err) == 0)
		return fd;
	close(fd);
	return err && err->code ? err->code : -ECONNREFUSED;
}

static void take_descriptors(struct msghdr *message, int fds[2])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	fds[0] = fds[1] = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
		&& c->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fds, CMSG_DATA(c),
			c->cmsg_len >= CMSG_LEN(2 * sizeof(int)) ? 2 * sizeof(int) : sizeof(int));
}

int mt_session_hello(int fd, enum mt_message_type type, pid_t process, struct mt_err *err)
{
	struct mt_message hello = {.magic = MT_MESSAGE_MAGIC, .type = type, .a = (uint32_t)process};

	if (send(fd, &hello, offsetof(struct mt_message, bytes), MSG_NOSIGNAL) < 0)
		return mt_fail(err, -errno, "the recorder does not accept requests: %s",
			strerror(errno));
	return 0;
}

int mt_session_welcome(int fd, struct mt_welcome *w, int fds[2], struct mt_err *err)
{
	struct iovec part = {w, sizeof *w};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control,
	};
	ssize_t n = mt_session_receive(fd, &message);

	fds[0] = fds[1] = -1;
	if (n > 0)
		take_descriptors(&message, fds);
	if (n != sizeof *w || w->magic != MT_MESSAGE_MAGIC) {
		for (int i = 0; i < 2; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		if (n < 0)
			return mt_fail(err, -EAGAIN,
				"the recorder does not answer; it may be stopped (kill -CONT "
				"continues it)");
		return n == 0 ? mt_fail(err, -EPIPE, "the session has just ended; open its trace")
			      : mt_fail(err, -EPROTO,
				      "the recorder sent an invalid answer; it may be another "
				      "version of memtui");
	}
	w->entry.name[sizeof w->entry.name - 1] = w->entry.command[sizeof w->entry.command - 1] =
		'\0';
	w->entry.trace_path[sizeof w->entry.trace_path - 1] = '\0';
	return 0;
}

static int refused(const struct mt_welcome *w, pid_t process, struct mt_err *err)
{
	if (w->status == -ESRCH)
		return mt_fail(err, w->status, "process %d is no longer being recorded",
			(int)process);
	return mt_fail(err, w->status, "the recorder cannot show process %d: %s", (int)process,
		strerror(-w->status));
}

struct mt_client *mt_client_connect(const char *name, struct mt_err *err)
{
	return mt_client_connect_process(name, 0, err);
}

struct mt_client *mt_client_connect_process(const char *name, pid_t process, struct mt_err *err)
{
	struct mt_client *c = mt_alloc(sizeof *c);
	struct mt_welcome w;
	int fds[2];

	c->snapshot_fd = c->master_fd = -1;
	c->fd = mt_session_connect(name, err);
	if (c->fd >= 0 && mt_session_hello(c->fd, MT_MESSAGE_HELLO, process, err) == 0
		&& mt_session_welcome(c->fd, &w, fds, err) == 0
		&& (w.status == 0 || refused(&w, process, err) == 0)) {
		c->snapshot_fd = fds[0];
		c->master_fd = fds[1];
		c->entry = w.entry;
		c->view = mt_snapshot_view_new(c->snapshot_fd, err);
		fcntl(c->fd, F_SETFL, O_NONBLOCK);
	}
	if (c->view)
		return c;
	mt_client_free(c);
	return NULL;
}

void mt_client_free(struct mt_client *c)
{
	if (!c)
		return;
	struct pollfd ready = {c->fd, POLLOUT, 0};

	for (unsigned looks = 0; c->waiting_count && looks < LOOKS / 10; looks++)
		if (poll(&ready, 1, LOOK_MS) > 0) {
			if (ready.revents & ~POLLOUT)
				break;
			mt_client_flush(c);
			looks = 0;
		}
	free(c->waiting);
	mt_snapshot_view_free(c->view);
	if (c->fd >= 0)
		close(c->fd);
	if (c->snapshot_fd >= 0)
		close(c->snapshot_fd);
	if (c->master_fd >= 0)
		close(c->master_fd);
	free(c->kept);
	free(c);
}

int mt_client_fd(const struct mt_client *c)
{
	return c->fd;
}

const struct mt_session_entry *mt_client_entry(const struct mt_client *c)
{
	return &c->entry;
}

bool mt_client_has_terminal(const struct mt_client *c)
{
	return c->master_fd >= 0;
}

uint64_t mt_client_image(const struct mt_client *c)
{
	return mt_snapshot_view_image(c->view);
}

uint32_t mt_client_others(const struct mt_client *c)
{
	return mt_snapshot_view_others(c->view);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Takes the notices off the socket; notes when the recorder is gone. */
static void take_notices(struct mt_client *c)
{
	char byte;
	ssize_t n;

	while ((n = recv(c->fd, &byte, 1, MSG_DONTWAIT)) > 0)
		;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		c->gone = true;
}

int mt_client_update(struct mt_client *c, struct mt_profile *profile, struct mt_err *err)
{
	int result;

	take_notices(c);
	result = mt_snapshot_view_update(c->view, profile, err);
	if (result == 0 && c->gone)
		return mt_fail(err, -EPIPE, "the recorder has ended");
	if (result == -EAGAIN && !c->gone)
		return 0; /* it is being written: the next notice brings it */
	return result;
}

static void keep(struct mt_client *c, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		c->kept[(c->kept_end + i) % MT_TERMINAL_BYTES] = bytes[i];
	c->kept_end += len;
}

/* What the recorder kept goes on in our own memory. */
static void take_over(struct mt_client *c)
{
	uint8_t *bytes = mt_alloc(MT_TERMINAL_BYTES);
	uint64_t at = 0;
	size_t n;

	c->kept = mt_alloc(MT_TERMINAL_BYTES);
	while ((n = mt_snapshot_view_terminal(c->view, &at, bytes, MT_TERMINAL_BYTES)) > 0) {
		c->kept_end = at - n;
		keep(c, bytes, n);
	}
	free(bytes);
}

void mt_client_drain(struct mt_client *c)
{
	uint8_t bytes[16384];
	ssize_t n;

	if (c->master_fd < 0)
		return;
	if (!c->kept)
		take_over(c);
	fcntl(c->master_fd, F_SETFL, O_RDWR | O_NONBLOCK);
	while ((n = read(c->master_fd, bytes, sizeof bytes)) > 0)
		keep(c, bytes, (size_t)n);
}

size_t mt_client_terminal(struct mt_client *c, uint64_t *at, void *buffer, size_t len)
{
	uint64_t oldest;
	size_t n;

	if (!c->kept)
		return mt_snapshot_view_terminal(c->view, at, buffer, len);
	oldest = c->kept_end > MT_TERMINAL_BYTES ? c->kept_end - MT_TERMINAL_BYTES : 0;
	if (*at < oldest || *at > c->kept_end)
		*at = oldest;
	n = c->kept_end - *at < len ? (size_t)(c->kept_end - *at) : len;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)buffer)[i] = c->kept[(*at + i) % MT_TERMINAL_BYTES];
	*at += n;
	return n;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* false: the recorder takes nothing at the moment. */
static bool send_now(struct mt_client *c, const struct mt_message *m)
{
	return send(c->fd, m, offsetof(struct mt_message, bytes) + m->len,
		       MSG_NOSIGNAL | MSG_DONTWAIT)
		>= 0
		|| (errno != EAGAIN && errno != EINTR);
}

void mt_client_flush(struct mt_client *c)
{
	uint32_t sent = 0;

	while (sent < c->waiting_count && send_now(c, &c->waiting[sent]))
		sent++;
	c->waiting_count -= sent;
	if (sent)
		memmove(c->waiting, c->waiting + sent, c->waiting_count * sizeof *c->waiting);
}

short mt_client_events(const struct mt_client *c)
{
	return (short)(POLLIN | (c->waiting_count ? POLLOUT : 0));
}

/* The screen does not wait for a recorder that is stopped; what it was told first it learns
 * first. */
static void command(struct mt_client *c, enum mt_message_type type, uint32_t a, uint32_t b,
	const void *bytes, size_t len)
{
	struct mt_message m =
		{.magic = MT_MESSAGE_MAGIC, .type = type, .a = a, .b = b, .len = (uint32_t)len};

	if (len)
		memcpy(m.bytes, bytes, len);
	mt_client_flush(c);
	if ((!c->waiting_count && send_now(c, &m)) || c->waiting_count >= WAITING_MAX)
		return;
	MT_GROW(c->waiting, c->waiting_count, c->waiting_capacity);
	c->waiting[c->waiting_count++] = m;
}

void mt_client_interval(struct mt_client *c, unsigned milliseconds)
{
	command(c, MT_MESSAGE_INTERVAL, milliseconds, 0, NULL, 0);
}

void mt_client_input(struct mt_client *c, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		size_t n = len < MT_MESSAGE_BYTES ? len : MT_MESSAGE_BYTES;

		if (!c->gone)
			command(c, MT_MESSAGE_INPUT, 0, 0, at, n);
		else if (c->master_fd < 0 || write(c->master_fd, at, n) < 0)
			return;
		at += n;
		len -= n;
	}
}

void mt_client_resize(struct mt_client *c, unsigned short rows, unsigned short columns)
{
	command(c, MT_MESSAGE_RESIZE, rows, columns, NULL, 0);
}

void mt_client_signal(struct mt_client *c, int signal)
{
	command(c, MT_MESSAGE_SIGNAL, (uint32_t)signal, 0, NULL, 0);
}

void mt_client_pause(struct mt_client *c, bool paused)
{
	command(c, MT_MESSAGE_PAUSE, paused, 0, NULL, 0);
}

void mt_client_detach(struct mt_client *c)
{
	command(c, MT_MESSAGE_DETACH, 0, 0, NULL, 0);
}
