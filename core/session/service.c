/* The recorder's second thread: hands out segments, serves watchers, drains the program's terminal. */
#include "core/session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define PEERS_MAX 64
#define INPUT_MAX 65536
#define OFFER_PATIENCE_MS 40
#define HUNG_MS 50 /* between two looks at a terminal that nobody has open */

struct peer {
	int fd;
	bool client;
	uint32_t interval_ms;
	struct ucred who;
};

struct service {
	struct mt_recorder *recorder;
	struct peer peers[PEERS_MAX];
	unsigned peer_count;
	bool hung; /* no process has the terminal open */
	char input[INPUT_MAX];
	size_t input_len;
};

int mt_service_listen(struct mt_recorder *r, struct mt_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	/* One length for every pid: some programs copy their environment into the heap. */
	int len = snprintf(r->name, sizeof r->name - 1, "memtui-%u-%07d", (unsigned)getuid(), (int)getpid());

	memcpy(address.sun_path + 1, r->name, (size_t)len);
	r->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->listen_fd < 0 || r->notify_fd < 0 || bind(r->listen_fd, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) < 0 || listen(r->listen_fd, 64) < 0)
		return mt_fail(err, -errno, "cannot create the session's socket @%s: %s", r->name, strerror(errno));
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------------- */

static void send_with(int to, const void *bytes, size_t len, const int *fds, unsigned fd_count)
{
	struct iovec part = {(void *)bytes, len};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd_count) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool tokens_equal(const char *a, const char *b)
{
	unsigned char difference = 0;

	for (int i = 0; i < MT_WIRE_TOKEN_LEN; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return difference == 0;
}

static void read_link(pid_t pid, const char *name, char *to, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%d/%s", (int)pid, name);
	n = readlink(link, to, size - 1);
	to[n > 0 ? n : 0] = '\0';
}

static void read_arguments(pid_t pid, struct mt_buffer *text)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (mt_buffer_reserve(text, 65536), (n = read(fd, text->data + text->len, 65536)) > 0)
		text->len += (size_t)n;
	close(fd);
	if (text->len && text->data[text->len - 1])
		mt_buffer_add(text, "", 1);
}

/* The draining thread takes one offer at a time; a program that execs at once again waits a little. */
static bool may_offer(struct mt_recorder *r)
{
	for (int i = 0; i < OFFER_PATIENCE_MS && atomic_load(&r->offered); i++)
		poll(NULL, 0, 1);
	return !atomic_load(&r->offered) && !atomic_load(&r->stopping);
}

/* While it waits for the answer the image cannot go away: now is the time to look at it. */
static struct mt_offer *new_offer(struct mt_recorder *r, int *status)
{
	struct mt_offer *o = mt_alloc(sizeof *o);

	*status = mt_recorder_new_segment(r, &o->segment, NULL);
	if (*status < 0) {
		free(o);
		return NULL;
	}
	read_link(r->program, "exe", o->program_path, sizeof o->program_path);
	read_link(r->program, "cwd", o->directory, sizeof o->directory);
	read_arguments(r->program, &o->arguments);
	return o;
}

/* A tracer wants a segment: only the program itself gets one, each of its images another. */
static void on_request(struct mt_recorder *r, struct peer *p, const struct mt_wire_request *q)
{
	struct mt_wire_reply reply = {MT_WIRE_MAGIC, MT_WIRE_VERSION, -EPERM};
	struct mt_offer *offer = NULL;
	int status = -EPERM;

	if (q->version != MT_WIRE_VERSION || !tokens_equal(q->token, r->token))
		return;
	if (p->who.pid == r->program && (!r->active || strcmp(r->trace_path, "-")) && may_offer(r))
		offer = new_offer(r, &status);
	reply.status = status;
	if (!offer) {
		atomic_fetch_add(&r->refused, 1);
		send_with(p->fd, &reply, sizeof reply, NULL, 0);
		return;
	}
	reply.status = 0;
	int fd = offer->segment.fd;

	atomic_store(&r->offered, offer);
	send_with(p->fd, &reply, sizeof reply, &fd, 1);
	mt_recorder_wake(r);
}

