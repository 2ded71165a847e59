/* The recorder's second thread: hears tracers and watchers, sees processes end, drains the program's terminal. */
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
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEERS_MAX 1024
#define STRANGERS_MAX 16 /* connections of other users that have shown no token */
#define INPUT_MAX 65536
#define HUNG_MS 50      /* between two looks at a terminal that nobody has open */
#define TURN_MS 1000    /* between two looks for what tells of itself by no descriptor */
#define UNKNOWN_MS 20   /* the same while descendants live of which nothing is known */
#define UNKNOWN_PATIENCE_NS 500000000ull

struct peer {
	int fd;
	struct mt_process *watched; /* NULL: no watcher */
	uint32_t interval_ms;
	bool listing;               /* it has asked for the processes, and was sent those up to */
	uint32_t listed;
	struct ucred who;
};

struct service {
	struct mt_recorder *recorder;
	struct peer peers[PEERS_MAX];
	unsigned peer_count;
	int child_fd;  /* signalfd for SIGCHLD */
	bool hung;     /* no process has the terminal open */
	bool unsent;   /* the front did not take all reports */
	bool told;     /* that the recording goes on */
	uint64_t turned_at;
	uint64_t alone_since; /* since when no known process lives, but others do; 0: not so */
	struct mt_process **shown;  /* with a snapshot, the root not among them */
	uint32_t shown_count, shown_capacity;
	char input[INPUT_MAX];
	size_t input_len;
};

/* One length for every pid: some programs copy their environment into the heap. */
static int bind_name(struct mt_recorder *r, unsigned number, bool hexadecimal)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(r->name, sizeof r->name - 1, hexadecimal ? "memtui-%u-%07x" : "memtui-%u-%07u", (unsigned)getuid(),
		number);

	memcpy(address.sun_path + 1, r->name, (size_t)len);
	return bind(r->listen_fd, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
}

int mt_service_listen(struct mt_recorder *r, struct mt_err *err)
{
	int error;

	r->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = r->listen_fd < 0 || r->notify_fd < 0 ? -1 : bind_name(r, (unsigned)getpid(), false);
	for (int tries = 0; error < 0 && errno == EADDRINUSE && tries < 16; tries++) {
		unsigned number; /* somebody sits on ours */

		error = getrandom(&number, sizeof number, 0) == sizeof number ? bind_name(r, number >> 4, true) : -1;
	}
	if (error < 0 || listen(r->listen_fd, 4096) < 0)
		return mt_fail(err, -errno, "cannot create the session's socket @%s: %s", r->name, strerror(errno));
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------------- */

/* False when it has no room for it now. */
static bool send_with(int to, const void *bytes, size_t len, const int *fds, unsigned fd_count)
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

/* The snapshot of a process that is watched; NULL: there is none to be had. */
static struct mt_snapshot *snapshot_of(struct service *s, struct mt_process *p)
{
	struct mt_snapshot *snapshot = atomic_load(&p->snapshot);
	struct mt_err err;

	if (!snapshot && (snapshot = mt_snapshot_new(&err))) {
		MT_GROW(s->shown, s->shown_count, s->shown_capacity);
		s->shown[s->shown_count++] = p;
		atomic_store(&p->snapshot, snapshot);
	}
	return snapshot;
}

/* Of processes that are gone, and that nobody watches any more. */
static void free_snapshots(struct service *s)
{
	for (uint32_t i = s->shown_count; i-- > 0;) {
		struct mt_process *p = s->shown[i];

		if (!atomic_load(&p->done) || atomic_load(&p->watchers))
			continue;
		mt_snapshot_free(atomic_exchange(&p->snapshot, NULL));
		s->shown[i] = s->shown[--s->shown_count];
	}
}

static bool welcome(struct mt_recorder *r, struct peer *p, struct mt_process *process, int status)
{
	struct mt_welcome w = {.magic = MT_MESSAGE_MAGIC, .status = status};
	int fds[2] = {-1, r->master_fd}, count = 0;

	fill_entry(r, &w.entry);
	if (process) {
		w.has_terminal = process == r->root && r->master_fd >= 0;
		fds[0] = mt_snapshot_fd(atomic_load(&process->snapshot));
		count = w.has_terminal ? 2 : 1;
		if (process != r->root) {
			w.entry.program = process->pid;
			snprintf(w.entry.command, sizeof w.entry.command, "%s", process->command);
		}
	}
	return send_with(p->fd, &w, sizeof w, fds, (unsigned)count);
}

static void count_watchers(struct service *s, struct mt_process *process)
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

static struct mt_process *find_live(struct mt_recorder *r, pid_t pid)
{
	for (uint32_t i = 0; i < r->live_count; i++)
		if (r->live[i]->pid == pid)
			return r->live[i];
	return NULL;
}

static void on_hello(struct service *s, struct peer *p, pid_t pid)
{
	struct mt_recorder *r = s->recorder;
	struct mt_process *process = pid && pid != r->program ? find_live(r, pid) : r->root;

	struct mt_process *before = p->watched;

	if (!process || !snapshot_of(s, process)) {
		welcome(r, p, NULL, process ? -ENOMEM : -ESRCH);
		return;
	}
	p->watched = process;
	p->interval_ms = 250;
	welcome(r, p, process, 0);
	count_watchers(s, process);
	if (before != process)
		count_watchers(s, before);
	atomic_store(&process->fresh, true);
	mt_recorder_wake(r);
}

/* As far as there is room: the rest when it has read. */
static void list_processes(struct mt_recorder *r, struct peer *p)
{
	for (; p->listed < r->process_count; p->listed++) {
		const struct mt_process *at = r->processes[p->listed];
		struct mt_session_process line = {.pid = at->pid, .parent = at->parent, .wait_status = at->wait_status,
			.recorded = at->segments > 0, .forked = at->forked && at->segments == 1, .alive = at->alive};

		if (!at->alive && at != r->root)
			continue;
		snprintf(line.command, sizeof line.command, "%.127s", at->command);
		if (!send_with(p->fd, &line, sizeof line, NULL, 0))
			return;
	}
	p->listing = !welcome(r, p, NULL, 0);
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
		on_hello(s, p, (pid_t)m->a);
		break;
	case MT_MESSAGE_LIST:
		welcome(r, p, NULL, 0);
		break;
	case MT_MESSAGE_PROCESSES:
		p->listing = true;
		p->listed = 0;
		list_processes(r, p);
		break;
	case MT_MESSAGE_INTERVAL:
		p->interval_ms = m->a;
		count_watchers(s, p->watched);
		break;
	case MT_MESSAGE_INPUT:
		on_input(s, m);
		break;
	case MT_MESSAGE_RESIZE:
		if (r->master_fd >= 0)
			ioctl(r->master_fd, TIOCSWINSZ, &size);
		break;
	case MT_MESSAGE_SIGNAL:
		if (p->watched->pidfd >= 0)
			syscall(SYS_pidfd_send_signal, p->watched->pidfd, (int)m->a, NULL, 0);
		break;
	case MT_MESSAGE_PAUSE:
		atomic_fetch_add(&r->pauses, m->a != 0);
		atomic_store(&r->paused, m->a != 0);
		pthread_mutex_lock(&r->lock);
		for (uint32_t i = 0; i < r->live_count; i++)
			if (r->live[i]->header)
				__atomic_store_n(&r->live[i]->header->recording, m->a == 0, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&r->lock);
		break;
	}
}

