#include "core/base/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t mt_proc_read(pid_t pid, const char *name, char *to, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, to, size - 1) : 0;
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* Fields are counted from 1, as proc(5) does. The second is a name that may hold anything. */
bool mt_proc_stat(pid_t pid, struct mt_proc_stat *s)
{
	char text[1024], *at;

	*s = (struct mt_proc_stat){.wait_status = MT_STATUS_UNKNOWN};
	if (!mt_proc_read(pid, "stat", text, sizeof text) || !(at = strrchr(text, ')')))
		return false;
	for (int field = 3; *at; field++) {
		at++;
		if (*at == ' ')
			at++;
		if (field == 3)
			s->state = *at;
		else if (field == 4)
			s->parent = (pid_t)strtol(at, NULL, 10);
		else if (field == 9)
			s->flags = (unsigned)strtoul(at, NULL, 10);
		else if (field == 20)
			s->threads = (uint32_t)strtoul(at, NULL, 10);
		else if (field == 22)
			s->start_time = strtoull(at, NULL, 10);
		else if (field == 28)
			s->stack_start = strtoull(at, NULL, 10);
		else if (field == 52 && s->state == 'Z')
			s->wait_status = (int)strtol(at, NULL, 10);
		at += strcspn(at, " ");
	}
	return true;
}

bool mt_proc_has_ended(const struct mt_proc_stat *s)
{
	return s->state == 'X' || (s->state == 'Z' && s->threads <= 1);
}

pid_t mt_proc_thread(pid_t pid)
{
	struct mt_proc_stat s;
	struct dirent *entry;
	pid_t found = pid;
	char path[64];
	DIR *threads;

	if (!mt_proc_stat(pid, &s) || s.state != 'Z' || mt_proc_has_ended(&s))
		return pid;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && found == pid && (entry = readdir(threads))) {
		pid_t thread = (pid_t)atoi(entry->d_name);

		if (thread > 0 && mt_proc_stat(thread, &s) && s.state != 'Z' && s.state != 'X')
			found = thread;
	}
	if (threads)
		closedir(threads);
	return found;
}
