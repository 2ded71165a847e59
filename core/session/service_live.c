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

	if (!process || atomic_load(&process->done)) {
		answer(s, p, NULL, -ESRCH);
		return;
	}
	if (!atomic_load(&process->begun)) {
		answer(s, p, NULL, -ENODATA);
		return;
	}
	p->asks_live = process;
	p->live_number = atomic_fetch_add(&process->live_asked, 1) + 1;
	mt_recorder_wake(r);
}

static bool is_waited_for(const struct mt_service *s, const struct mt_process *process)
{
	for (unsigned i = 0; i < s->peer_count; i++)
		if (s->peers[i].asks_live == process)
			return true;
	return false;
}

/* Counts of requests begin again after 2^32. */
static bool has_answer(const struct mt_process *process, uint32_t number)
{
	return process->live && (int32_t)(process->live->number - number) >= 0;
}

void mt_service_answer_live(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;

	for (unsigned i = 0; i < s->peer_count; i++) {
		struct mt_peer *p = &s->peers[i];
		struct mt_process *process = p->asks_live;
		struct mt_live_answer *over = NULL;

		if (!process)
			continue;
		pthread_mutex_lock(&r->lock);
		if (has_answer(process, p->live_number))
			answer(s, p, process->live, 0);
		else if (atomic_load(&process->done))
			answer(s, p, NULL, -ESRCH);
		if (!is_waited_for(s, process)) {
			over = process->live;
			process->live = NULL;
		}
		pthread_mutex_unlock(&r->lock);
		mt_live_answer_free(over);
	}
}
