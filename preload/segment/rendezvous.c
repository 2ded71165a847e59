/* Asks the recorder that the environment names for a segment. Bounded in time, silent in failure. A
 * forked child goes by what its parent read: the environment may be another by then, or just be
 * changed by a thread that is gone. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload/base/installed.h"
#include "preload/base/sys.h"
#include "preload/base/text.h"
#include "preload/segment/rendezvous.h"
#include "preload/segment/segment.h"

#define LOOK_NS 50000000
/* while the recorder can be seen to run: on a busy machine it may have to wait for its turn */
#define PATIENCE_NS 2000000000

#define VALUE_MAX 256

static struct {
	char value[VALUE_MAX]; /* of the variable, as this process or one that forked it found it */
	size_t len;            /* of the name that it begins with; 0: not read yet */
	/* the recorder's process and its descriptors; 0: not named */
	uint32_t recorder, socket, library;
	const char *path; /* of its second socket, in value; or NULL */
	/* inode of the network namespace in which the name was known; 0: it was not, or cannot be
	 * told */
	uint64_t network;
	uint32_t uid;
	bool trusted;               /* uid is that of the recorder that answered */
	struct mt_wire_reply offer; /* its answer: what is to be patched */
} session;

/* One decimal and the point behind it. 0: there is none. */
static uint32_t number(const char **at)
{
	uint64_t n = 0;

	for (; **at >= '0' && **at <= '9' && n <= INT32_MAX; (*at)++)
		n = n * 10 + (uint64_t)(**at - '0');
	*at += **at == '.';
	return n > INT32_MAX ? 0 : (uint32_t)n;
}

static void read_numbers(const char *at)
{
	session.recorder = number(&at);
	session.socket = number(&at);
	session.library = number(&at);
	if (*at == ':' && at[1] == '/'
		&& strlen(at + 1) < sizeof((struct sockaddr_un *)0)->sun_path)
		session.path = at + 1;
}

/* 0, or -ENOENT: no session. */
static int read_session(void)
{
	const char *value = mt_setting(MT_WIRE_ENVIRONMENT);
	size_t len = value ? strlen(value) : 0, name = 0;

	while (name < len && value[name] != ':')
		name++;
	if (name == 0 || len >= sizeof session.value
		|| name > sizeof((struct sockaddr_un *)0)->sun_path - 1
		|| len < name + 1 + MT_WIRE_TOKEN_LEN)
		return -ENOENT;
	memcpy(session.value, value, len + 1);
	value = session.value + name + 1 + MT_WIRE_TOKEN_LEN;
	if (*value == ':')
		read_numbers(value + 1);
	else if (*value)
		return -ENOENT;
	session.len = name;
	return 0;
}

const char *mt_rendezvous_session(void)
{
	return session.len ? session.value : NULL;
}

/* What the recorder's descriptor leads to. False: it is not named. */
static bool descriptor(char *to, uint32_t number_of)
{
	if (!session.recorder || !number_of)
		return false;
	to = mt_text_add_number(mt_text_add(to, "/proc/"), session.recorder);
	mt_text_add_number(mt_text_add(to, "/fd/"), number_of);
	return true;
}

bool mt_rendezvous_library(char path[MT_RENDEZVOUS_PATH])
{
	return descriptor(path, session.library);
}

/* Whether the recorder runs: one that is stopped or dead is not waited for. */
static bool can_answer(uint32_t pid)
{
	char path[MT_RENDEZVOUS_PATH], text[128];
	int fd;
	long n;

	mt_text_add(mt_text_add_number(mt_text_add(path, "/proc/"), pid), "/stat");
	fd = (int)mt_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	n = mt_sys3(SYS_read, fd, text, sizeof text - 1);
	mt_sys1(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && text[--n] != ')')
		;
	return text[n] == ')' && (text[n + 2] == 'R' || text[n + 2] == 'S' || text[n + 2] == 'D');
}

/* Waits until the socket is ready, look by look. */
static int wait_for(int fd, short events, const struct ucred *recorder, struct mt_patience *p)
{
	for (;;) {
		struct pollfd poll = {.fd = fd, .events = events};
		struct timespec timeout = {0, LOOK_NS};
		long n = mt_sys6(SYS_ppoll, &poll, 1, &timeout, NULL, 0, 0);

		if (n > 0)
			return 0;
		if (n < 0 && n != -EINTR)
			return (int)n;
		if (!mt_patience_take(p, LOOK_NS) || !can_answer((uint32_t)recorder->pid))
			return -ETIMEDOUT;
	}
}

/* To connect takes no answer, but room in the listener's queue. */
static int connect_by(int fd, const struct sockaddr_un *address, size_t len, struct mt_patience *p)
{
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + len;

	for (;;) {
		struct timespec pause = {0, 1000000};
		long error = mt_sys3(SYS_connect, fd, address, size);

		if (error != -EAGAIN && error != -EINTR)
			return (int)error;
		if (!mt_patience_take(p, LOOK_NS))
			return -ETIMEDOUT;
		mt_sys2(SYS_nanosleep, &pause, NULL);
	}
}

/* Inode of the network namespace; 0: it cannot be told. */
static uint64_t network(void)
{
	struct stat status;

	return mt_sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/net", &status, 0) == 0
		? status.st_ino
		: 0;
}

/* The name is known in the recorder's network namespace alone. From others its second socket can be
 * reached by the file: by the descriptor that the recorder holds of it, or by its path. */
