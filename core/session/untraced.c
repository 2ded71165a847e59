/* Processes that are found without the tracer: each is told by the trace of the recorded process
 * that it came from. */
#include "core/model/blind.h"
#include "core/session/internal.h"
#include "core/session/target.h"

#include <stdlib.h>
#include <string.h>

/* One of them, until the draining thread takes it. */
struct mt_untraced {
	struct mt_untraced *next;
	pid_t pid;
	/* NONE: whatever the tracer's note said, the process is recorded */
	enum mt_blind_reason reason;
	bool taken_back; /* it turned out to be recorded */
	char path[];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The tracer left a note before the exec: of this very process, or of this program. Then it is told
 * already. A note stands for no more processes than it counts; what these fork runs the same
 * program, but is not among them. Lock. */
static bool is_noted(struct mt_process *p, const struct mt_untraced *u)
{
	const struct mt_wire_blind *notes =
		(const struct mt_wire_blind *)((const uint8_t *)p->header + MT_WIRE_BLIND_OFFSET);

	for (int i = 0; p->header && i < MT_WIRE_BLIND_PLACES; i++) {
		struct mt_wire_blind note;

		if (__atomic_load_n(&notes[i].state, __ATOMIC_ACQUIRE) != MT_WIRE_BLIND_SET)
			continue;
		note = notes[i];
		note.path[sizeof note.path - 1] = '\0';
		if (note.count && note.pid && note.pid == (uint32_t)u->pid)
			return true;
		/* the first is known by its number */
		if (note.count > (note.pid != 0) + p->noted[i] && note.reason == u->reason
			&& !strcmp(base_name(note.path), base_name(u->path))) {
			p->noted[i]++;
			return true;
		}
	}
	return false;
}

static struct mt_untraced *look(pid_t pid)
{
	char path[4096];
	enum mt_blind_reason reason = mt_target_of_process(pid, path, sizeof path);
	struct mt_untraced *u;

	if (!*path) /* an entry without a name holds what tracers have counted */
		strcpy(path, "(unknown)");
	u = mt_alloc(sizeof *u + strlen(path) + 1);
	u->pid = pid;
	u->reason = reason;
	memcpy(u->path, path, strlen(path) + 1);
	return u;
}

/* Lock. */
static void push(struct mt_process *teller, struct mt_untraced *u)
{
	u->next = teller->found;
	teller->found = u;
	teller->untold += u->taken_back ? -1 : 1;
}

void mt_untraced_add(struct mt_recorder *r, struct mt_process *teller, pid_t pid)
{
	struct mt_process *self = mt_offer_find(r, pid);
	struct mt_untraced *u = look(pid);
	bool noted;

	pthread_mutex_lock(&r->lock);
	noted = is_noted(teller, u) || (self && is_noted(self, u));
	if (!noted)
		push(teller, u);
	pthread_mutex_unlock(&r->lock);
	if (noted)
		free(u);
}

void mt_untraced_add_root(struct mt_recorder *r)
{
	struct mt_untraced *u = look(r->root->pid), *copy;
	size_t size = sizeof *u + strlen(u->path) + 1;

	copy = mt_alloc(size);
	memcpy(copy, u, size);
	copy->taken_back = true;
	free(r->root->left_as);
	r->root->left_as = copy;
	pthread_mutex_lock(&r->lock);
	if (is_noted(r->root, u)) {
		free(u);
		free(copy);
		r->root->left_as = NULL;
	} else {
		push(r->root, u);
	}
	pthread_mutex_unlock(&r->lock);
}

void mt_untraced_recorded(struct mt_recorder *r, struct mt_process *teller, pid_t pid)
{
	struct mt_untraced *u = mt_alloc(sizeof *u + 1);
	bool noted;

	u->pid = pid;
	pthread_mutex_lock(&r->lock);
	noted = is_noted(teller, u);
	if (noted) {
		u->next = teller->found;
		teller->found = u;
	}
	pthread_mutex_unlock(&r->lock);
	if (!noted)
		free(u);
}

void mt_untraced_take_back_root(struct mt_recorder *r)
{
	if (!r->root->left_as)
		return;
	pthread_mutex_lock(&r->lock);
	push(r->root, r->root->left_as);
	pthread_mutex_unlock(&r->lock);
	r->root->left_as = NULL;
}

/* Lock. The process that tells of the end of `from`: its parent if that is recorded, else the
 * root. */
static struct mt_process *parent_of(struct mt_recorder *r, const struct mt_process *from)
{
	for (uint32_t i = 0; i < r->live_count; i++)
		if (r->live[i]->pid == from->parent)
			return r->live[i];
	return r->root;
}

void mt_untraced_pass_on(struct mt_recorder *r, const struct mt_profile *p, struct mt_process *from,
	bool followed)
{
	struct mt_process *to;

	pthread_mutex_lock(&r->lock);
	to = followed ? from : from == r->root ? NULL : parent_of(r, from);
	for (uint32_t i = 0; to && i < p->blind_count; i++) {
		const struct mt_blind *b = &p->blind[i];
		const char *path = mt_strings_get(&p->strings, b->path);

		if (mt_blind_is_own(b) || (!followed && b->pid != p->info.pid))
			continue;
		for (uint32_t n = 0; n < b->count; n++) {
			struct mt_untraced *u = mt_alloc(sizeof *u + strlen(path) + 1);

			u->pid = (pid_t)b->pid;
			u->reason = b->reason;
			memcpy(u->path, path, strlen(path) + 1);
			push(to, u);
		}
	}
	pthread_mutex_unlock(&r->lock);
}

/* What was found first comes first: an entry stands before it is taken back. */
static struct mt_untraced *reversed(struct mt_untraced *u)
{
	struct mt_untraced *first = NULL, *next;

	for (; u; u = next) {
		next = u->next;
		u->next = first;
		first = u;
	}
	return first;
}

static void take_back_note(struct mt_profile *p, uint32_t pid)
{
	for (uint32_t i = 0; i < p->blind_count; i++)
		if (p->blind[i].pid == pid && p->blind[i].count && !mt_blind_is_own(&p->blind[i]))
			mt_blind_set(p, i, p->blind[i].count - 1, 0);
}

static void take(struct mt_profile *p, const struct mt_untraced *u)
{
	uint32_t at, count;

	if (u->reason == MT_BLIND_NONE) {
		take_back_note(p, (uint32_t)u->pid);
		return;
	}
	at = mt_blind_add(p, u->reason, (uint32_t)u->pid, u->path, 0, 0);
	count = p->blind[at].count;
	mt_blind_set(p, at, u->taken_back ? count - (count > 0) : count + 1, 0);
}

void mt_untraced_take(struct mt_recorder *r, struct mt_process *teller, struct mt_profile *profile)
{
	struct mt_untraced *u, *next;

	pthread_mutex_lock(&r->lock);
	u = reversed(teller->found);
	teller->found = NULL;
	teller->untold = 0;
	pthread_mutex_unlock(&r->lock);
	for (; u; u = next) {
		next = u->next;
		take(profile, u);
		free(u);
	}
	mt_blind_derive(profile);
}
