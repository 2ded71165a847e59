/* Tracers that ask for a segment, and the table of processes. All in the service thread. */
#include "core/session/internal.h"
#include "core/session/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REFUSED 65536 /* pids that are told apart */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* ---- the table ------------------------------------------------------------------------------- */

struct mt_process *mt_offer_add(struct mt_recorder *r, pid_t pid, int pidfd)
{
	struct mt_process *p = mt_alloc(sizeof *p);
	struct mt_proc_stat s;

	mt_proc_stat(pid, &s);
	*p = (struct mt_process){
		.pid = pid,
		.pidfd = pidfd,
		.start_time = s.start_time,
		.alive = true,
		.wait_status = MT_STATUS_UNKNOWN,
	};
	pthread_mutex_lock(&r->lock);
	p->number = r->process_count;
	MT_GROW(r->processes, r->process_count, r->process_capacity);
	r->processes[r->process_count++] = p;
	MT_GROW(r->live, r->live_count, r->live_capacity);
	r->live[r->live_count++] = p;
	r->live_changes++;
	pthread_mutex_unlock(&r->lock);
	return p;
}

struct mt_process *mt_offer_find(struct mt_recorder *r, pid_t pid)
{
	for (uint32_t i = 0; i < r->live_count; i++)
		if (r->live[i]->pid == pid)
			return r->live[i];
	return NULL;
}

/* The id of a segment: its process, counted from 1, and which of its segments it is. */
static uint64_t segment_id(const struct mt_process *p)
{
	return (uint64_t)(p->number + 1) << 32 | (p->segments + 1);
}

static struct mt_process *by_segment(struct mt_recorder *r, uint64_t id)
{
	uint64_t number = (id >> 32) - 1;

	return number < r->process_count ? r->processes[number] : NULL;
}

static void remove_live(struct mt_recorder *r, const struct mt_process *p)
{
	for (uint32_t i = 0; i < r->live_count; i++)
		if (r->live[i] == p) {
			r->live[i] = r->live[--r->live_count];
			r->live_changes++;
			return;
		}
}

static void post(struct mt_recorder *r, struct mt_process *p, struct mt_offer *offer)
{
	struct mt_note *note = mt_alloc(sizeof *note);

	*note = (struct mt_note){.process = p, .offer = offer};
	pthread_mutex_lock(&r->lock);
	*r->notes_end = note;
	r->notes_end = &note->next;
	pthread_mutex_unlock(&r->lock);
	mt_recorder_wake(r);
}

/* A forked child that has executed something without asking again: that is untraced. */
static bool left_unseen(const struct mt_process *p)
{
	struct mt_proc_stat s;

	return p->forked && p->segments == 1 && mt_proc_stat(p->pid, &s)
		&& !(s.flags & MT_PROC_NEVER_EXECUTED);
}

/* It asked for a segment and had gone on without when the answer came. */
static bool took_none(struct mt_recorder *r, const struct mt_process *p)
{
	bool none;

	pthread_mutex_lock(&r->lock);
	none = p->header && __atomic_load_n(&p->header->state, __ATOMIC_ACQUIRE) == MT_SEGMENT_NEW;
	pthread_mutex_unlock(&r->lock);
	return none;
}

struct mt_process *mt_offer_teller(struct mt_recorder *r, struct mt_process *p)
{
	/* numbers come again: parents may seem to be each other's children */
	for (uint32_t i = 0; p && !atomic_load(&p->begun) && i <= r->live_count; i++)
		p = mt_offer_find(r, p->parent);
	return p && atomic_load(&p->begun) ? p : r->root;
}

void mt_offer_close_pidfd(struct mt_process *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
}

void mt_offer_end(struct mt_recorder *r, struct mt_process *p, int wait_status)
{
	if (!p->alive)
		return;
	if (took_none(r, p))
		mt_untraced_add(r, mt_offer_teller(r, p), p->pid);
	else if (left_unseen(p))
		mt_untraced_add(r, p, p->pid);
	pthread_mutex_lock(&r->lock);
	p->alive = false;
	p->wait_status = wait_status;
	remove_live(r, p);
	pthread_mutex_unlock(&r->lock);
	if (!atomic_load(&p->awaited))
		mt_offer_close_pidfd(p);
	post(r, p, NULL);
}

