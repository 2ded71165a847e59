/* Running sessions: abstract sockets named as recorders name theirs; and the processes of one. */
#include "core/session/client.h"
#include "core/session/internal.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTENS 0x10000 /* the flag in /proc/net/unix: connections of it have the same name */
#define LOOKS 20
#define LOOK_MS 100

/* The sessions by their names, of which nothing else is known yet; count or negative errno. */
static int find_names(struct mt_session_entry **entries, struct mt_err *err)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512], prefix[32];
	uint32_t count = 0, capacity = 0;

	*entries = NULL;
	if (!f)
		return mt_fail(err, -errno, "cannot read /proc/net/unix: %s", strerror(errno));
	snprintf(prefix, sizeof prefix, "@memtui-%u-", (unsigned)getuid());
	while (fgets(line, sizeof line, f)) {
		char *name = strstr(line, prefix);
		unsigned flags;

		if (!name || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & LISTENS))
			continue;
		name[strcspn(name, "\n")] = '\0';
		MT_GROW(*entries, count, capacity);
		(*entries)[count] = (struct mt_session_entry){.program = 0};
		snprintf((*entries)[count++].name, sizeof(*entries)->name, "%s", name + 1);
	}
	fclose(f);
	return (int)count;
}

/* Its descriptor, or -1. */
static int ask(struct mt_session_entry *entry)
{
	struct mt_err ignored = {0};
	struct ucred who = {0};
	socklen_t len = sizeof who;
	int fd = mt_session_connect(entry->name, &ignored);

	if (fd < 0)
		return -1;
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
	entry->recorder = who.pid;
	if (mt_session_hello(fd, MT_MESSAGE_LIST, 0, &ignored) == 0)
		return fd;
	close(fd);
	return -1;
}

/* True when it was an answer that can be understood. */
static bool take_answer(int fd, struct mt_session_entry *entry)
{
	struct mt_err ignored = {0};
	struct mt_welcome w;
	int fds[2];

	if (mt_session_welcome(fd, &w, fds, &ignored) < 0)
		return false;
	*entry = w.entry;
	return true;
}

/* All at once: one that is stopped keeps nobody waiting for the others. What does not answer in
 * time keeps its entry; what cannot be asked, or answers something else, loses its name. */
static void ask_all(struct mt_session_entry *entries, int count)
{
	struct pollfd *fds = mt_alloc((size_t)count * sizeof *fds);
	int waiting = 0, looks = LOOKS;

	for (int i = 0; i < count; i++) {
		fds[i] = (struct pollfd){ask(&entries[i]), POLLIN, 0};
		waiting += fds[i].fd >= 0;
		if (fds[i].fd < 0)
			*entries[i].name = '\0';
	}
	while (waiting && looks) {
		if (poll(fds, (nfds_t)count, LOOK_MS) <= 0)
			looks--;
		for (int i = 0; i < count; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			if (!take_answer(fds[i].fd, &entries[i]))
				*entries[i].name = '\0';
			close(fds[i].fd);
			fds[i] = (struct pollfd){-1, 0, 0};
			waiting--;
		}
	}
	for (int i = 0; i < count; i++)
		if (fds[i].fd >= 0)
			close(fds[i].fd);
	free(fds);
}

int mt_session_list(struct mt_session_entry **entries, struct mt_err *err)
{
	int found = find_names(entries, err), count = 0;

	if (found <= 0)
		return found;
	ask_all(*entries, found);
	for (int i = 0; i < found; i++)
		if (*(*entries)[i].name)
			(*entries)[count++] = (*entries)[i];
	return count;
}

static bool descends(pid_t pid, pid_t from)
{
	struct mt_proc_stat s;

	while (pid > 1 && pid != from)
		pid = mt_proc_stat(pid, &s) ? s.parent : 0;
	return pid == from;
}

/* By its socket's name, which has the recorder's number in it unless somebody sat on it. */
static bool is_other_recorder(const char *name, pid_t pid, uid_t *user)
{
	unsigned number;

	return sscanf(name, "@memtui-%u-%u", user, &number) == 2 && *user != getuid() && number > 1
		&& descends(pid, (pid_t)number);
}

bool mt_session_is_of_other(pid_t pid, uid_t *user)
{
	FILE *f = fopen("/proc/net/unix", "re");
	bool found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof line, f)) {
		const char *name = strchr(line, '@');

		found = name && is_other_recorder(name, pid, user);
	}
	if (f)
		fclose(f);
	return found;
}

static bool same_program(pid_t a, pid_t b)
{
	char path[32];
	struct stat of_a, of_b;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)a);
	if (stat(path, &of_a) < 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/exe", (int)b);
	return stat(path, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

pid_t mt_session_front(const struct mt_session_entry *entry)
{
	struct mt_proc_stat recorder;

	/* whose front has gone has another parent */
	return mt_proc_stat(entry->recorder, &recorder)
			&& same_program(entry->recorder, recorder.parent)
		? recorder.parent
		: 0;
}

static int list_processes(const char *name, bool all, struct mt_session_process **processes,
	struct mt_err *err)
{
	struct mt_message ask = {.magic = MT_MESSAGE_MAGIC, .type = MT_MESSAGE_PROCESSES, .a = all};
	union {
		struct mt_session_process line;
		struct mt_welcome end;
	} answer;
	struct iovec part = {&answer, sizeof answer};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	int fd = mt_session_connect(name, err);
	uint32_t count = 0, capacity = 0;
	ssize_t n;
	int result;

	*processes = NULL;
	if (fd < 0)
		return fd;
	n = send(fd, &ask, offsetof(struct mt_message, bytes), MSG_NOSIGNAL);
	while (n >= 0 && (n = mt_session_receive(fd, &message)) == sizeof answer.line) {
		answer.line.command[sizeof answer.line.command - 1] = '\0';
		answer.line.trace_path[sizeof answer.line.trace_path - 1] = '\0';
		MT_GROW(*processes, count, capacity);
		(*processes)[count++] = answer.line;
	}
	result = n < 0 ? mt_fail(err, -errno, "session %s: %s", name, strerror(errno)) : (int)count;
	if (n < 0) {
		free(*processes);
		*processes = NULL;
	}
	close(fd);
	return result;
}

int mt_session_processes(const char *name, struct mt_session_process **processes,
	struct mt_err *err)
{
	return list_processes(name, false, processes, err);
}

int mt_session_all_processes(const char *name, struct mt_session_process **processes,
	struct mt_err *err)
{
	return list_processes(name, true, processes, err);
}