static void fill_entry(const struct mt_recorder *r, struct mt_session_entry *e)
{
	size_t at = 0;

	memcpy(e->name, r->name, sizeof e->name);
	e->recorder = getpid();
	e->program = r->program;
	e->start_unix_ns = r->start_unix_ns;
	snprintf(e->trace_path, sizeof e->trace_path, "%s", r->trace_path);
	for (char *const *arg = r->options->argv; *arg && at < sizeof e->command - 1; arg++) {
		int n = snprintf(e->command + at, sizeof e->command - at, "%s%s", at ? " " : "", *arg);

		at += n > 0 ? (size_t)n : 0;
	}
}

static void welcome(struct mt_recorder *r, struct peer *p, bool list)
{
	struct mt_welcome w = {.magic = MT_MESSAGE_MAGIC, .has_terminal = r->master_fd >= 0};
	int fds[2] = {mt_snapshot_fd(r->snapshot), r->master_fd};

	fill_entry(r, &w.entry);
	send_with(p->fd, &w, sizeof w, fds, list ? 0 : r->master_fd >= 0 ? 2 : 1);
}

static void count_watchers(struct service *s)
{
	uint32_t least = UINT32_MAX, count = 0;

	for (unsigned i = 0; i < s->peer_count; i++)
		if (s->peers[i].client) {
			count++;
			if (s->peers[i].interval_ms && s->peers[i].interval_ms < least)
				least = s->peers[i].interval_ms;
		}
	atomic_store(&s->recorder->interval_ms, least == UINT32_MAX ? 0 : least);
	atomic_store(&s->recorder->watchers, count);
}

static void on_input(struct service *s, const struct mt_message *m)
{
	size_t n = m->len < INPUT_MAX - s->input_len ? m->len : INPUT_MAX - s->input_len;

	memcpy(s->input + s->input_len, m->bytes, n);
	s->input_len += n;
}

static void on_command(struct service *s, struct peer *p, const struct mt_message *m)
{
	struct mt_recorder *r = s->recorder;
	struct winsize size = {.ws_row = (unsigned short)m->a, .ws_col = (unsigned short)m->b};

	switch (m->type) {
	case MT_MESSAGE_HELLO:
		p->client = true;
		p->interval_ms = 250;
		welcome(r, p, false);
		count_watchers(s);
		atomic_store(&r->new_watchers, 1);
		mt_recorder_wake(r);
		break;
	case MT_MESSAGE_LIST:
		welcome(r, p, true);
		break;
	case MT_MESSAGE_INTERVAL:
		p->interval_ms = m->a;
		count_watchers(s);
		break;
	case MT_MESSAGE_INPUT:
		on_input(s, m);
		break;
	case MT_MESSAGE_RESIZE:
		if (r->master_fd >= 0)
			ioctl(r->master_fd, TIOCSWINSZ, &size);
		break;
	case MT_MESSAGE_SIGNAL:
		if (r->program_fd >= 0)
			syscall(SYS_pidfd_send_signal, r->program_fd, (int)m->a, NULL, 0);
		break;
	case MT_MESSAGE_PAUSE:
		atomic_store(&r->paused, m->a != 0);
		pthread_mutex_lock(&r->lock);
		if (r->active)
			__atomic_store_n(&r->active->header->recording, m->a == 0, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&r->lock);
		break;
	}
}

/* ---- peers ----------------------------------------------------------------------------------------- */

static void drop(struct service *s, unsigned index)
{
	close(s->peers[index].fd);
	s->peers[index] = s->peers[--s->peer_count];
	count_watchers(s);
}

static void on_connection(struct service *s)
{
	int fd = accept4(s->recorder->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct peer p = {.fd = fd};
	socklen_t len = sizeof p.who;

	if (fd < 0)
		return;
	if (s->peer_count == PEERS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &p.who, &len) < 0
		|| (p.who.uid != getuid() && p.who.uid != 0)) {
		close(fd);
		return;
	}
	s->peers[s->peer_count++] = p;
}

