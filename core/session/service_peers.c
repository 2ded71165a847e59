/* Who speaks to the recorder: tracers that ask for a segment, watchers, the front. */
#include "core/base/text.h"
#include "core/session/service_parts.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define STRANGERS_MAX 16 /* connections of other users that have shown no token */

/* One length for every pid: some programs copy their environment into the heap. */
static int bind_name(struct mt_recorder *r, unsigned number, bool hexadecimal)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(r->name, sizeof r->name - 1,
		hexadecimal ? "memtui-%u-%07x" : "memtui-%u-%07u", (unsigned)getuid(), number);

	memcpy(address.sun_path + 1, r->name, (size_t)len);
	return bind(r->listen_fd, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
}

int mt_service_listen(struct mt_recorder *r, struct mt_err *err)
{
	sigset_t children;
	int error;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	r->child_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	r->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = r->listen_fd < 0 || r->notify_fd < 0 || r->child_fd < 0
		? -1
		: bind_name(r, (unsigned)getpid(), false);
	for (int tries = 0; error < 0 && errno == EADDRINUSE && tries < 16; tries++) {
		unsigned number; /* somebody sits on ours */

		error = getrandom(&number, sizeof number, 0) == sizeof number
			? bind_name(r, number >> 4, true)
			: -1;
	}
	if (error < 0 || listen(r->listen_fd, 4096) < 0)
		return mt_fail(err, -errno, "cannot create the session's socket @%s: %s", r->name,
			strerror(errno));
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

bool mt_service_send(int to, const void *bytes, size_t len, const int *fds, unsigned fd_count)
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
	return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

static bool tokens_equal(const char *a, const char *b)
{
	unsigned char difference = 0;

	for (int i = 0; i < MT_WIRE_TOKEN_LEN; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return difference == 0;
}

void mt_service_fill_entry(struct mt_recorder *r, struct mt_session_entry *e)
{
	struct mt_buffer command = {0};

	memcpy(e->name, r->name, sizeof e->name);
	e->recorder = getpid();
	e->program = r->program;
	e->start_unix_ns = r->start_unix_ns;
	snprintf(e->trace_path, sizeof e->trace_path, "%s", r->trace_path);
	e->attached = mt_recorder_is_attached(r);
	if (e->attached) {
		pthread_mutex_lock(&r->lock);
		mt_text_add(&command, MT_TEXT_LINE, r->root->command);
		pthread_mutex_unlock(&r->lock);
	}
	for (char *const *arg = r->options->argv; arg && *arg; arg++) {
		mt_buffer_add(&command, " ", arg != r->options->argv);
		mt_text_add(&command, MT_TEXT_LINE, *arg);
	}
	snprintf(e->command, sizeof e->command, "%.*s", (int)command.len, (char *)command.data);
	mt_buffer_free(&command);
}

/* How many processes but this one are being recorded. */
static void count_others(const struct mt_recorder *r, struct mt_process *p)
{
	struct mt_snapshot *snapshot = atomic_load(&p->snapshot);

	if (snapshot)
		mt_snapshot_others(snapshot, r->live_count - (p->alive && r->live_count));
}

/* The snapshot of a process that is watched; NULL: there is none to be had. */
static struct mt_snapshot *snapshot_of(struct mt_service *s, struct mt_process *p)
{
	struct mt_snapshot *snapshot = atomic_load(&p->snapshot);
	struct mt_err err;

	if (!snapshot && (snapshot = mt_snapshot_new(&err))) {
		MT_GROW(s->shown, s->shown_count, s->shown_capacity);
		s->shown[s->shown_count++] = p;
		atomic_store(&p->snapshot, snapshot);
		count_others(s->recorder, p);
	}
	return snapshot;
}

/* Of processes that are gone, and that nobody watches any more. */
void mt_service_free_snapshots(struct mt_service *s)
{
	for (uint32_t i = s->shown_count; i-- > 0;) {
		struct mt_process *p = s->shown[i];

		if (!atomic_load(&p->done) || atomic_load(&p->watchers))
			continue;
		mt_snapshot_free(atomic_exchange(&p->snapshot, NULL));
		s->shown[i] = s->shown[--s->shown_count];
	}
}

void mt_service_count_others(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;

	if (s->counted == r->live_changes)
		return;
	s->counted = r->live_changes;
	count_others(r, r->root);
	for (uint32_t i = 0; i < s->shown_count; i++)
		count_others(r, s->shown[i]);
	mt_service_tell_watchers(s);
}

static bool welcome(struct mt_recorder *r, struct mt_peer *p, struct mt_process *process,
	int status)
{
	struct mt_welcome w = {.magic = MT_MESSAGE_MAGIC, .status = status};
	int fds[2] = {-1, r->master_fd}, count = 0;

	mt_service_fill_entry(r, &w.entry);
	if (process) {
		w.has_terminal = process == r->root && r->master_fd >= 0;
		fds[0] = mt_snapshot_fd(atomic_load(&process->snapshot));
		count = w.has_terminal ? 2 : 1;
		if (process != r->root) {
			w.entry.program = process->pid;
			pthread_mutex_lock(&r->lock);
			snprintf(w.entry.command, sizeof w.entry.command, "%s", process->command);
			pthread_mutex_unlock(&r->lock);
		}
	}
	return mt_service_send(p->fd, &w, sizeof w, fds, (unsigned)count);
}

static void count_watchers(struct mt_service *s, struct mt_process *process)
{
	uint32_t least = UINT32_MAX, count = 0;

	if (!process)
		return;
	for (unsigned i = 0; i < s->peer_count; i++)
		if (s->peers[i].watched == process) {
			count++;
			if (s->peers[i].interval_ms && s->peers[i].interval_ms < least)
				least = s->peers[i].interval_ms;
		}
	atomic_store(&process->interval_ms, least == UINT32_MAX ? 0 : least);
	atomic_store(&process->watchers, count);
}

static void on_hello(struct mt_service *s, struct mt_peer *p, pid_t pid)
{
	struct mt_recorder *r = s->recorder;
	struct mt_process *process = pid && pid != r->program ? mt_offer_find(r, pid) : r->root;

	struct mt_process *before = p->watched;

	if (!process || !snapshot_of(s, process)) {
		welcome(r, p, NULL, process ? -ENOMEM : -ESRCH);
		return;
	}
	s->greeted = true;
	p->watched = process;
	p->interval_ms = 250;
	welcome(r, p, process, 0);
	count_watchers(s, process);
	if (before != process)
		count_watchers(s, before);
	atomic_store(&process->fresh, true);
	mt_recorder_wake(r);
}

static void describe(struct mt_recorder *r, struct mt_process *process,
	struct mt_session_process *line)
{
	*line = (struct mt_session_process){.wait_status = MT_STATUS_UNKNOWN};
	pthread_mutex_lock(&r->lock);
	if (process->shown)
		*line = *process->shown;
	line->wait_status = process->wait_status;
	snprintf(line->command, sizeof line->command, "%.127s", process->command);
	line->untraced += (uint32_t)(process->untold > 0 ? process->untold : 0);
	pthread_mutex_unlock(&r->lock);
	line->pid = process->pid;
	line->parent = process->parent;
	line->recorded = process->segments > 0;
	line->forked = process->forked && process->segments == 1;
	/* until its trace holds all and has its name */
	line->alive = process->alive || !atomic_load(&process->done);
}

/* As far as there is room: the rest when it has read. */
void mt_service_list_processes(struct mt_recorder *r, struct mt_peer *p)
{
	for (; p->listed < r->process_count; p->listed++) {
		struct mt_process *at = r->processes[p->listed];
		struct mt_session_process line;

		if (!at->alive && at != r->root && !p->listing_all)
			continue;
		describe(r, at, &line);
		if (!mt_service_send(p->fd, &line, sizeof line, NULL, 0))
			return;
	}
	for (; p->listing_all && p->silent.sent < p->silent.count; p->silent.sent++) {
		struct mt_session_process line;

		if (mt_service_describe_silent(r, &p->silent, p->silent.sent, &line)
			&& !mt_service_send(p->fd, &line, sizeof line, NULL, 0))
			return;
	}
	p->listing = !welcome(r, p, NULL, 0);
}

static void on_input(struct mt_service *s, const struct mt_message *m)
{
	size_t n = m->len < INPUT_MAX - s->input_len ? m->len : INPUT_MAX - s->input_len;

	memcpy(s->input + s->input_len, m->bytes, n);
	s->input_len += n;
}

static void on_judged(struct mt_recorder *r, pid_t pid)
{
	pthread_mutex_lock(&r->lock);
	for (uint32_t i = 0; i < r->live_count; i++)
		if (r->live[i]->pid == pid && r->live[i]->header)
			mt_recorder_let_end(r->live[i]->header);
	pthread_mutex_unlock(&r->lock);
}

static void on_command(struct mt_service *s, struct mt_peer *p, const struct mt_message *m)
{
	struct mt_recorder *r = s->recorder;
	struct winsize size = {.ws_row = (unsigned short)m->a, .ws_col = (unsigned short)m->b};

	switch (m->type) {
	case MT_MESSAGE_HELLO: on_hello(s, p, (pid_t)m->a); break;
	case MT_MESSAGE_LIST: welcome(r, p, NULL, 0); break;
	case MT_MESSAGE_PROCESSES:
		p->listing = true;
		p->listing_all = m->a != 0;
		p->listed = 0;
		if (p->listing_all)
			mt_service_look_for_silent(r, &p->silent);
		mt_service_list_processes(r, p);
		break;
	case MT_MESSAGE_INTERVAL:
		p->interval_ms = m->a;
		count_watchers(s, p->watched);
		break;
	case MT_MESSAGE_INPUT: on_input(s, m); break;
	case MT_MESSAGE_RESIZE:
		if (r->master_fd >= 0)
			ioctl(r->master_fd, TIOCSWINSZ, &size);
		break;
	case MT_MESSAGE_SIGNAL:
		if (p->watched->pidfd >= 0)
			syscall(SYS_pidfd_send_signal, p->watched->pidfd, (int)m->a, NULL, 0);
		break;
	case MT_MESSAGE_LIVE: mt_service_ask_live(s, p, (pid_t)m->a); break;
	case MT_MESSAGE_JUDGED: on_judged(r, (pid_t)m->a); break;
	}
}

/* ---- peers ----------------------------------------------------------------------------------- */

void mt_service_drop(struct mt_service *s, unsigned index)
{
	struct mt_process *watched = s->peers[index].watched;

	close(s->peers[index].fd);
	free(s->peers[index].silent.items);
	mt_buffer_free(&s->peers[index].verdicts);
	s->peer_count--; /* in order of their coming */
	memmove(&s->peers[index], &s->peers[index + 1], (s->peer_count - index) * sizeof *s->peers);
	count_watchers(s, watched);
}

static bool is_ours(const struct mt_peer *p)
{
	return p->who.uid == getuid() || p->who.uid == 0;
}

/* A traced process may have become another user, but then it sends its token at once. */
static void drop_stranger(struct mt_service *s)
{
	unsigned count = 0, oldest = s->peer_count;

	for (unsigned i = s->peer_count; i-- > 0;)
		if (!is_ours(&s->peers[i])) {
			count++;
			oldest = i;
		}
	if (count > STRANGERS_MAX)
		mt_service_drop(s, oldest);
}

/* Who connects and is no watcher is a process that wants to be traced, and goes on without. */
static void count_unheard(struct mt_service *s, const struct mt_peer *p)
{
	if (!p->watched && errno != ECONNRESET)
		mt_untraced_add(s->recorder, s->recorder->root, p->who.pid);
}

/* False when the peer is to be dropped. */
bool mt_service_on_peer(struct mt_service *s, struct mt_peer *p)
{
	union {
		struct mt_wire_request request;
		struct mt_wire_patches patches;
		struct mt_message command;
	} m;
	ssize_t n = recv(p->fd, &m, sizeof m, MSG_DONTWAIT);
	size_t head = offsetof(struct mt_message, bytes);

	if (n < 0 && errno == ECONNRESET)
		/* it left without reading all; what it sent is there */
		n = recv(p->fd, &m, sizeof m, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOMEM || errno == ENOBUFS))
		return true; /* poll tells of it again */
	if (n < 0) {
		count_unheard(s, p);
		return false;
	}
	if (n == sizeof m.request && m.request.magic == MT_WIRE_MAGIC) {
		if (m.request.version == MT_WIRE_VERSION
			&& tokens_equal(m.request.token, s->recorder->token))
			mt_offer_answer(s->recorder, p->fd, p->who.pid, &m.request);
		return false;
	}
	if (n == sizeof m.patches && m.patches.magic == MT_WIRE_PATCHES_MAGIC) {
		if (m.patches.version == MT_WIRE_VERSION
			&& tokens_equal(m.patches.token, s->recorder->token))
			mt_offer_patch(s->recorder, p->fd, p->who.pid, &m.patches);
		return false;
	}
	if (!is_ours(p) || (size_t)n < head || m.command.magic != MT_MESSAGE_MAGIC
		|| m.command.len > (size_t)n - head)
		return false;
	if (mt_service_on_request(s, p, &m.command))
		return true;
	if (!p->watched && m.command.type != MT_MESSAGE_HELLO && m.command.type != MT_MESSAGE_LIST
		&& m.command.type != MT_MESSAGE_PROCESSES && m.command.type != MT_MESSAGE_LIVE
		&& m.command.type != MT_MESSAGE_JUDGED)
		return false;
	on_command(s, p, &m.command);
	return true;
}

/* All that wait; a request that is there already is answered at once. */
void mt_service_on_connections(struct mt_service *s, int listen_fd)
{
	while (s->peer_count < PEERS_MAX) {
		struct mt_peer p = {
			.fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)};
		socklen_t len = sizeof p.who;

		if (p.fd < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
				/* poll tells of it again at once, and it fails again */
				s->accept_at = mt_clock_monotonic_ns() + PAUSE_MS * 1000000ull;
			return;
		}
		if (getsockopt(p.fd, SOL_SOCKET, SO_PEERCRED, &p.who, &len) < 0) {
			count_unheard(s, &p);
			close(p.fd);
			continue;
		}
		p.number = mt_unique();
		s->peers[s->peer_count++] = p;
		if (!mt_service_on_peer(s, &s->peers[s->peer_count - 1]))
			mt_service_drop(s, s->peer_count - 1);
		else
			drop_stranger(s);
	}
}

void mt_service_tell_watchers(struct mt_service *s)
{
	for (unsigned i = 0; i < s->peer_count; i++)
		if (s->peers[i].watched)
			/* a full queue has told it already */
			mt_service_send(s->peers[i].fd, "", 1, NULL, 0);
}
