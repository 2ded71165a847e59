/* The recorder's second thread: hears tracers and watchers, sees processes end, drains the
 * program's terminal. */
#include "core/session/oom.h"
#include "core/session/service_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define HUNG_MS 50   /* between two looks at a terminal that nobody has open */
#define TURN_MS 1000 /* between two looks for what tells of itself by no descriptor */

/* ---- terminal -------------------------------------------------------------------------------- */

void mt_service_read_terminal(struct mt_service *s)
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
		mt_service_tell_watchers(s);
}

static void write_terminal(struct mt_service *s)
{
	ssize_t n = write(s->recorder->master_fd, s->input, s->input_len);

	if (n > 0) {
		s->input_len -= (size_t)n;
		memmove(s->input, s->input + n, s->input_len);
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		s->input_len = 0;
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

enum { LISTEN, LISTEN_FILE, CHILD, NOTIFY, TERMINAL, FRONT, PEERS };

/* It has said that it will connect; what it says otherwise is that it will not, or is gone. */
static bool awaits_front(const struct mt_service *s)
{
	return s->recorder->options->watched && !s->greeted;
}

static bool accepts(struct mt_service *s)
{
	if (s->accept_at && mt_clock_monotonic_ns() < s->accept_at)
		return false;
	s->accept_at = 0;
	return s->peer_count < PEERS_MAX;
}

static unsigned collect(struct mt_service *s, struct pollfd **fds, unsigned *capacity)
{
	struct mt_recorder *r = s->recorder;
	unsigned count = PEERS + s->peer_count + r->live_count + s->unreaped_count;
	bool accept = accepts(s);

	if (count > *capacity) {
		*capacity = count * 2;
		*fds = mt_resize(*fds, *capacity * sizeof **fds);
	}
	(*fds)[LISTEN] = (struct pollfd){accept ? r->listen_fd : -1, POLLIN, 0};
	(*fds)[LISTEN_FILE] = (struct pollfd){accept ? r->file_listen_fd : -1, POLLIN, 0};
	(*fds)[CHILD] = (struct pollfd){r->child_fd, POLLIN, 0};
	(*fds)[NOTIFY] = (struct pollfd){r->notify_fd, POLLIN, 0};
	(*fds)[TERMINAL] = (struct pollfd){s->hung ? -1 : r->master_fd,
		(short)(POLLIN | (s->input_len ? POLLOUT : 0)), 0};
	(*fds)[FRONT] = (struct pollfd){s->unsent || awaits_front(s) ? r->report_fd : -1,
		(short)((s->unsent ? POLLOUT : 0) | (awaits_front(s) ? POLLRDHUP : 0)), 0};
	for (unsigned i = 0; i < s->peer_count; i++)
		(*fds)[PEERS + i] = (struct pollfd){s->peers[i].fd,
			(short)(POLLIN | (s->peers[i].listing ? POLLOUT : 0)), 0};
	for (unsigned i = 0; i < r->live_count; i++)
		(*fds)[PEERS + s->peer_count + i] = (struct pollfd){r->live[i]->pidfd, POLLIN, 0};
	for (unsigned i = 0; i < s->unreaped_count; i++)
		(*fds)[PEERS + s->peer_count + r->live_count + i] =
			(struct pollfd){s->unreaped[i]->pidfd, 0, 0};
	return count;
}

static void see_ends(struct mt_service *s, const struct pollfd *fds, unsigned count)
{
	struct mt_recorder *r = s->recorder;

	mt_service_reap(s);
	mt_service_look_for_reaped(s, false);
	for (unsigned i = 0; i < count; i++) {
		struct mt_process *p = NULL;

		if (!fds[i].revents)
			continue;
		for (uint32_t j = 0; j < r->live_count && !p; j++)
			if (r->live[j]->pidfd == fds[i].fd)
				p = r->live[j];
		if (p && (p != r->root || mt_recorder_is_attached(r)) && mt_process_has_ended(p))
			mt_service_on_end(s, p, mt_process_status(p));
	}
}

static void serve(struct mt_service *s, const struct pollfd *fds, unsigned count)
{
	struct mt_recorder *r = s->recorder;
	struct signalfd_siginfo signals[8];
	unsigned peers = s->peer_count;
	uint64_t value;

	/* ends first: an end that is known makes a pid that comes again another process */
	if (fds[CHILD].revents && read(r->child_fd, signals, sizeof signals) < 0)
		s->turned_at = 0;
	see_ends(s, fds + PEERS + peers, count - PEERS - peers);
	for (unsigned i = peers; i-- > 0;) {
		if (fds[PEERS + i].revents & POLLOUT && s->peers[i].listing)
			mt_service_list_processes(r, &s->peers[i]);
		if (fds[PEERS + i].revents & ~POLLOUT && !mt_service_on_peer(s, &s->peers[i]))
			mt_service_drop(s, i);
	}
	if (fds[LISTEN].revents)
		mt_service_on_connections(s, r->listen_fd);
	if (fds[LISTEN_FILE].revents)
		mt_service_on_connections(s, r->file_listen_fd);
	if (fds[NOTIFY].revents && read(r->notify_fd, &value, sizeof value) > 0) {
		mt_service_answer_live(s);
		mt_service_tell_watchers(s);
	}
	if (fds[TERMINAL].revents & (POLLIN | POLLHUP | POLLERR) || (s->hung && r->master_fd >= 0))
		mt_service_read_terminal(s);
	if (fds[TERMINAL].revents & POLLOUT)
		write_terminal(s);
	if (fds[FRONT].revents & ~POLLOUT)
		s->greeted = true; /* it never will */
	mt_service_answer_requests(s);
	mt_service_free_snapshots(s);
}

static void pause_ms(long milliseconds)
{
	nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL);
}

/* Waits for events. False: it failed too often. */
static bool await_events(struct mt_service *s, struct pollfd *fds, unsigned count, int milliseconds)
{
	bool failed = false;

	if (s->failures || s->accept_at)
		milliseconds = PAUSE_MS;
	if (poll(fds, count, milliseconds) < 0 && errno != EINTR) {
		failed = true;
		mt_fail(&s->failure, -errno, "cannot wait for the program and its recording: %s",
			strerror(errno));
	} else if (s->failure.code) {
		failed = true; /* to wait for children, in the turn before */
	}
	s->failures = failed ? s->failures + 1 : 0;
	if (s->failures == FAILURES_MAX)
		return false;
	if (failed)
		pause_ms(PAUSE_MS);
	s->failure.code = 0;
	return true;
}

static void look_around(struct mt_service *s)
{
	uint64_t now = mt_clock_monotonic_ns();

	if (now - s->turned_at < TURN_MS * 1000000ull)
		return;
	for (uint32_t i = 0; i < s->recorder->live_count; i++)
		mt_oom_look(s->recorder->live[i], now);
	mt_service_look_for_untraced(s);
	mt_service_look_for_strangers(s);
	mt_service_look_for_reaped(s, true);
	s->turned_at = now;
}

static void serve_until_failure(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;
	struct pollfd *fds = NULL;
	unsigned capacity = 0, count;
	int patience = TURN_MS;

	for (;;) {
		count = collect(s, &fds, &capacity);
		if (!await_events(s, fds, count,
			    s->hung && patience > HUNG_MS ? HUNG_MS : patience))
			break;
		serve(s, fds, count);
		look_around(s);
		mt_service_count_others(s);
		patience = mt_service_look_for_end(s);
		mt_service_look_for_detach(r);
		mt_service_tell_front(s);
	}
	free(fds);
}

/* The traces are completed meanwhile. A program whose terminal this is would be hung up by our end,
 * so it is read until then, by looks. */
static void give_up(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;
	size_t len = strlen(s->failure.text);

	snprintf(s->failure.text + len, sizeof s->failure.text - len,
		"; the recording ends, the program runs on");
	if (mt_recorder_is_attached(r) && !atomic_load(&r->over))
		mt_attach_end(r, &(struct mt_err){0});
	mt_recorder_give_up(r, &s->failure);
	while (r->master_fd >= 0 && !mt_process_has_ended(r->root)) {
		mt_service_read_terminal(s);
		mt_service_tell_front(s);
		pause_ms(HUNG_MS);
	}
}

struct mt_service *mt_service_new(struct mt_recorder *r)
{
	struct mt_service *s = mt_alloc(sizeof *s);

	s->recorder = r;
	return s;
}

void *mt_service_run(void *service)
{
	struct mt_service *s = service;

	pthread_mutex_lock(&s->recorder->gate);
	pthread_mutex_unlock(&s->recorder->gate);
	if (s->recorder->master_fd >= 0)
		fcntl(s->recorder->master_fd, F_SETFL, O_RDWR | O_NONBLOCK);
	serve_until_failure(s);
	give_up(s);
	free(s->strangers.list);
	free(s);
	return NULL;
}
