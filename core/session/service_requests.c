/* Requests of people and scripts that change a recording. doc/control.md says when each is
 * answered. */
#include "core/session/service_parts.h"
#include "core/session/snapshot_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void answer(const struct mt_peer *p, const struct mt_err *err)
{
	struct mt_answer a = {.magic = MT_MESSAGE_MAGIC, .status = err->code};

	snprintf(a.text, sizeof a.text, "%s", err->text);
	mt_service_send(p->fd, &a, sizeof a, NULL, 0);
}

static void done(const struct mt_peer *p)
{
	answer(p, &(struct mt_err){0});
}

/* The images show the pause once nothing is recorded any more, and its end before something is: so
 * are they dated. */
static void pause_all(struct mt_recorder *r, bool paused)
{
	uint32_t turns = atomic_fetch_add(&r->turns, 1) + 1;

	atomic_fetch_add(&r->pauses, paused);
	pthread_mutex_lock(&r->lock);
	if (!paused) {
		atomic_store(&r->turned_ns, mt_clock_monotonic_ns());
		atomic_store(&r->paused, false);
	}
	for (uint32_t i = 0; i < r->live_count; i++) {
		struct mt_wire_header *h = r->live[i]->header;

		if (!h)
			continue;
		__atomic_store_n(&h->turns, turns, __ATOMIC_SEQ_CST);
		__atomic_store_n(&h->recording, !paused, __ATOMIC_SEQ_CST);
	}
	if (paused) {
		atomic_store(&r->turned_ns, mt_clock_monotonic_ns());
		atomic_store(&r->paused, true);
	}
	pthread_mutex_unlock(&r->lock);
	mt_recorder_wake(r);
}

static void on_detach(struct mt_recorder *r, const struct mt_peer *p)
{
	struct mt_err err = {0};

	if (!mt_recorder_is_attached(r))
		err.code = -EINVAL;
	else if (!atomic_load(&r->over))
		err.code = mt_recorder_detach(r, &err);
	answer(p, &err);
}

/* ---- markers --------------------------------------------------------------------------------- */