static int connect_to(int fd, struct mt_patience *p)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX}, file = {.sun_family = AF_UNIX};
	int error;

	memcpy(name.sun_path + 1, session.value, session.len);
	error = connect_by(fd, &name, 1 + session.len, p);
	session.network = error == 0 ? network() : 0;
	if (error == 0 || error == -ETIMEDOUT)
		return error;
	if (descriptor(file.sun_path, session.socket))
		error = connect_by(fd, &file, strlen(file.sun_path) + 1, p);
	if (error == 0 || error == -ETIMEDOUT || !session.path)
		return error;
	mt_text_add(file.sun_path, session.path);
	return connect_by(fd, &file, strlen(file.sun_path) + 1, p);
}

static bool is_socket(const char *path)
{
	struct stat status;

	return mt_sys4(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISSOCK(status.st_mode)
		&& mt_sys3(SYS_faccessat, AT_FDCWD, path, W_OK) == 0;
}

bool mt_rendezvous_is_reached(void)
{
	char path[MT_RENDEZVOUS_PATH];
	uint64_t now = session.network ? network() : 0;

	/* what cannot be told is taken to be as it was */
	if (!session.len || (session.network && (!now || now == session.network)))
		return true;
	return (descriptor(path, session.socket) && is_socket(path))
		|| (session.path && is_socket(session.path));
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
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control,
	};
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
	session.offer = reply;
	return memory;
}

/* The token is for the recorder alone: whoever listens must be root, this user, or the user whom
 * the parent trusted before it gave up its rights. */
static int check_peer(int fd, struct ucred *peer)
{
	socklen_t len = sizeof *peer;
	long error = mt_sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, peer, &len, 0);

	if (error < 0)
		return (int)error;
	if (len != sizeof *peer
		|| (peer->uid != 0 && peer->uid != (uid_t)mt_sys0(SYS_geteuid)
			&& !(session.trusted && peer->uid == session.uid)))
		return -EPERM;
	session.uid = peer->uid;
	return 0;
}

/* After this the recorder does not count this process among the untraced. False: it has read the
 * request, and does. */
static bool withdraw(int fd)
{
	return mt_sys6(SYS_sendto, fd, "", MT_WIRE_WITHDRAWAL_LEN, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
		       0)
		== MT_WIRE_WITHDRAWAL_LEN;
}

/* An exchange with the recorder. */
struct talk {
	int fd;
	struct ucred recorder;
	struct mt_patience patience;
};

static int begin_talk(struct talk *t)
{
	t->patience = mt_patience(PATIENCE_NS);
	t->fd = (int)mt_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return t->fd < 0 ? t->fd : 0;
}

/* Connects and sends a message, in which the token is filled in. */
static int send_request(struct talk *t, void *message, size_t len, char token[MT_WIRE_TOKEN_LEN])
{
	long n;
	int error;

	memcpy(token, session.value + session.len + 1, MT_WIRE_TOKEN_LEN);
	if ((error = connect_to(t->fd, &t->patience)) < 0
		|| (error = check_peer(t->fd, &t->recorder)) < 0
		|| (error = wait_for(t->fd, POLLOUT, &t->recorder, &t->patience)) < 0)
		return error;
	n = mt_sys6(SYS_sendto, t->fd, message, len, MSG_NOSIGNAL, 0, 0);
	return n == (long)len ? 0 : n < 0 ? (int)n : -EPROTO;
}

static int ask(struct talk *t, uint64_t forked_from, bool *uncounted)
{
	struct mt_wire_request request = {
		.magic = MT_WIRE_MAGIC,
		.version = MT_WIRE_VERSION,
		.pid = (uint32_t)mt_sys0(SYS_getpid),
		.forked_from = forked_from,
	};
	int result = send_request(t, &request, sizeof request, request.token);

	if (result < 0)
		return result;
	result = wait_for(t->fd, POLLIN, &t->recorder, &t->patience);
	if (result == 0)
		result = receive(t->fd);
	session.trusted = result >= 0;
	if (result < 0)
		*uncounted = *uncounted && withdraw(t->fd);
	return result;
}

int mt_rendezvous(uint64_t forked_from, bool *uncounted)
{
	struct talk talk;
	int result;

	if (!session.len && !mt_installed.settings())
		return forked_from ? -ENOENT : -EAGAIN;
	if (!session.len && (result = read_session()) < 0)
		return result;
	session.offer = (struct mt_wire_reply){0};
	result = begin_talk(&talk);
	if (result < 0)
		return result;
	result = ask(&talk, forked_from, uncounted);
	mt_sys1(SYS_close, talk.fd);
	return result;
}

struct mt_wire_reply mt_rendezvous_offer(void)
{
	return session.offer;
}

bool mt_rendezvous_patches(struct mt_wire_patches *request, struct mt_wire_reply *reply)
{
	struct talk talk;
	bool answered = false;

	request->magic = MT_WIRE_PATCHES_MAGIC;
	request->version = MT_WIRE_VERSION;
	if (!session.len || begin_talk(&talk) < 0)
		return false;
	if (send_request(&talk, request, sizeof *request, request->token) == 0
		&& wait_for(talk.fd, POLLIN, &talk.recorder, &talk.patience) == 0)
		answered = mt_sys6(SYS_recvfrom, talk.fd, reply, sizeof *reply, MSG_DONTWAIT, 0, 0)
				== sizeof *reply
			&& reply->magic == MT_WIRE_MAGIC && reply->version == MT_WIRE_VERSION;
	mt_sys1(SYS_close, talk.fd);
	return answered;
}
