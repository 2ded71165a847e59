/* Forked children without an event: a tracer asks for a segment at the first event of its process,
 * so the table does not have them, but lists do. */
#include "core/session/service_parts.h"
#include "core/session/snapshot_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHILDREN_MAX (64 << 10)
#define SILENT_MAX 4096

static bool is_silent(struct mt_recorder *r, pid_t pid)
{
	struct mt_proc_stat stat;

	return !mt_offer_find(r, pid) && mt_proc_stat(pid, &stat) && !mt_proc_has_ended(&stat)
		&& stat.flags & MT_PROC_NEVER_EXECUTED && mt_process_maps_segment(pid)
		&& !mt_snapshot_file_is_child(r, pid);
}

static bool has(const struct mt_silent *list, pid_t pid)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i].pid == pid)
			return true;
	return false;
}

/* Of the first thread of pid. parent: as whose children they are shown. */
static void add_children(struct mt_recorder *r, struct mt_silent *list, pid_t pid, pid_t parent,
	char *text)
{
	char name[64], *at = text, *end;
	long child;

	snprintf(name, sizeof name, "task/%d/children", (int)pid);
	if (!mt_proc_read(pid, name, text, CHILDREN_MAX))
		return;
	for (; (child = strtol(at, &end, 10)) > 0 && end != at; at = end) {
		if (list->count == SILENT_MAX || has(list, (pid_t)child)
			|| !is_silent(r, (pid_t)child))
			continue;
		MT_GROW(list->items, list->count, list->capacity);
		list->items[list->count].pid = (pid_t)child;
		list->items[list->count++].parent = parent;
	}
}

void mt_service_look_for_silent(struct mt_recorder *r, struct mt_silent *list)
{
	char *text = mt_alloc(CHILDREN_MAX);

	list->count = list->sent = 0;
	for (uint32_t i = 0; i < r->live_count; i++)
		add_children(r, list, r->live[i]->pid, r->live[i]->pid, text);
	/* Those that lost their parents are the recorder's children. The program is the parent that
	 * is known to all of them. */
	add_children(r, list, getpid(), r->root->pid, text);
	for (uint32_t i = 0; i < list->count; i++)
		add_children(r, list, list->items[i].pid, list->items[i].pid, text);
	free(text);
}

bool mt_service_describe_silent(struct mt_recorder *r, const struct mt_silent *list, uint32_t index,
	struct mt_session_process *line)
{
	struct mt_buffer arguments = {0};
	pid_t pid = list->items[index].pid;

	*line = (struct mt_session_process){
		.pid = pid,
		.parent = list->items[index].parent,
		.wait_status = MT_STATUS_UNKNOWN,
		.recorded = 1,
		.forked = 1,
		.alive = 1,
		.silent = 1,
	};
	if (!is_silent(r, pid)) /* by now it has a line of its own, or has ended */
		return false;
	mt_process_arguments(pid, true, &arguments);
	mt_process_command(pid, &arguments, line->command, sizeof line->command);
	mt_buffer_free(&arguments);
	return true;
}
