/* Who asks what lives in a process waits until the draining thread has answered. */
#include "core/session/service_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void answer(struct mt_service *s, struct mt_peer *p, const struct mt_live_answer *a,
	int status)
{
	struct mt_welcome w = {.magic = MT_MESSAGE_MAGIC, .status = a ? a->status : status};
	int fds[2], count = 0;

	mt_service_fill_entry(s->recorder, &w.entry);
	if (a) {
		w.entry.program = p->asks_live->pid;
		w.moment_ns = a->moment_ns;
		w.trace_bytes = a->trace_bytes;
		memcpy(w.entry.trace_path, a->trace_path, sizeof w.entry.trace_path);
		if (a->trace_fd >= 0)
			fds[count++] = a->trace_fd;
		if (a->list_fd >= 0)
			fds[count++] = a->list_fd;
	}
	mt_service_send(p->fd, &w, sizeof w, fds, (unsigned)count);
	p->asks_live = NULL;
}

void mt_service_ask_live(struct mt_service *s, struct mt_peer *p, pid_t pid)
{
	struct mt_recorder *r = s->recorder;
	struct mt_process *process = pid && pid != r->program ? mt_offer_find(r, pid) : r->root;

	if (!process || atomic_load(&process->done) || atomic_load(&r->stopping)) {
		answer(s, p, NULL, -ESRCH);
		return;
	}
	if (!atomic_load(&process->begun) && !process->segments) { /* else it is about to */
		answer(s, p, NULL, -ENODATA);
		return;
	}
	p->asks_live = process;
	p->live_number = atomic_fetch_add(&process->live_asked, 1) + 1;
	mt_recorder_wake(r);
}

/* Whoever has asked before the answer was made. Counts of requests begin again after 2^32. */
static void answer_all(struct mt_service *s, struct mt_process *process,
	const struct mt_live_answer *live)
{
	for (unsigned i = 0; i < s->peer_count; i++) {
		struct mt_peer *p = &s->peers[i];

		if (p->asks_live != process)
			continue;
		if (live && (int32_t)(live->number - p->live_number) >= 0)
			answer(s, p, live, 0);
		else if (atomic_load(&process->done))
			answer(s, p, NULL, -ESRCH);
	}
}

void mt_service_answer_live(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;

	for (unsigned i = 0; i < s->peer_count; i++) {
		struct mt_process *process = s->peers[i].asks_live;
		struct mt_live_answer *live;

		if (!process)
			continue;
		pthread_mutex_lock(&r->lock);
		live = process->live;
		process->live = NULL;
		pthread_mutex_unlock(&r->lock);
		answer_all(s, process, live);
		mt_live_answer_free(live);
	}
}
