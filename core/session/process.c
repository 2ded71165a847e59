/* What the kernel says of a process of the session. */
#include "core/base/text.h"
#include "core/session/internal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Linux 6.13 and 6.15; also where the headers are older. */
struct exit_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};
#define GET_INFO _IOWR(0xFF, 11, struct exit_info)
#define INFO_EXIT (1ull << 3)
_Static_assert(sizeof(struct exit_info) == 64, "as the kernel's first version has it");

/* If there is no pidfd, or it cannot be asked. */
static bool looks_ended(const struct mt_process *p)
{
	struct mt_proc_stat s;

	return !mt_proc_stat(p->pid, &s) || s.start_time != p->start_time || mt_proc_has_ended(&s);
}

bool mt_process_has_ended(const struct mt_process *p)
{
	struct pollfd fd = {p->pidfd, POLLIN, 0};
	int ready = p->pidfd < 0 ? -1 : poll(&fd, 1, 0);

	return ready < 0 ? looks_ended(p) : ready > 0;
}

bool mt_process_was_reaped(const struct mt_process *p)
{
	struct pollfd fd = {p->pidfd, 0, 0}; /* POLLHUP; Linux 6.9 */

	return poll(&fd, 1, 0) > 0;
}

bool mt_process_is_gone(const struct mt_process *p)
{
	struct mt_proc_stat s;

	return mt_process_was_reaped(p) || !mt_proc_stat(p->pid, &s)
		|| s.start_time != p->start_time;
}

static bool ask_pidfd(int pidfd, int *status)
{
	struct exit_info info = {.mask = INFO_EXIT};

	if (ioctl(pidfd, GET_INFO, &info) < 0 || !(info.mask & INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

/* While it is a zombie its line tells, to those who may look into it: of 0 only root knows that it
 * was not withheld. Once it is reaped its pidfd tells. */
int mt_process_status(const struct mt_process *p)
{
	struct mt_proc_stat s;
	int status;

	if (ask_pidfd(p->pidfd, &status))
		return status;
	if (mt_proc_stat(p->pid, &s) && s.state == 'Z' && s.start_time == p->start_time
		&& (s.wait_status != 0 || geteuid() == 0))
		return s.wait_status;
	if (ask_pidfd(p->pidfd, &status))
		return status;
	return MT_STATUS_UNKNOWN;
}

static bool maps(pid_t pid, const char *name)
{
	char path[64], line[4352];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)mt_proc_thread(pid));
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = strstr(line, name) != NULL;
	if (f)
		fclose(f);
	return found;
}

bool mt_process_maps_segment(pid_t pid)
{
	return maps(pid, "memfd:memtui-segment");
}

bool mt_process_maps_library(pid_t pid, const char *library)
{
	return maps(pid, strrchr(library, '/'));
}

bool mt_process_lacks_library(pid_t pid, const char *library)
{
	return maps(pid, "[stack]") && !maps(pid, strrchr(library, '/'));
}

void mt_process_arguments(pid_t pid, bool title, struct mt_buffer *text)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)mt_proc_thread(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (mt_buffer_reserve(text, 4096), (n = read(fd, text->data + text->len, 4096)) > 0)
		text->len += (size_t)n;
	close(fd);
	while (title && text->len && !text->data[text->len - 1])
		text->len--;
	if (text->len && text->data[text->len - 1])
		mt_buffer_add(text, "", 1);
}

static void put_words(const struct mt_buffer *arguments, char *to, size_t size)
{
	size_t n = arguments->len < size ? arguments->len : size - 1;
	struct mt_buffer text = {0};

	memcpy(to, arguments->data, n);
	while (n && !to[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (!to[i])
			to[i] = ' ';
	to[n] = '\0';
	mt_text_add(&text, MT_TEXT_LINE, to);
	snprintf(to, size, "%.*s", (int)text.len, text.len ? (char *)text.data : "");
	mt_buffer_free(&text);
}

void mt_process_command(pid_t pid, const struct mt_buffer *arguments, char *to, size_t size)
{
	char name[64];
	size_t n;

	if (arguments->len) {
		put_words(arguments, to, size);
		return;
	}
	n = mt_proc_read(pid, "comm", name, sizeof name);
	if (n && name[n - 1] == '\n')
		name[n - 1] = '\0';
	snprintf(to, size, "[%s]", name);
}

/* Whether it still is the program that it was forked as. */
static bool is_as_forked(const struct mt_process *p)
{
	struct mt_proc_stat s;

	return mt_proc_stat(p->pid, &s) && s.start_time == p->start_time
		&& s.flags & MT_PROC_NEVER_EXECUTED;
}

bool mt_process_retitled(const struct mt_process *p, struct mt_buffer *arguments)
{
	struct mt_buffer now = {0};
	bool changed;

	mt_process_arguments(p->pid, true, &now);
	changed = now.len
		&& (now.len != arguments->len || memcmp(now.data, arguments->data, now.len) != 0)
		&& is_as_forked(p);
	if (changed) {
		struct mt_buffer before = *arguments;

		*arguments = now;
		now = before;
	}
	mt_buffer_free(&now);
	return changed;
}
