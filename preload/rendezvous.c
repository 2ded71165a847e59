/* Asks the recorder that the environment names for a segment. Bounded in time, silent in failure. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload/segment.h"
#include "preload/sys.h"

#define PATIENCE_MS 1000 /* on a busy machine the recorder may not run for long; a stopped one costs this once */

extern char **environ;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static const char *session(void)
{
	size_t len = strlen(MT_WIRE_ENVIRONMENT);

	for (char **at = environ; *at; at++)
		if (strncmp(*at, MT_WIRE_ENVIRONMENT, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

/* Waits until the socket is ready or the deadline has passed. */
static int wait_for(int fd, short events, int64_t deadline)
{
	for (;;) {
		struct pollfd poll = {.fd = fd, .events = events};
		int64_t left = deadline - now_ms();
		struct timespec timeout = {left / 1000, left % 1000 * 1000000};
		long n;

		if (left <= 0)
			return -ETIMEDOUT;
		n = mt_sys6(SYS_ppoll, &poll, 1, &timeout, NULL, 0, 0);
		if (n > 0)
			return 0;
		if (n == 0)
			return -ETIMEDOUT;
		if (n != -EINTR)
			return (int)n;
	}
}

static int connect_to(int fd, const char *name, size_t len, int64_t deadline)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1 + len;

	memcpy(address.sun_path + 1, name, len);
	for (;;) {
		struct timespec pause = {0, 1000000};
		long error = mt_sys3(SYS_connect, fd, &address, size);

		if (error != -EAGAIN && error != -EINTR)
			return (int)error;
		if (now_ms() >= deadline) /* the queue of the listener is full */
			return -ETIMEDOUT;
		mt_sys2(SYS_nanosleep, &pause, NULL);
	}
}

static int take_descriptor(struct msghdr *message)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	int fd;

	if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS
		|| control->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(control), sizeof fd);
	return fd;
}

static int receive(int fd)
{
	struct mt_wire_reply reply = {0};
	struct iovec part = {&reply, sizeof reply};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof control};
	long n = mt_sys3(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
	int memory;

	if (n < 0)
		return (int)n;
	memory = take_descriptor(&message);
	if (n != sizeof reply || reply.magic != MT_WIRE_MAGIC || reply.version != MT_WIRE_VERSION
		|| reply.status != 0) {
		if (memory >= 0)
			mt_sys1(SYS_close, memory);
		return reply.status < 0 ? reply.status : -EPROTO;
	}
	return memory;
}

/* The token is for the recorder alone: whoever listens must be root or this user. */
static int check_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;
	long error = mt_sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &len, 0);

	if (error < 0)
		return (int)error;
	return len == sizeof peer && (peer.uid == 0 || peer.uid == (uid_t)mt_sys0(SYS_geteuid)) ? 0 : -EPERM;
}

static int ask(int fd, const char *name, size_t len, const char *token)
{
	struct mt_wire_request request = {.magic = MT_WIRE_MAGIC, .version = MT_WIRE_VERSION,
		.pid = (uint32_t)mt_sys0(SYS_getpid)};
	int64_t deadline = now_ms() + PATIENCE_MS;
	long n;
	int error;

	memcpy(request.token, token, MT_WIRE_TOKEN_LEN);
	if ((error = connect_to(fd, name, len, deadline)) < 0 || (error = check_peer(fd)) < 0
		|| (error = wait_for(fd, POLLOUT, deadline)) < 0)
		return error;
	n = mt_sys6(SYS_sendto, fd, &request, sizeof request, MSG_NOSIGNAL, 0, 0);
	if (n != sizeof request)
		return n < 0 ? (int)n : -EPROTO;
	if ((error = wait_for(fd, POLLIN, deadline)) < 0)
		return error;
	return receive(fd);
}

int mt_rendezvous(void)
{
	const char *name, *colon;
	int fd, result;

	if (!environ)
		return -EAGAIN;
	name = session();
	colon = name ? strrchr(name, ':') : NULL;
	if (!colon || colon == name || strlen(colon + 1) != MT_WIRE_TOKEN_LEN
		|| (size_t)(colon - name) > sizeof ((struct sockaddr_un *)0)->sun_path - 1)
		return -ENOENT;
	fd = (int)mt_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	result = ask(fd, name, colon - name, colon + 1);
	mt_sys1(SYS_close, fd);
	return result;
}
