/* How processes end, and which of them nobody knows. */
#include "core/session/oom.h"
#include "core/session/service_parts.h"
#include "core/session/snapshot_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN_MS 1000 /* between two looks for what tells of itself by no descriptor */
/* looks for which a program may take to ask: until it has the tracer's library, and from then on */
#define STARTS_MAX 5
#define STARTS_LOADING_MAX 20
#define UNKNOWN_MS 20 /* the same while descendants live of which nothing is known */
/* looks that are UNKNOWN_MS apart or more: a machine that stands still takes none */
#define UNKNOWN_LOOKS 25
#define LOADING_LOOKS 250 /* at what has the tracer's library: others may come from a slow disk */

/* ---- statuses that come later ---------------------------------------------------------------- */

/* Its trace need not wait any more. */
static void settle(struct mt_service *s, unsigned index, int wait_status)
{
	struct mt_recorder *r = s->recorder;
	struct mt_process *p = s->unreaped[index];

	s->unreaped_count--;
	memmove(&s->unreaped[index], &s->unreaped[index + 1],
		(s->unreaped_count - index) * sizeof(struct mt_process *));
	mt_offer_close_pidfd(p);
	pthread_mutex_lock(&r->lock);
	p->wait_status = wait_status;
	pthread_mutex_unlock(&r->lock);
	atomic_store(&p->awaited, false);
	mt_recorder_wake(r);
}

/* With too many zombies the oldest one's stays unknown. */
static void await_reaping(struct mt_service *s, struct mt_process *p)
{
	if (s->unreaped_count == UNREAPED_MAX)
		settle(s, 0, MT_STATUS_UNKNOWN);
	s->unreaped[s->unreaped_count++] = p;
	atomic_store(&p->awaited, true);
}

void mt_service_look_for_reaped(struct mt_service *s, bool thoroughly)
{
	for (unsigned i = s->unreaped_count; i-- > 0;) {
		struct mt_process *p = s->unreaped[i];

		if (thoroughly ? mt_process_is_gone(p) : mt_process_was_reaped(p))
			settle(s, i, mt_process_status(p));
	}
}

/* A zombie that has become our child. */
static void settle_reaped(struct mt_service *s, pid_t pid, int wait_status)
{
	for (unsigned i = 0; i < s->unreaped_count; i++)
		if (s->unreaped[i]->pid == pid) {
			settle(s, i, wait_status);
			return;
		}
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* What a child's trace tells of its process is told by the parent's, too, which must not be closed
 * before. */
static void end_children_first(struct mt_service *s, const struct mt_process *parent)
{
	struct mt_recorder *r = s->recorder;

	for (uint32_t i = r->live_count; i-- > 0;) {
		struct mt_process *p = i < r->live_count ? r->live[i] : NULL;

		if (p && p != parent && p != r->root && p->parent == parent->pid
			&& mt_process_has_ended(p))
			mt_service_on_end(s, p, mt_process_status(p));
	}
}

/* The status of the root goes to the front before it is reaped: nothing is lost if we are killed
 * between. */
void mt_service_on_end(struct mt_service *s, struct mt_process *p, int wait_status)
{
	struct mt_recorder *r = s->recorder;

	end_children_first(s, p);
	/* As a zombie it did not tell; its parent reaped it since, and now its pidfd does. */
	if (wait_status == MT_STATUS_UNKNOWN && mt_process_is_gone(p))
		wait_status = mt_process_status(p);
	mt_oom_judge(p, mt_clock_monotonic_ns());
	if (p == r->root) {
		if (r->master_fd >= 0)
			mt_service_read_terminal(s);
		mt_service_count_others(s); /* before the front hears of this end */
		mt_recorder_send_notice(r,
			&(struct mt_notice){.type = MT_NOTICE_EXITED, .wait_status = wait_status});
		atomic_store(&r->root_ended, true);
	}
	if ((p != r->root || mt_recorder_is_attached(r)) && wait_status == MT_STATUS_UNKNOWN
		&& p->pidfd >= 0)
		await_reaping(s, p);
	mt_offer_end(r, p, wait_status);
}

/* Our children: the root, and those who lost their parents. */
void mt_service_reap(struct mt_service *s)
{
	for (;;) {
		struct mt_process *p;
		siginfo_t info = {0};
		int wait_status;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
			if (errno != ECHILD && errno != EINTR)
				mt_fail(&s->failure, -errno, "cannot wait for the program: %s",
					strerror(errno));
			return;
		}
		if (!info.si_pid)
			return;
		wait_status = info.si_code == CLD_EXITED
			? W_EXITCODE(info.si_status, 0)
			: info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
		p = mt_offer_find(s->recorder, info.si_pid);
		if (p)
			mt_service_on_end(s, p, wait_status);
		else if (!mt_snapshot_file_ended(s->recorder, info.si_pid, wait_status))
			settle_reaped(s, info.si_pid, wait_status);
		if (waitpid(info.si_pid, NULL, 0) < 0)
			return; /* it stays a zombie, which is known */
	}
}