void mt_recorder_mark(struct mt_recorder *r, const char *text, size_t len)
{
	uint32_t count = atomic_load(&r->marker_count);

	pthread_mutex_lock(&r->lock);
	MT_GROW(r->markers, count, r->marker_capacity);
	r->markers[count] = (struct mt_marker){.monotonic_ns = mt_clock_monotonic_ns()};
	snprintf(r->markers[count].text, sizeof r->markers[count].text, "%.*s", (int)len, text);
	atomic_store(&r->marker_count, count + 1);
	pthread_mutex_unlock(&r->lock);
	mt_recorder_wake(r);
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool is_complete(const struct mt_recorder *r)
{
	return atomic_load(&r->stopping) && !atomic_load(&r->incomplete);
}

/* A process that was attached is left as it was. */
static void on_stop(struct mt_recorder *r, struct mt_peer *p)
{
	if (mt_recorder_is_attached(r)) {
		on_detach(r, p);
		return;
	}
	atomic_store(&r->stop_due, true);
	p->awaits_stop = true;
	mt_recorder_wake(r);
}

/* ---- snapshot files -------------------------------------------------------------------------- */

static void on_snapshot(struct mt_recorder *r, const struct mt_peer *p, const struct mt_message *m)
{
	pid_t pid = (pid_t)m->a;
	struct mt_process *process = pid && pid != r->program ? mt_offer_find(r, pid) : r->root;
	struct mt_err err = {0};

	if (!process || atomic_load(&process->done))
		mt_fail(&err, -ESRCH, "process %d is no longer being recorded",
			(int)(pid ? pid : r->program));
	else if (!atomic_load(&process->begun) && !process->segments) /* else it is about to */
		mt_fail(&err, -ENODATA,
			"process %d has not allocated yet; its recording begins with its first "
			"allocation or free",
			(int)process->pid);
	if (err.code)
		answer(p, &err);
	else
		mt_snapshot_file_ask(r, process, p->number, m->bytes, m->len);
}

/* Of a condition. */
static void tell_front(struct mt_recorder *r, const struct mt_snapshot_result *result)
{
	struct mt_notice n = {.type = MT_NOTICE_SNAPSHOT};

	if (result->err.code)
		mt_fail(&n.err, result->err.code, "%s after %.3f s, but there is no snapshot: %s",
			result->condition, (double)result->moment_ns / 1e9, result->err.text);
	else
		mt_fail(&n.err, -EAGAIN, "%s after %.3f s: wrote %s", result->condition,
			(double)result->moment_ns / 1e9, result->path);
	mt_recorder_send_notice(r, &n);
}

static void answer_snapshots(struct mt_service *s)
{
	struct mt_snapshot_result result;

	while (mt_snapshot_file_next_done(s->recorder, &result)) {
		struct mt_answer a = {.magic = MT_MESSAGE_MAGIC,
			.status = result.err.code,
			.moment_ns = result.moment_ns,
			.bytes = result.bytes};

		snprintf(a.text, sizeof a.text, "%s",
			result.err.code ? result.err.text : result.path);
		if (!result.peer)
			tell_front(s->recorder, &result);
		for (unsigned i = 0; i < s->peer_count; i++)
			if (s->peers[i].number == result.peer)
				mt_service_send(s->peers[i].fd, &a, sizeof a, NULL, 0);
	}
}

/* ---- leak checks ----------------------------------------------------------------------------- */

#define VERDICTS_MAX (64u << 20) /* bytes: more does not fit into a block of a trace */

/* The image that they are of takes them when it ends. */
static void keep_verdicts(struct mt_recorder *r, struct mt_peer *p, pid_t pid)
{
	struct mt_process *process = pid && pid != r->program ? mt_offer_find(r, pid) : r->root;
	struct mt_err err = {0};

	if (!process || atomic_load(&process->done)) {
		mt_fail(&err, -ESRCH, "process %d is no longer being recorded",
			(int)(pid ? pid : r->program));
		answer(p, &err);
		return;
	}
	pthread_mutex_lock(&r->lock);
	mt_buffer_free(&process->verdicts);
	process->verdicts = p->verdicts;
	pthread_mutex_unlock(&r->lock);
	p->verdicts = (struct mt_buffer){0};
	done(p);
}

static void on_verdicts(struct mt_recorder *r, struct mt_peer *p, const struct mt_message *m)
{
	struct mt_err err = {0};

	if (p->verdicts.len + m->len <= VERDICTS_MAX)
		mt_buffer_add(&p->verdicts, m->bytes, m->len);
	else
		mt_fail(&err, -EFBIG, "the leak check has found more than a trace can hold");
	if (m->b && !err.code)
		keep_verdicts(r, p, (pid_t)m->a);
	else if (m->b)
		answer(p, &err);
}

/* ---------------------------------------------------------------------------------------------- */

void mt_service_answer_requests(struct mt_service *s)
{
	answer_snapshots(s);
	for (unsigned i = 0; i < s->peer_count; i++)
		if (s->peers[i].awaits_stop && is_complete(s->recorder)) {
			s->peers[i].awaits_stop = false;
			done(&s->peers[i]);
		}
}

/* Of a recording that has ended while its programs go on. */
static bool refuses(const struct mt_recorder *r, const struct mt_peer *p, enum mt_message_type type)
{
	struct mt_err err = {0};

	if (!atomic_load(&r->stopping)
		|| (type != MT_MESSAGE_PAUSE && type != MT_MESSAGE_MARKER
			&& type != MT_MESSAGE_SNAPSHOT))
		return false;
	mt_fail(&err, -ESRCH, "process %d is no longer being recorded", (int)r->program);
	answer(p, &err);
	return true;
}

bool mt_service_on_request(struct mt_service *s, struct mt_peer *p, const struct mt_message *m)
{
	struct mt_recorder *r = s->recorder;

	if (refuses(r, p, (enum mt_message_type)m->type))
		return true;
	switch (m->type) {
	case MT_MESSAGE_PAUSE:
		pause_all(r, m->a != 0);
		done(p);
		break;
	case MT_MESSAGE_MARKER:
		mt_recorder_mark(r, m->bytes, m->len < MT_MARKER_LEN ? m->len : MT_MARKER_LEN);
		done(p);
		break;
	case MT_MESSAGE_SNAPSHOT: on_snapshot(r, p, m); break;
	case MT_MESSAGE_STOP:
		on_stop(r, p);
		mt_service_answer_requests(s);
		break;
	case MT_MESSAGE_DETACH: on_detach(r, p); break;
	case MT_MESSAGE_VERDICTS: on_verdicts(r, p, m); break;
	default: return false;
	}
	return true;
}
