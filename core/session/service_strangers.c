/* Descendants without a tracer: a program that is static or runs with other rights, or that was
 * started with an environment that does not name the session, asks for nothing. They are children
 * of recorded processes, of each other, or of the recorder. */
#include "core/base/proc.h"
#include "core/session/service_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRONMENT_MAX (256 << 10)
#define CHILDREN_MAX (64 << 10)
#define STRANGERS_MAX 4096

static bool names_no_session(pid_t pid, char *text)
{
	static const char name[] = MT_WIRE_ENVIRONMENT "=";
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, ENVIRONMENT_MAX - 1);
	close(fd);
	if (len < 0 || len == ENVIRONMENT_MAX - 1)
		return false;
	text[len] = '\0';
	for (const char *at = text; at < text + len; at += strlen(at) + 1)
		if (!strncmp(at, name, sizeof name - 1))
			return false;
	return true;
}

bool mt_service_names_no_session(pid_t pid)
{
	char *text = mt_alloc(ENVIRONMENT_MAX);
	bool none = names_no_session(pid, text);

	free(text);
	return none;
}

static struct mt_stranger *find(struct mt_stranger *list, uint32_t count, pid_t pid,
	uint64_t start_time)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].pid == pid && list[i].start_time == start_time)
			return &list[i];
	return NULL;
}

/* One that is forked by a recorded process is no stranger before it executes something. */
static void meet(struct mt_service *s, struct mt_strangers *now, pid_t pid, bool by_stranger,
	char *text)
{
	struct mt_recorder *r = s->recorder;
	const struct mt_stranger *known;
	struct mt_proc_stat stat;

	if (now->count == STRANGERS_MAX || mt_offer_find(r, pid) || !mt_proc_stat(pid, &stat)
		|| mt_proc_has_ended(&stat) || find(now->list, now->count, pid, stat.start_time)
		|| (!by_stranger && stat.flags & MT_PROC_NEVER_EXECUTED))
		return;
	known = find(s->strangers.list, s->strangers.count, pid, stat.start_time);
	if (!(known && known->counted) && !names_no_session(pid, text)
		&& !mt_process_lacks_library(pid, r->launch.library))
		return;
	/* what lives for less than two looks may yet execute something else */
	if (known && !known->counted)
		mt_offer_count_untraced(r, pid);
	MT_GROW(now->list, now->count, now->capacity);
	now->list[now->count++] = (struct mt_stranger){pid, known != NULL, stat.start_time};
}

void mt_service_add_stranger(struct mt_service *s, pid_t pid, uint64_t start_time)
{
	struct mt_strangers *l = &s->strangers;

	MT_GROW(l->list, l->count, l->capacity);
	l->list[l->count++] = (struct mt_stranger){pid, true, start_time};
}

static void meet_children(struct mt_service *s, struct mt_strangers *now, pid_t pid,
	bool is_stranger, char *text)
{
	char name[64], *children = text + ENVIRONMENT_MAX, *at = children, *end;
	long child;

	/* of its first thread: others fork seldom, and what they forked is that one's at their
	 * end */
	snprintf(name, sizeof name, "task/%d/children", (int)pid);
	if (!mt_proc_read(pid, name, children, CHILDREN_MAX))
		return;
	while ((child = strtol(at, &end, 10)) > 0 && end != at) {
		meet(s, now, (pid_t)child, is_stranger, text);
		at = end;
	}
}

void mt_service_look_for_strangers(struct mt_service *s)
{
	struct mt_recorder *r = s->recorder;
	struct mt_strangers now = {0};
	char *text;

	if (atomic_load(&r->stopping))
		return;
	text = mt_alloc(ENVIRONMENT_MAX + CHILDREN_MAX);
	for (uint32_t i = 0; i < r->live_count; i++)
		meet_children(s, &now, r->live[i]->pid, false, text);
	/* those that lost their parents are the recorder's: daemons, for example */
	meet_children(s, &now, getpid(), false, text);
	for (uint32_t i = 0; i < s->strangers.count; i++)
		meet(s, &now, s->strangers.list[i].pid, true, text);
	for (uint32_t i = 0; i < now.count; i++)
		meet_children(s, &now, now.list[i].pid, true, text);
	free(text);
	free(s->strangers.list);
	s->strangers = now;
}
