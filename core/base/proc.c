#include "core/base/proc.h"

#include "core/base/buffer.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u /* the least that is mapped */

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

size_t mt_proc_link(pid_t pid, const char *name, char *to, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%d/%s", (int)pid, name);
	n = readlink(link, to, size - 1);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* ---- what was executed ---- */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A string of the process, page by page. */
static bool read_string(pid_t pid, uintptr_t at, char *to, size_t size)
{
	for (size_t done = 0, len; done < size; done += len) {
		len = PAGE - (at + done) % PAGE;
		if (len > size - done)
			len = size - done;
		struct iovec here = {to + done, len}, there = {(void *)(at + done), len};

		if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)len)
			return false;
		if (memchr(to + done, '\0', len))
			return *to;
	}
	return false;
}

/* As it was given to execve: the kernel keeps it at the top of the first stack. */
static bool read_given(pid_t pid, char *to, size_t size)
{
	unsigned long auxv[128][2];
	size_t len = mt_proc_read(pid, "auxv", (char *)auxv, sizeof auxv);

	for (size_t i = 0; i < len / sizeof *auxv && auxv[i][0] != AT_NULL; i++)
		if (auxv[i][0] == AT_EXECFN)
			return read_string(pid, auxv[i][1], to, size);
	return false;
}

void mt_proc_executed(pid_t pid, char *to, size_t size)
{
	char given[4096], directory[4096], file[64];
	char *path;

	snprintf(file, sizeof file, "/proc/%d/exe", (int)pid);
	mt_proc_link(pid, "exe", to, size);
	if (!read_given(pid, given, sizeof given))
		return;
	path = *given == '/' ? mt_strdup(given)
		: mt_proc_link(pid, "cwd", directory, sizeof directory)
		? mt_format("%s/%s", directory, given)
		: mt_strdup("");
	for (char *dot; (dot = strstr(path, "/./"));)
		memmove(dot, dot + 2, strlen(dot + 2) + 1);
	/* from here, where names are looked up: in another root the path leads elsewhere */
	if (*path && strlen(path) < size && same_file(path, file))
		memcpy(to, path, strlen(path) + 1);
	free(path);
}