/* ---- peers ----------------------------------------------------------------------------------------- */

static void drop(struct service *s, unsigned index)
{
	struct mt_process *watched = s->peers[index].watched;

	close(s->peers[index].fd);
	s->peer_count--; /* in order of their coming */
	memmove(&s->peers[index], &s->peers[index + 1], (s->peer_count - index) * sizeof *s->peers);
	count_watchers(s, watched);
}

static bool is_ours(const struct peer *p)
{
	return p->who.uid == getuid() || p->who.uid == 0;
}

/* A traced process may have become another user, but then it sends its token at once. */
static void drop_stranger(struct service *s)
{
	unsigned count = 0, oldest = s->peer_count;

	for (unsigned i = s->peer_count; i-- > 0;)
		if (!is_ours(&s->peers[i])) {
			count++;
			oldest = i;
		}
	if (count > STRANGERS_MAX)
		drop(s, oldest);
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

	if (n < 0 && errno == ECONNRESET)
		n = recv(p->fd, &m, sizeof m, MSG_DONTWAIT); /* it left without reading all; what it sent is there */
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == sizeof m.request && m.request.magic == MT_WIRE_MAGIC) {
		if (m.request.version == MT_WIRE_VERSION && tokens_equal(m.request.token, s->recorder->token))
			mt_offer_answer(s->recorder, p->fd, p->who.pid, &m.request);
		return false;
	}
	if (!is_ours(p) || (size_t)n < head || m.command.magic != MT_MESSAGE_MAGIC || m.command.len > (size_t)n - head)
		return false;
	if (!p->watched && m.command.type != MT_MESSAGE_HELLO && m.command.type != MT_MESSAGE_LIST
		&& m.command.type != MT_MESSAGE_PROCESSES)
		return false;
	on_command(s, p, &m.command);
	return true;
}

