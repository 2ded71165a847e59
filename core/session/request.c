/* A client that asks the recorder to do something, and waits until it is done. doc/control.md. */
#include "core/session/client.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How many times 10 s: threads that have to be stopped may take their time, and files have to be
 * completed. */
#define WAITS_FOR_DETACH 3
#define WAITS_FOR_FILES 6

static const struct {
	enum mt_message_type type;
	int waits;
} requests[] = {
	[MT_REQUEST_PAUSE] = {MT_MESSAGE_PAUSE, 1},
	[MT_REQUEST_RESUME] = {MT_MESSAGE_PAUSE, 1},
	[MT_REQUEST_MARKER] = {MT_MESSAGE_MARKER, 1},
	[MT_REQUEST_SNAPSHOT] = {MT_MESSAGE_SNAPSHOT, WAITS_FOR_FILES},
	[MT_REQUEST_STOP] = {MT_MESSAGE_STOP, WAITS_FOR_FILES},
	[MT_REQUEST_DETACH] = {MT_MESSAGE_DETACH, WAITS_FOR_DETACH},
};

static int ask(int fd, enum mt_request request, pid_t process, const char *text, struct mt_err *err)
{
	size_t len = text ? strlen(text) : 0;
	struct mt_message m = {.magic = MT_MESSAGE_MAGIC,
		.type = requests[request].type,
		.a = request == MT_REQUEST_PAUSE ? 1 : (uint32_t)process,
		.len = (uint32_t)len};

	if (len > sizeof m.bytes)
		return mt_fail(err, -ENAMETOOLONG, "%.60s...: too long", text);
	if (len)
		memcpy(m.bytes, text, len);
	if (send(fd, &m, offsetof(struct mt_message, bytes) + len, MSG_NOSIGNAL) < 0)
		return mt_fail(err, -errno, "the recorder does not accept requests: %s",
			strerror(errno));
	return 0;
}

static int await(int fd, int waits, struct mt_answer *answer, struct mt_err *err)
{
	struct iovec part = {answer, sizeof *answer};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n = -1;

	for (int i = 0; i < waits && n < 0; i++)
		n = mt_session_receive(fd, &message);
	answer->text[sizeof answer->text - 1] = '\0';
	if (n < 0 && waits == WAITS_FOR_FILES)
		return mt_fail(err, -ETIMEDOUT,
			"the recorder has not finished writing after a minute; it goes on with it");
	if (n < 0)
		return mt_fail(err, -EAGAIN,
			"the recorder does not answer; it may be stopped (kill -CONT continues "
			"it)");
	if (n == 0)
		return mt_fail(err, -EPIPE, "the recorder ended before it answered");
	if (n != sizeof *answer || answer->magic != MT_MESSAGE_MAGIC)
		return mt_fail(err, -EPROTO, "the recorder is another version of memtui");
	return answer->status ? mt_fail(err, answer->status, "%s", answer->text) : 0;
}

int mt_session_request(const char *name, enum mt_request request, pid_t process, const char *text,
	struct mt_done *done, struct mt_err *err)
{
	struct mt_answer answer = {0};
	int fd = mt_session_connect(name, err), status;

	if (fd < 0)
		return fd;
	status = ask(fd, request, process, text, err);
	if (!status)
		status = await(fd, requests[request].waits, &answer, err);
	close(fd);
	if (!status && done) {
		*done = (struct mt_done){.moment_ns = answer.moment_ns, .bytes = answer.bytes};
		snprintf(done->path, sizeof done->path, "%s", answer.text);
	}
	return status;
}

/* In parts, of which the recorder answers the last. */
static int send_parts(int fd, pid_t process, const struct mt_buffer *verdicts, struct mt_err *err)
{
	for (size_t at = 0, len;; at += len) {
		struct mt_message m = {.magic = MT_MESSAGE_MAGIC,
			.type = MT_MESSAGE_VERDICTS,
			.a = (uint32_t)process};

		len = verdicts->len - at < sizeof m.bytes ? verdicts->len - at : sizeof m.bytes;
		m.len = (uint32_t)len;
		m.b = at + len == verdicts->len;
		memcpy(m.bytes, verdicts->data + at, len);
		if (send(fd, &m, offsetof(struct mt_message, bytes) + len, MSG_NOSIGNAL) < 0)
			return mt_fail(err, -errno,
				"the recorder does not accept the leak check: %s", strerror(errno));
		if (m.b)
			return 0;
	}
}

int mt_session_tell_verdicts(const char *name, pid_t process, const struct mt_buffer *verdicts,
	struct mt_err *err)
{
	struct mt_answer answer = {0};
	int fd = mt_session_connect(name, err), status;

	if (fd < 0)
		return fd;
	status = send_parts(fd, process, verdicts, err);
	if (!status)
		status = await(fd, 1, &answer, err);
	close(fd);
	return status;
}

int mt_session_detach(const char *name, struct mt_err *err)
{
	return mt_session_request(name, MT_REQUEST_DETACH, 0, NULL, NULL, err);
}