/* It may have executed a program just now that will ask, once the dynamic linker has loaded what
 * it needs; or when a debugger lets it. */
static bool may_ask(const struct mt_recorder *r, struct mt_process *p,
	const struct mt_proc_stat *now)
{
	if (now->state == 't' || now->state == 'T')
		return true;
	if (mt_process_maps_library(p->pid, r->launch.library))
		return p->starts++ < STARTS_LOADING_MAX;
	return p->starts < STARTS_MAX && !mt_service_names_no_session(p->pid) && ++p->starts;
}

/* A process that executed what takes no tracer, or cleared the environment, is the same no more.
 * One without a pidfd is seen to have ended here. */
void mt_service_look_for_untraced(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;

	for (uint32_t i = r->live_count; i-- > 0;) {
		struct mt_process *p = r->live[i];
		struct mt_proc_stat now;

		if (p->pidfd < 0 && (p != r->root || mt_recorder_is_attached(r))
			&& mt_process_has_ended(p)) {
			mt_service_on_end(s, p, mt_process_status(p));
			continue;
		}
		if (!p->stack_start || !mt_proc_stat(p->pid, &now) || !now.stack_start
			|| now.stack_start == p->stack_start || may_ask(r, p, &now))
			continue;
		if (p == r->root) {
			mt_untraced_add_root(r);
			mt_offer_root_left(r);
			continue;
		}
		mt_untraced_add(r, mt_offer_teller(r, p), p->pid);
		mt_service_add_stranger(s, p->pid, now.start_time);
		p->segments++; /* what ends is not what began with a fork */
		mt_offer_end(r, p, MT_STATUS_UNKNOWN);
	}
}

/* In order of how long they are waited for. */
enum kin { KIN_NONE, KIN_OTHERS, KIN_LOADING, KIN_TRACED };

static enum kin kin_of(const struct mt_recorder *r, pid_t pid)
{
	return mt_process_maps_segment(pid) ? KIN_TRACED
		: mt_process_maps_library(pid, r->launch.library)
		? KIN_LOADING
		: KIN_OTHERS;
}

/* Who lives of those that are not in the table: children that have lost their parents. */
static enum kin unknown_kin(struct mt_recorder *r)
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
	while (f && fscanf(f, "%d", &pid) == 1) {
		enum kin this = mt_snapshot_file_is_child(r, pid) ? KIN_OTHERS : kin_of(r, pid);

		if (this > kin)
			kin = this;
	}
	if (f)
		fclose(f);
	return kin;
}

/* The session is over when nobody is left who is traced or may yet ask. Returns how long to wait
 * for the next look. */
int mt_service_look_for_end(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;
	uint64_t now = mt_clock_monotonic_ns();
	enum kin kin;

	if (!atomic_load(&r->root_ended) || atomic_load(&r->over))
		return TURN_MS;
	if (r->live_count && !atomic_load(&r->stopping)) {
		s->alone_looks = 0;
		return TURN_MS;
	}
	kin = atomic_load(&r->stopping) ? KIN_NONE : unknown_kin(r);
	if (kin == KIN_TRACED)
		return TURN_MS;
	if (now - s->alone_at >= UNKNOWN_MS * 1000000ull) {
		s->alone_looks++;
		s->alone_at = now;
	}
	if ((kin == KIN_OTHERS && s->alone_looks <= UNKNOWN_LOOKS)
		|| (kin == KIN_LOADING && s->alone_looks <= LOADING_LOOKS))
		return UNKNOWN_MS;
	if (r->options->watched && !s->greeted)
		return TURN_MS; /* it opens its screen; the program did not take as long */
	atomic_store(&r->over, true);
	mt_recorder_wake(r);
	return TURN_MS;
}

void mt_service_look_for_detach(struct mt_recorder *r)
{
	struct mt_err err = {0};

	if (atomic_load(&r->detach_due) && r->root->alive && !atomic_load(&r->over))
		mt_recorder_detach(r, &err); /* the front hears what it says */
}

/* Once the root's trace is complete the front need not wait for the others. */
void mt_service_tell_front(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;
	struct mt_notice message = {.type = MT_NOTICE_GOES_ON};

	s->unsent = !mt_recorder_send_unsent(r, false);
	if (s->unsent || s->told || !atomic_load(&r->root_ended) || atomic_load(&r->root_images)
		|| atomic_load(&r->over) || (!r->live_count && unknown_kin(r) != KIN_TRACED))
		return;
	message.count = r->live_count ? r->live_count : 1;
	message.watch = r->live_count ? r->live[0]->pid : 0;
	message.untraced = mt_recorder_untraced(r);
	mt_recorder_send_notice(r, &message);
	s->told = true;
}
