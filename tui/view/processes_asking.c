/* Lists the processes of the session: the recorder tells, or the traces beside this one do. */
#include "core/base/buffer.h"
#include "tui/data/job.h"
#include "tui/data/switch.h"
#include "tui/view/processes_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_MS 1000 /* between two looks at a session that runs */

struct mt_processes_state *mt_processes_state(struct mt_app *app)
{
	if (!app->processes)
		app->processes = mt_alloc(sizeof *app->processes);
	return app->processes;
}

void mt_processes_free(struct mt_processes_state *s)
{
	if (!s)
		return;
	mt_family_free(&s->family);
	free(s);
}

/* ---- asking ---- */

struct question {
	char *session, *path; /* one of them, or none */
	/* of a session that is over: what was known of it */
	struct mt_session_process *known;
	uint32_t known_count;
	struct mt_family family;
};

static bool has_process(const struct mt_family *f, pid_t pid)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->items[i].pid == pid)
			return true;
	return false;
}

/* Those that left no trace, or none that can be read. */
static void add_known(struct question *q)
{
	struct mt_family *f = &q->family;
	bool truncated = f->truncated;
	uint32_t count = f->count;
	struct mt_session_process *items =
		mt_resize(NULL, ((size_t)count + q->known_count) * sizeof *items);

	if (count)
		memcpy(items, f->items, count * sizeof *items);
	for (uint32_t i = 0; i < q->known_count; i++)
		if (!has_process(f, q->known[i].pid)) {
			items[count] = q->known[i];
			items[count++].alive = 0;
		}
	mt_family_make(f, items, count);
	f->truncated = truncated;
}

static int ask_traces(struct mt_job *job, struct question *q, struct mt_err *err)
{
	int result =
		q->path ? mt_family_of_trace(&q->family, q->path, mt_job_progress, job, err) : 0;

	if (result == -ECANCELED || !q->known_count)
		return result;
	add_known(q);
	return 0;
}

static int ask(struct mt_job *job, void *context, struct mt_err *err)
{
	struct question *q = context;
	struct mt_session_process *items;
	int count;

	if (!q->session)
		return ask_traces(job, q, err);
	count = mt_session_all_processes(q->session, &items, err);
	if (count < 0)
		return count;
	mt_family_make(&q->family, items, (uint32_t)count);
	return 0;
}

bool mt_processes_is_all(const struct mt_app *app, const struct mt_session_process *p)
{
	return !p->pid && !*p->trace_path && mt_app_home(app)->members.count;
}

bool mt_processes_is_shown(struct mt_app *app, const struct mt_session_process *p)
{
	const struct mt_data *d = &app->data;

	const char *path = mt_recording_trace_path(d->recording);

	if (path)
		return !strcmp(path, p->trace_path);
	return (uint32_t)p->pid
		== (d->whole->info.pid || !d->client
				? d->whole->info.pid
				: (uint32_t)mt_client_entry(d->client)->program)
		&& (!d->client || !p->start_unix_ns || !d->whole->info.start_unix_ns
			|| p->start_unix_ns == d->whole->info.start_unix_ns);
}

static void answer(struct mt_app *app, void *context, int result, const struct mt_err *err)
{
	struct question *q = context;
	struct mt_processes_state *s = app ? mt_processes_state(app) : NULL;
	uint32_t at = UINT32_MAX;

	if (s) {
		s->asked = false;
		snprintf(s->error, sizeof s->error, "%s", result < 0 ? err->text : "");
	}
	if (s && (!s->made || s->last))
		app->dirty = true;
	if (s && result >= 0) {
		struct mt_family old = s->family;

		s->family = q->family;
		q->family = old;
		if (s->order != MT_PROCESSES_BY_TREE)
			mt_processes_sort(&s->family, s->order, s->reversed);
		for (uint32_t i = 0; i < s->family.count; i++)
			if (s->made ? mt_processes_identity(&s->family.items[i]) == s->list.identity
				    : mt_processes_is_shown(app, &s->family.items[i]))
				at = i;
		s->list.held = true;
		mt_list_keep(&s->list, s->family.count, at);
		if (s->family.count)
			s->list.identity =
				mt_processes_identity(&s->family.items[s->list.selected]);
		s->made = true;
	}
	mt_family_free(&q->family);
	free(q->session);
	free(q->path);
	free(q->known);
	free(q);
}

