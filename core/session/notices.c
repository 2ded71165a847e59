/* What the recorder tells its front process. */
#include "core/session/internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRIES_MAX 50 /* to send a notice, 10 ms apart */

/* The front is there, but the kernel has no room for a message at the moment. */
bool mt_notice_may_be_sent_later(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM;
}

int mt_recorder_send_notice(struct mt_recorder *r, struct mt_notice *message)
{
	unsigned tries = 0;
	ssize_t sent;

	message->program = r->program;
	memcpy(message->name, r->name, sizeof message->name);
	if (r->trace_path)
		strncpy(message->trace_path, r->trace_path, sizeof message->trace_path - 1);
	while ((sent = send(r->report_fd, message, sizeof *message, MSG_NOSIGNAL)) < 0
		&& mt_notice_may_be_sent_later(errno) && tries++ < TRIES_MAX)
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	return sent < 0 ? -errno : 0;
}

void mt_recorder_let_end(struct mt_wire_header *h)
{
	__atomic_store_n(&h->judged, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &h->judged, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void mt_recorder_trouble(struct mt_recorder *r, const struct mt_err *err)
{
	struct mt_notice message = {.type = MT_NOTICE_TROUBLE, .err = *err};

	mt_recorder_send_notice(r, &message);
}

void mt_recorder_trouble_of(struct mt_recorder *r, const struct mt_process *p,
	const struct mt_err *err)
{
	struct mt_notice message = {.type = MT_NOTICE_TROUBLE, .watch = p->pid, .err = *err};

	mt_recorder_send_notice(r, &message);
}

/* A program that is at its end waits for who looks at it; where nobody does, it may end. */
void mt_recorder_see_ending(struct mt_recorder *r, struct mt_process *p)
{
	struct mt_notice message = {.type = MT_NOTICE_ENDING, .watch = p->pid};
	bool is_ending = p->header && __atomic_load_n(&p->header->ending, __ATOMIC_ACQUIRE);

	if (is_ending && !p->ending_told && mt_recorder_send_notice(r, &message) < 0)
		mt_recorder_let_end(p->header);
	p->ending_told = is_ending;
}