/* False when the peer is to be dropped. */
static bool on_peer(struct service *s, struct peer *p)
{
	union {
		struct mt_wire_request request;
		struct mt_message command;
	} m;
	ssize_t n = recv(p->fd, &m, sizeof m, MSG_DONTWAIT);
	size_t head = offsetof(struct mt_message, bytes);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == sizeof m.request && m.request.magic == MT_WIRE_MAGIC) {
		on_request(s->recorder, p, &m.request);
		return false;
	}
	if ((size_t)n < head || m.command.magic != MT_MESSAGE_MAGIC || m.command.len > (size_t)n - head)
		return false;
	if (!p->client && m.command.type != MT_MESSAGE_HELLO && m.command.type != MT_MESSAGE_LIST)
		return false;
	on_command(s, p, &m.command);
	return true;
}

static void tell_watchers(struct service *s)
{
	for (unsigned i = 0; i < s->peer_count; i++)
		if (s->peers[i].client)
			send_with(s->peers[i].fd, "", 1, NULL, 0); /* a full queue has told it already */
}

/* ---- terminal -------------------------------------------------------------------------------------- */

static void read_terminal(struct service *s)
{
	struct mt_recorder *r = s->recorder;
	char bytes[16384];
	bool told = false;
	ssize_t n;

	for (int i = 0; i < 64; i++) {
		n = read(r->master_fd, bytes, sizeof bytes);
		if (n <= 0)
			break;
		mt_snapshot_terminal(r->snapshot, bytes, (size_t)n);
		told = true;
	}
	s->hung = n < 0 && errno == EIO;
	if (told)
		tell_watchers(s);
}

static void write_terminal(struct service *s)
{
	ssize_t n = write(s->recorder->master_fd, s->input, s->input_len);

	if (n > 0) {
		s->input_len -= (size_t)n;
		memmove(s->input, s->input + n, s->input_len);
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		s->input_len = 0;
	}
}

/* ---- the loop -------------------------------------------------------------------------------------- */

enum { LISTEN, PROGRAM, NOTIFY, TERMINAL, PEERS };

static unsigned collect(struct service *s, struct pollfd *fds)
{
	struct mt_recorder *r = s->recorder;

	fds[LISTEN] = (struct pollfd){r->listen_fd, POLLIN, 0};
	fds[PROGRAM] = (struct pollfd){atomic_load(&r->ended) ? -1 : r->program_fd, POLLIN, 0};
	fds[NOTIFY] = (struct pollfd){r->notify_fd, POLLIN, 0};
	fds[TERMINAL] = (struct pollfd){s->hung ? -1 : r->master_fd, (short)(POLLIN | (s->input_len ? POLLOUT : 0)), 0};
	for (unsigned i = 0; i < s->peer_count; i++)
		fds[PEERS + i] = (struct pollfd){s->peers[i].fd, POLLIN, 0};
	return PEERS + s->peer_count;
}

static void serve(struct service *s, const struct pollfd *fds, unsigned count)
{
	struct mt_recorder *r = s->recorder;
	uint64_t value;

	for (unsigned i = count; i-- > PEERS;)
		if (fds[i].revents && !on_peer(s, &s->peers[i - PEERS]))
			drop(s, i - PEERS);
	if (fds[LISTEN].revents)
		on_connection(s);
	if (fds[NOTIFY].revents && read(r->notify_fd, &value, sizeof value) > 0)
		tell_watchers(s);
	if (fds[TERMINAL].revents & (POLLIN | POLLHUP | POLLERR) || (s->hung && r->master_fd >= 0))
		read_terminal(s);
	if (fds[TERMINAL].revents & POLLOUT)
		write_terminal(s);
	if (fds[PROGRAM].revents) {
		if (r->master_fd >= 0)
			read_terminal(s);
		atomic_store(&r->ended, true);
		mt_recorder_wake(r);
	}
}

void *mt_service_run(void *recorder)
{
	struct service *s = mt_alloc(sizeof *s);
	struct pollfd fds[PEERS + PEERS_MAX];

	s->recorder = recorder;
	if (s->recorder->master_fd >= 0)
		fcntl(s->recorder->master_fd, F_SETFL, O_RDWR | O_NONBLOCK);
	for (;;) {
		unsigned count = collect(s, fds);

		if (poll(fds, count, s->hung ? HUNG_MS : -1) < 0 && errno != EINTR)
			break;
		serve(s, fds, count);
	}
	free(s);
	return NULL;
}