static struct mt_session_process *itself(const struct mt_app *app)
{
	struct mt_session_process *item = mt_alloc(sizeof *item);

	mt_family_describe(item, app->data.whole, "");
	item->alive = app->data.live;
	item->failed &= !app->data.live;
	return item;
}

/* Of a stand-alone recording, another tool's or a pipe's: nothing is known but what is shown. */
static void only_itself(struct mt_app *app)
{
	struct mt_processes_state *s = mt_processes_state(app);

	mt_family_make(&s->family, itself(app), 1);
	s->list.count = 1;
	s->made = true;
	app->dirty = true;
}

static struct question *new_question(struct mt_app *app, bool live, bool over)
{
	const struct mt_processes_state *s = app->processes;
	struct question *q = mt_alloc(sizeof *q);
	const struct mt_session_entry *entry =
		live || over ? mt_client_entry(mt_app_home(app)->client) : NULL;
	const char *path = over ? entry->trace_path : NULL;

	if (live)
		q->session = mt_strdup(entry->name);
	else if (!over)
		path = mt_recording_trace_path(app->data.recording);
	if (path && strcmp(path, "-"))
		q->path = mt_strdup(path);
	if (!over)
		return q;
	q->known_count = s->made ? s->family.count : 1;
	if (!s->made) {
		q->known = itself(app);
		return q;
	}
	q->known = mt_resize(NULL, ((size_t)q->known_count + 1) * sizeof *q->known);
	for (uint32_t i = 0; i < q->known_count; i++)
		q->known[i] = s->family.items[i];
	return q;
}

/* A set knows its members. */
static void take_members(struct mt_app *app, const struct mt_family *members)
{
	struct mt_processes_state *s = mt_processes_state(app);
	uint32_t at = UINT32_MAX;

	mt_family_free(&s->family);
	s->family = *members;
	s->family.items = mt_resize(NULL, ((size_t)members->count + 1) * sizeof *members->items);
	s->family.depths = mt_resize(NULL, ((size_t)members->count + 1) * sizeof *members->depths);
	memcpy(s->family.items, members->items, members->count * sizeof *members->items);
	memcpy(s->family.depths, members->depths, members->count * sizeof *members->depths);
	if (s->order != MT_PROCESSES_BY_TREE)
		mt_processes_sort(&s->family, s->order, s->reversed);
	for (uint32_t i = 0; i < s->family.count; i++)
		if (mt_processes_is_shown(app, &s->family.items[i]))
			at = i;
	mt_list_keep(&s->list, s->family.count, at);
	s->list.identity = mt_processes_identity(&s->family.items[s->list.selected]);
	s->made = true;
	app->dirty = true;
}

uint64_t mt_processes_tend(struct mt_app *app, uint64_t now)
{
	static const struct mt_work work = {ask, answer, NULL};
	static const struct mt_work shown = {ask, answer, "reading the traces beside this one"};
	struct mt_data *home = mt_app_home(app);
	bool live = home->client && !home->recorder_gone;
	bool over = home->client && home->recorder_gone;
	struct mt_processes_state *s;

	if (app->view != MT_VIEW_PROCESSES)
		return UINT64_MAX;
	s = mt_processes_state(app);
	if (s->asked || (s->made && (app->data.frozen || (!live && (!over || s->last)))))
		return UINT64_MAX;
	if (s->made && live && now < s->next_ms)
		return s->next_ms;
	if (home->members.count) {
		take_members(app, &home->members);
		return UINT64_MAX;
	}
	s->next_ms = now + AGAIN_MS + s->family.count; /* a long list less often */
	if (!live && !over && !mt_recording_trace_path(app->data.recording)) {
		only_itself(app);
		return UINT64_MAX;
	}
	s->asked = true;
	s->last = over;
	mt_job_start(app, live ? &work : &shown, new_question(app, live, over));
	return UINT64_MAX;
}