void mt_offer_root_left(struct mt_recorder *r)
{
	r->root->stack_start = 0; /* not to be looked at again */
	if (!atomic_load(&r->stopping))
		atomic_store(&r->root->left, true);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int peer_pidfd(int fd, pid_t pid)
{
	int pidfd;
	socklen_t len = sizeof pidfd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0) {
		fcntl(pidfd, F_SETFD, FD_CLOEXEC);
		return pidfd;
	}
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* The process that asks: one of the table, unless its pid has come again. */
static struct mt_process *known(struct mt_recorder *r, pid_t pid)
{
	struct mt_process *p = mt_offer_find(r, pid);

	if (!p || p == r->root || !mt_process_has_ended(p))
		return p;
	mt_offer_end(r, p, mt_process_status(p));
	return NULL;
}

/* Whether it is one that was refused before: a child that executes a program asks again. */
static bool is_counted(struct mt_recorder *r, pid_t pid, uint64_t start_time)
{
	struct mt_refused *at;
	bool known_already;

	if (!r->refused)
		r->refused = mt_alloc(REFUSED * sizeof *r->refused);
	at = &r->refused[(unsigned)pid % REFUSED];
	known_already = start_time && at->pid == pid && at->start_time == start_time;
	*at = (struct mt_refused){pid, start_time};
	return known_already;
}

static void count_untraced(struct mt_recorder *r, pid_t pid, uint64_t forked_from)
{
	struct mt_process *parent =
		forked_from ? by_segment(r, forked_from) : mt_offer_find(r, pid);
	struct mt_proc_stat s;

	mt_proc_stat(pid, &s);
	if (is_counted(r, pid, s.start_time))
		return;
	if (!parent)
		parent = mt_offer_find(r, s.parent);
	mt_untraced_add(r, parent ? parent : r->root, pid);
}

void mt_offer_count_untraced(struct mt_recorder *r, pid_t pid)
{
	count_untraced(r, pid, 0);
}

static bool wanted(const struct mt_recorder *r, const struct mt_process *p)
{
	if (atomic_load(&r->stopping) || atomic_load(&r->over))
		return false;
	return !r->single || (p == r->root && !p->segments);
}

/* While it waits for the answer the image cannot go away: now is the time to look at it. */
static struct mt_offer *new_offer(struct mt_recorder *r, struct mt_process *p, bool forked, int fd,
	int *status, struct mt_err *err)
{
	struct mt_offer *o = mt_alloc(sizeof *o);
	struct timespec now;

	*status = mt_recorder_new_segment(r, p->pid, fd, &o->segment, err);
	if (*status < 0) {
		free(o);
		return NULL;
	}
	o->segment_id = o->segment.header->id = segment_id(p);
	o->clock = r->clock;
	o->start_unix_ns = r->start_unix_ns;
	if (p != r->root || p->segments) {
		clock_gettime(CLOCK_REALTIME, &now);
		o->start_unix_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
		mt_clock_restart(&o->clock);
	}
	o->forked = forked;
	mt_proc_executed(p->pid, o->program_path, sizeof o->program_path);
	mt_proc_link(p->pid, "cwd", o->directory, sizeof o->directory);
	mt_process_arguments(p->pid, o->forked, &o->arguments);
	mt_memory_meet(&o->sampler, p->pid, mt_clock_monotonic_ns());
	mt_process_command(p->pid, &o->arguments, o->command, sizeof o->command);
	return o;
}

static void meet(struct mt_recorder *r, struct mt_process *p, struct mt_offer *o,
	uint64_t forked_from)
{
	struct mt_process *parent = forked_from ? by_segment(r, forked_from) : NULL;
	struct mt_proc_stat s;
	bool readable = mt_proc_stat(p->pid, &s);

	if (p == r->root) /* it may have been seen between its exec and its request */
		mt_untraced_take_back_root(r);
	p->starts = 0;
	if (took_none(r, p)) /* before it executed another program */
		mt_untraced_add(r, mt_offer_teller(r, p), p->pid);
	if (s.parent > 0 && mt_offer_find(r, s.parent))
		mt_untraced_recorded(r, mt_offer_find(r, s.parent), p->pid);
	atomic_store(&p->left, false);
	p->stack_start = s.stack_start;
	if (!p->segments++) {
		p->forked = o->forked;
		if (parent)
			p->parent = parent->pid;
		else if (readable && s.parent != getpid())
			p->parent = s.parent;
	}
	pthread_mutex_lock(&r->lock);
	memcpy(p->command, o->command, sizeof p->command);
	p->header = o->segment.header;
	memset(p->noted, 0, sizeof p->noted);
	if (forked_from)
		mt_carriers_inherit(r, forked_from, p->header->id);
	o->paused = atomic_load(&r->paused);
	o->pauses = atomic_load(&r->pauses);
	__atomic_store_n(&p->header->turns, atomic_load(&r->turns), __ATOMIC_RELEASE);
	__atomic_store_n(&p->header->recording, !o->paused, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&r->lock);
}

static void reply(int to, struct mt_wire_reply *answer, int fd)
{
	struct iovec part = {answer, sizeof *answer};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		message.msg_control = control;
		message.msg_controllen = sizeof control;
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* From here on it cannot be withdrawn. */
static bool was_withdrawn(int fd)
{
	char byte[MT_WIRE_WITHDRAWAL_LEN];

	shutdown(fd, SHUT_RD);
	return recv(fd, byte, sizeof byte, MSG_DONTWAIT) == sizeof byte;
}

void mt_offer_answer(struct mt_recorder *r, int fd, pid_t pid, const struct mt_wire_request *q)
{
	struct mt_process *p = pid > 0 ? known(r, pid) : NULL;
	struct mt_offer *offer = NULL;
	struct mt_wire_reply answer = {.magic = MT_WIRE_MAGIC,
		.version = MT_WIRE_VERSION,
		.status = -EPERM};

	if (was_withdrawn(fd))
		return;
	if (pid > 0 && wanted(r, p)) {
		if (!p)
			p = mt_offer_add(r, pid, peer_pidfd(fd, pid));
		offer = new_offer(r, p, q->forked_from != 0, -1, &answer.status, NULL);
	}
	if (!offer) {
		count_untraced(r, pid, q->forked_from);
		reply(fd, &answer, -1);
		if (p && p != r->root)
			/* it lives, but it is traced no more */
			mt_offer_end(r, p, MT_STATUS_UNKNOWN);
		else if (p && p->segments)
			mt_offer_root_left(r); /* counted already */
		return;
	}
	meet(r, p, offer, q->forked_from);
	if (p == r->root)
		atomic_fetch_add(&r->root_images, 1);
	answer.status = 0;
	if (!q->forked_from)
		mt_entries_offer(r, pid, NULL, &answer);
	reply(fd, &answer, offer->segment.fd);
	close(offer->segment.fd);
	offer->segment.fd = -1;
	post(r, p, offer);
	mt_oom_meet(p); /* nobody waits for it */
}

int mt_offer_attached(struct mt_recorder *r, int fd, struct mt_err *err)
{
	int status;
	struct mt_offer *offer = new_offer(r, r->root, false, fd, &status, err);

	if (!offer)
		return status;
	offer->attached = true;
	meet(r, r->root, offer, 0);
	atomic_fetch_add(&r->root_images, 1);
	close(offer->segment.fd);
	offer->segment.fd = -1;
	post(r, r->root, offer);
	mt_oom_meet(r->root);
	return 0;
}

static void patch(struct mt_recorder *r, int fd, pid_t pid, const struct mt_wire_patches *q,
	struct mt_wire_reply *answer)
{
	struct mt_process *p = mt_offer_find(r, pid);
	struct mt_err err = {0};
	char path[PATH_MAX];

	answer->status = mt_entries_patch(r, fd, pid, q, path, sizeof path, &err);
	if (!p || q->by_name)
		return;
	pthread_mutex_lock(&r->lock);
	if (p->header && answer->status)
		mt_carriers_refuse(r, p->header->id, path, err.text);
	else if (p->header)
		mt_carriers_note(r, p->header->id, path, NULL);
	pthread_mutex_unlock(&r->lock);
}

void mt_offer_patch(struct mt_recorder *r, int fd, pid_t pid, const struct mt_wire_patches *q)
{
	struct mt_wire_reply answer = {.magic = MT_WIRE_MAGIC, .version = MT_WIRE_VERSION};

	if (q->hook_count)
		patch(r, fd, pid, q, &answer);
	if (!q->hook_count && q->module)
		mt_entries_place(r, pid, q->module, &answer);
	else if (!q->by_name)
		mt_entries_offer(r, pid, q->tried, &answer);
	reply(fd, &answer, -1);
}