/* All that wait; a request that is there already is answered at once. */
static void on_connections(struct service *s)
{
	while (s->peer_count < PEERS_MAX) {
		struct peer p = {.fd = accept4(s->recorder->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)};
		socklen_t len = sizeof p.who;

		if (p.fd < 0)
			return;
		if (getsockopt(p.fd, SOL_SOCKET, SO_PEERCRED, &p.who, &len) < 0) {
			close(p.fd);
			continue;
		}
		s->peers[s->peer_count++] = p;
		if (!on_peer(s, &s->peers[s->peer_count - 1]))
			drop(s, s->peer_count - 1);
		else
			drop_stranger(s);
	}
}

static void tell_watchers(struct service *s)
{
	for (unsigned i = 0; i < s->peer_count; i++)
		if (s->peers[i].watched)
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
		mt_snapshot_terminal(atomic_load(&r->root->snapshot), bytes, (size_t)n);
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

/* ---- ends ------------------------------------------------------------------------------------------ */

/* The status of the root goes to the front before it is reaped: nothing is lost if we are killed between. */
static void on_end(struct service *s, struct mt_process *p, int wait_status)
{
	struct mt_recorder *r = s->recorder;

	if (p == r->root) {
		if (r->master_fd >= 0)
			read_terminal(s);
		mt_recorder_report(r, &(struct mt_report){.type = MT_REPORT_EXITED, .wait_status = wait_status});
		atomic_store(&r->root_ended, true);
	}
	mt_offer_end(r, p, wait_status);
}

/* Our children: the root, and those who lost their parents. */
static void reap(struct service *s)
{
	for (;;) {
		struct mt_process *p;
		siginfo_t info = {0};
		int wait_status;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
			return;
		wait_status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
			: info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
		p = find_live(s->recorder, info.si_pid);
		if (p)
			on_end(s, p, wait_status);
		waitpid(info.si_pid, NULL, 0);
	}
}

/* A process that executed what takes no tracer, or cleared the environment, is the same no more. One without a pidfd
 * is seen to have ended here. */
static void look_for_untraced(struct service *s)
{
	struct mt_recorder *r = s->recorder;

	for (uint32_t i = r->live_count; i-- > 0;) {
		struct mt_process *p = r->live[i];
		struct mt_process_stat now;

		if (p->pidfd < 0 && p != r->root && mt_process_has_ended(p)) {
			on_end(s, p, mt_process_status(p));
			continue;
		}
		if (!p->stack_start || !mt_process_stat(p->pid, &now) || !now.stack_start || now.stack_start == p->stack_start)
			continue;
		atomic_fetch_add(&p->untraced, 1);
		if (p == r->root) {
			p->seen_leaving = true;
			mt_offer_root_left(r);
			continue;
		}
		p->segments++; /* what ends is not what began with a fork */
		mt_offer_end(r, p, MT_STATUS_UNKNOWN);
	}
}

enum kin { KIN_NONE, KIN_TRACED, KIN_OTHERS };

/* Who lives of those that are not in the table: children that have lost their parents. */
static enum kin unknown_kin(void)
{
	enum kin kin = KIN_OTHERS;
	siginfo_t info = {0};
	char path[64];
	int pid;
	FILE *f;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return KIN_NONE;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		if (mt_process_maps_segment(pid))
			kin = KIN_TRACED;
	if (f)
		fclose(f);
	return kin;
}

/* The session is over when nobody is left who is traced or may yet ask. Returns how long to wait for the next look. */
static int look_for_end(struct service *s)
{
	struct mt_recorder *r = s->recorder;
	uint64_t now = mt_clock_monotonic_ns();
	enum kin kin;

	if (!atomic_load(&r->root_ended) || atomic_load(&r->over))
		return TURN_MS;
	if (r->live_count && !atomic_load(&r->stopping)) {
		s->alone_since = 0;
		return TURN_MS;
	}
	kin = atomic_load(&r->stopping) ? KIN_NONE : unknown_kin();
	if (kin == KIN_TRACED)
		return TURN_MS;
	if (!s->alone_since)
		s->alone_since = now;
	if (kin == KIN_OTHERS && now - s->alone_since < UNKNOWN_PATIENCE_NS)
		return UNKNOWN_MS;
	atomic_store(&r->over, true);
	mt_recorder_wake(r);
	return TURN_MS;
}

/* Once the root's trace is complete the front need not wait for the others. */
static void tell_front(struct service *s)
{
	struct mt_recorder *r = s->recorder;
	struct mt_report message = {.type = MT_REPORT_GOES_ON};

	s->unsent = !mt_recorder_send_unsent(r, false);
	if (s->unsent || s->told || !atomic_load(&r->root_ended) || atomic_load(&r->root_images) || atomic_load(&r->over)
		|| (!r->live_count && unknown_kin() != KIN_TRACED))
		return;
	message.count = r->live_count ? r->live_count : 1;
	message.watch = r->live_count ? r->live[0]->pid : 0;
	message.untraced = mt_recorder_untraced(r);
	mt_recorder_report(r, &message);
	s->told = true;
}

/* ---- the loop -------------------------------------------------------------------------------------- */

enum { LISTEN, CHILD, NOTIFY, TERMINAL, FRONT, PEERS };

static unsigned collect(struct service *s, struct pollfd **fds, unsigned *capacity)
{
	struct mt_recorder *r = s->recorder;
	unsigned count = PEERS + s->peer_count + r->live_count;

	if (count > *capacity) {
		*capacity = count * 2;
		*fds = mt_resize(*fds, *capacity * sizeof **fds);
	}
	(*fds)[LISTEN] = (struct pollfd){s->peer_count < PEERS_MAX ? r->listen_fd : -1, POLLIN, 0};
	(*fds)[CHILD] = (struct pollfd){s->child_fd, POLLIN, 0};
	(*fds)[NOTIFY] = (struct pollfd){r->notify_fd, POLLIN, 0};
	(*fds)[TERMINAL] = (struct pollfd){s->hung ? -1 : r->master_fd, (short)(POLLIN | (s->input_len ? POLLOUT : 0)), 0};
	(*fds)[FRONT] = (struct pollfd){s->unsent ? r->report_fd : -1, POLLOUT, 0};
	for (unsigned i = 0; i < s->peer_count; i++)
		(*fds)[PEERS + i] = (struct pollfd){s->peers[i].fd, (short)(POLLIN | (s->peers[i].listing ? POLLOUT : 0)), 0};
	for (unsigned i = 0; i < r->live_count; i++)
		(*fds)[PEERS + s->peer_count + i] = (struct pollfd){r->live[i]->pidfd, POLLIN, 0};
	return count;
}

static void see_ends(struct service *s, const struct pollfd *fds, unsigned count)
{
	struct mt_recorder *r = s->recorder;

	reap(s);
	for (unsigned i = 0; i < count; i++) {
		struct mt_process *p = NULL;

		if (!fds[i].revents)
			continue;
		for (uint32_t j = 0; j < r->live_count && !p; j++)
			if (r->live[j]->pidfd == fds[i].fd)
				p = r->live[j];
		if (p && p != r->root && mt_process_has_ended(p))
			on_end(s, p, mt_process_status(p));
	}
}

static void serve(struct service *s, const struct pollfd *fds, unsigned count)
{
	struct mt_recorder *r = s->recorder;
	struct signalfd_siginfo signals[8];
	unsigned peers = s->peer_count;
	uint64_t value;

	/* ends first: an end that is known makes a pid that comes again another process */
	if (fds[CHILD].revents && read(s->child_fd, signals, sizeof signals) < 0)
		s->turned_at = 0;
	see_ends(s, fds + PEERS + peers, count - PEERS - peers);
	for (unsigned i = peers; i-- > 0;) {
		if (fds[PEERS + i].revents & POLLOUT && s->peers[i].listing)
			list_processes(r, &s->peers[i]);
		if (fds[PEERS + i].revents & ~POLLOUT && !on_peer(s, &s->peers[i]))
			drop(s, i);
	}
	if (fds[LISTEN].revents)
		on_connections(s);
	if (fds[NOTIFY].revents && read(r->notify_fd, &value, sizeof value) > 0)
		tell_watchers(s);
	if (fds[TERMINAL].revents & (POLLIN | POLLHUP | POLLERR) || (s->hung && r->master_fd >= 0))
		read_terminal(s);
	if (fds[TERMINAL].revents & POLLOUT)
		write_terminal(s);
	free_snapshots(s);
}

void *mt_service_run(void *recorder)
{
	struct service *s = mt_alloc(sizeof *s);
	struct pollfd *fds = NULL;
	unsigned capacity = 0;
	int patience = TURN_MS;
	sigset_t children;

	s->recorder = recorder;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	s->child_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->recorder->master_fd >= 0)
		fcntl(s->recorder->master_fd, F_SETFL, O_RDWR | O_NONBLOCK);
	for (;;) {
		unsigned count = collect(s, &fds, &capacity);
		uint64_t now;

		if (poll(fds, count, s->hung && patience > HUNG_MS ? HUNG_MS : patience) < 0 && errno != EINTR)
			break;
		serve(s, fds, count);
		now = mt_clock_monotonic_ns();
		if (now - s->turned_at >= TURN_MS * 1000000ull) {
			look_for_untraced(s);
			s->turned_at = now;
		}
		patience = look_for_end(s);
		tell_front(s);
	}
	free(fds);
	free(s);
	return NULL;
}
