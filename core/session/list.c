/* Running sessions: abstract sockets named as recorders name theirs; and the processes of one. */
#include "core/session/client.h"
#include "core/session/internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_known(const struct mt_session_entry *entries, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(entries[i].name, name))
			return true;
	return false;
}

static bool ask(const char *name, struct mt_session_entry *entry)
{
	struct mt_welcome w;
	struct mt_err err = {0};
	int fds[2], fd = mt_session_connect(name, &err);
	bool answered = fd >= 0 && mt_session_greet(fd, MT_MESSAGE_LIST, 0, &w, fds, &err) == 0;

	if (answered)
		*entry = w.entry;
	if (fd >= 0)
		close(fd);
	return answered;
}

int mt_session_list(struct mt_session_entry **entries, struct mt_err *err)
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
		struct mt_session_entry entry;

		if (!name)
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (is_known(*entries, (int)count, name + 1) || !ask(name + 1, &entry))
			continue;
		MT_GROW(*entries, count, capacity);
		(*entries)[count++] = entry;
	}
	fclose(f);
	return (int)count;
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
	int fd = mt_session_connect(name, err);
	uint32_t count = 0, capacity = 0;
	ssize_t n;

	*processes = NULL;
	if (fd < 0)
		return fd;
	if (send(fd, &ask, offsetof(struct mt_message, bytes), MSG_NOSIGNAL) >= 0)
		while ((n = recv(fd, &answer, sizeof answer, 0)) == sizeof answer.line) {
			answer.line.command[sizeof answer.line.command - 1] = '\0';
			answer.line.trace_path[sizeof answer.line.trace_path - 1] = '\0';
			MT_GROW(*processes, count, capacity);
			(*processes)[count++] = answer.line;
		}
	close(fd);
	return (int)count;
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
