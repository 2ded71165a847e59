#include "tui/candidates.h"

#include "core/base/buffer.h"
#include "core/base/proc.h"
#include "core/base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

static const struct mt_candidate *find(const struct mt_candidates *c, pid_t pid,
	uint64_t start_time)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->items[i].pid == pid && c->items[i].start_time == start_time)
			return &c->items[i];
	return NULL;
}

static uint64_t resident(pid_t pid)
{
	unsigned long long all, pages;
	char text[128];

	if (!mt_proc_read(pid, "statm", text, sizeof text)
		|| sscanf(text, "%llu %llu", &all, &pages) != 2)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void read_command(pid_t pid, char *to, size_t size)
{
	struct mt_buffer text = {0};
	char raw[1024];
	size_t n = mt_proc_read(pid, "cmdline", raw, sizeof raw);

	while (n && !raw[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (!raw[i])
			raw[i] = ' ';
	raw[n] = '\0';
	if (!n && (n = mt_proc_read(pid, "comm", raw, sizeof raw)))
		raw[strcspn(raw, "\n")] = '\0';
	mt_text_add(&text, MT_TEXT_LINE, raw);
	snprintf(to, size, "%.*s", (int)text.len, text.len ? (char *)text.data : "");
	mt_buffer_free(&text);
}

static void add(struct mt_candidates *next, const struct mt_candidates *before, pid_t pid,
	bool recorded, const char *command)
{
	struct mt_candidate c = {.pid = pid, .recorded = recorded};
	const struct mt_candidate *known;
	struct mt_proc_stat s;

	if (!mt_proc_stat(pid, &s) || mt_proc_has_ended(&s) || s.flags & KERNEL_THREAD)
		return;
	c.start_time = s.start_time;
	c.rss_bytes = resident(pid);
	if (!c.rss_bytes)
		return;
	known = find(before, pid, c.start_time);
	c.first_bytes = known ? known->first_bytes : c.rss_bytes;
	if (command)
		snprintf(c.command, sizeof c.command, "%s", command);
	else
		read_command(pid, c.command, sizeof c.command);
	MT_GROW(next->items, next->count, next->capacity);
	next->items[next->count++] = c;
}

static bool is_memtui(const struct mt_session_entry *entries, int count, pid_t pid)
{
	bool is = pid == getpid();

	for (int i = 0; i < count && !is; i++)
		is = entries[i].recorder == pid || mt_session_front(&entries[i]) == pid;
	return is;
}

static bool is_listed(const struct mt_candidates *c, pid_t pid)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->items[i].pid == pid)
			return true;
	return false;
}

static void add_processes(struct mt_candidates *next, const struct mt_candidates *before,
	const struct mt_session_entry *entries, int count)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		char path[300];
		struct stat owner;

		snprintf(path, sizeof path, "/proc/%s", entry->d_name);
		if (pid > 0 && stat(path, &owner) == 0 && owner.st_uid == geteuid()
			&& !is_memtui(entries, count, pid) && !is_listed(next, pid))
			add(next, before, pid, false, NULL);
	}
	if (d)
		closedir(d);
}

static void add_recorded(struct mt_candidates *next, const struct mt_candidates *before,
	const struct mt_session_entry *entry)
{
	struct mt_session_process *processes = NULL;
	struct mt_err ignored;
	int count = entry->program ? mt_session_processes(entry->name, &processes, &ignored) : 0;

	for (int i = 0; i < count; i++)
		if (processes[i].alive)
			add(next, before, processes[i].pid, true,
				processes[i].pid == entry->program ? entry->command
								   : processes[i].command);
	free(processes);
}

static int compare(const void *a, const void *b)
{
	const struct mt_candidate *x = a, *y = b;

	if (x->recorded != y->recorded)
		return x->recorded ? -1 : 1;
	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes > y->rss_bytes ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void mt_candidates_look(struct mt_candidates *c)
{
	struct mt_session_entry *entries = NULL;
	struct mt_candidates next = {0};
	struct mt_err ignored;
	int count = mt_session_list(&entries, &ignored);

	for (int i = 0; i < count; i++)
		add_recorded(&next, c, &entries[i]);
	add_processes(&next, c, entries, count);
	free(entries);
	if (next.count)
		qsort(next.items, next.count, sizeof *next.items, compare);
	free(c->items);
	*c = next;
}

void mt_candidates_free(struct mt_candidates *c)
{
	free(c->items);
	*c = (struct mt_candidates){0};
}
