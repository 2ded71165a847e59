/* The tracer's way out of a process (doc/attach.md): entries as they were, then its memory, when no
 * thread can be in it any more. */
#include "core/session/attachment.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 100      /* to find no thread inside */
#define TRY_US 2000    /* between two of them */
#define PLACES_MOST 16 /* of killed recorders that are taken out at once */
#define HEAD 16u       /* bytes of a function in which an entry lies */
#define JUMP 0xe9      /* and four bytes of distance */
#define JUMP_SIZE 5u

static void unmap(struct mt_tracee *t, uint64_t at, uint64_t size)
{
	uint64_t done;
	struct mt_err ignored;

	if (at)
		mt_attach_system_call(t, SYS_munmap, (const uint64_t[6]){at, size}, &done,
			"unmap memory", &ignored);
}

/* ---- a place --------------------------------------------------------------------------------- */

/* While all stand still. Who holds an address in the place only by chance, too, keeps it there. */
static bool is_inside(struct mt_tracee *t, uint64_t place, uint64_t size)
{
	return place && mt_tracee_inside(t, place, place + size);
}

static int wait_until_outside(const struct mt_attachment *at, struct mt_tracee *t,
	struct mt_err *err)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		bool inside;
		int error = mt_tracee_stop(t, MT_ATTACH_STOP_MS, err);

		if (error)
			return error;
		inside = is_inside(t, at->place, at->image.data);
		for (uint32_t i = 0; i < at->module_count; i++)
			inside |= is_inside(t, at->modules[i].stubs, MT_ATTACH_STUBS_SIZE);
		mt_tracee_resume(t);
		if (!inside)
			return 0;
		usleep(TRY_US);
	}
	return mt_fail(err, -EBUSY,
		"a thread of the process is in a call of its allocator; the tracer's memory stays");
}

/* No entry leads there any more. */
static int take_out(struct mt_attachment *at, struct mt_tracee *t, struct mt_err *err)
{
	struct mt_err ignored;
	uint64_t done;
	int64_t result;
	int error = wait_until_outside(at, t, err);

	if (!error && at->place)
		error = mt_attach_call(t, at->place + at->image.end, &result, err);
	if (error)
		return error;
	if (at->segment >= 0)
		mt_attach_system_call(t, SYS_close, (const uint64_t[6]){(uint64_t)at->segment},
			&done, "close a descriptor", &ignored);
	for (uint32_t i = 0; i < at->module_count; i++)
		unmap(t, at->modules[i].stubs, MT_ATTACH_STUBS_SIZE);
	unmap(t, at->place, at->image.size);
	return 0;
}

static int restore(struct mt_attachment *at, struct mt_tracee *t, struct mt_err *err)
{
	int first = 0, error = mt_tracee_stop(t, MT_ATTACH_STOP_MS, err);

	if (error)
		return error;
	for (uint32_t i = at->module_count; i-- > 0;) {
		struct mt_attached_module *m = &at->modules[i];

		if (!m->plan)
			continue;
		mt_patch_plan_use(m->plan, t);
		error = mt_patch_plan_restore(m->plan, err);
		if (!first)
			first = error;
	}
	mt_tracee_resume(t);
	return first;
}

int mt_attachment_remove(struct mt_attachment *at, struct mt_tracee *t, struct mt_err *err)
{
	int error = at->written ? restore(at, t, err) : 0;

	return error ? error : take_out(at, t, err);
}

void mt_attachment_free(struct mt_attachment *at)
{
	for (uint32_t i = 0; i < at->module_count; i++) {
		mt_patch_plan_free(at->modules[i].plan);
		free(at->modules[i].path);
	}
	mt_attached_image_free(&at->image);
	free(at);
}

/* ---- what a killed recorder has left --------------------------------------------------------- */

struct left {
	struct mt_tracee *tracee;
	const struct mt_attached_image *image;
	struct mt_attachment found; /* the places, as if we had made them */
	uint32_t entries;           /* that led there */
};

static bool is_marked(const struct mt_tracee *t, const struct mt_tracee_mapping *m)
{
	uint8_t first[MT_ATTACHED_MARK_SIZE];

	return m->is_code && !*m->path && !mt_tracee_read(t, m->low, first, sizeof first)
		&& !memcmp(first, mt_attached_mark, sizeof first);
}

/* Of our own build: then it is known what lies where. */
static bool is_ours(const struct left *l, uint64_t place)
{
	size_t size = l->image->begin < l->image->data ? 4096 : 0;
	uint8_t *code = mt_alloc(size + 1);
	uint64_t at = l->image->begin / 4096 * 4096;
	bool same = size && at + size <= l->image->used
		&& !mt_tracee_read(l->tracee, place + at, code, size)
		&& !memcmp(code, l->image->bytes + at, size);

	free(code);
	return same;
}

static void see_place(struct left *l, const struct mt_tracee_mapping *m)
{
	struct mt_attachment *f = &l->found;

	if (m->high - m->low == MT_ATTACH_STUBS_SIZE) {
		if (f->module_count < MT_ATTACH_MODULES)
			f->modules[f->module_count++].stubs = m->low;
	} else if (is_ours(l, m->low)) {
		f->place = m->low;
	}
}

static bool leads_to_stubs(const struct left *l, uint64_t target)
{
	for (uint32_t i = 0; i < l->found.module_count; i++)
		if (target - l->found.modules[i].stubs < MT_ATTACH_STUBS_SIZE)
			return true;
	return false;
}

/* While all stand still: writes back what the file has there. */
static void restore_function(void *context, const char *name, const struct mt_tracee_symbol *s)
{
	struct left *l = context;
	uint8_t now[HEAD], file[HEAD];
	unsigned jump = 0;
	int32_t distance;

	(void)name;
	if (mt_tracee_read(l->tracee, s->address, now, HEAD))
		return;
	while (jump <= HEAD - JUMP_SIZE && now[jump] != JUMP)
		jump += jump ? HEAD : 4; /* at the entry, or behind an endbr64 */
	if (jump > HEAD - JUMP_SIZE)
		return;
	memcpy(&distance, now + jump + 1, sizeof distance);
	if (leads_to_stubs(l, s->address + jump + JUMP_SIZE + (uint64_t)(int64_t)distance)
		&& !mt_tracee_read_file(l->tracee, s->address, file, HEAD)
		&& !mt_tracee_write(l->tracee, s->address + jump, file + jump, JUMP_SIZE))
		l->entries++;
}

static int restore_all(struct left *l, struct mt_err *err)
{
	const char *last = "";
	struct mt_tracee_mapping m;
	int error = mt_tracee_stop(l->tracee, MT_ATTACH_STOP_MS, err);

	if (error)
		return error;
	for (uint32_t i = 0; mt_tracee_mapping(l->tracee, i, &m); i++) {
		if (*m.path != '/' || !m.is_code || !strcmp(m.path, last))
			continue;
		last = m.path;
		mt_tracee_functions(l->tracee, m.path, restore_function, l);
	}
	mt_tracee_resume(l->tracee);
	return 0;
}

/* One place and all stubs. 1: it was taken out, and there may be another; 0: there is none. */
static int recover_one(struct mt_tracee *t, const struct mt_attached_image *image,
	struct mt_err *err)
{
	struct left l = {.tracee = t, .image = image};
	struct mt_tracee_mapping m;
	struct mt_err ignored;
	int error = mt_tracee_refresh(t, err);

	if (error)
		return error;
	for (uint32_t i = 0; mt_tracee_mapping(t, i, &m); i++)
		if (is_marked(t, &m))
			see_place(&l, &m);
	if (!l.found.place && !l.found.module_count)
		return 0;
	l.found.image = *image;
	l.found.segment = -1;
	error = restore_all(&l, err);
	if (error)
		return error;
	/* what stays does no harm */
	return l.found.place && take_out(&l.found, t, &ignored) == 0;
}

int mt_attachment_recover(struct mt_tracee *t, const struct mt_attached_image *image,
	struct mt_err *err)
{
	int more = 1;

	for (unsigned i = 0; i < PLACES_MOST && more > 0; i++)
		more = recover_one(t, image, err);
	return more < 0 ? more : 0;
}

/* ---- the end of a recording ------------------------------------------------------------------ */

static int remove_from(struct mt_recorder *r, pid_t pid, struct mt_err *err)
{
	struct mt_tracee *t = mt_tracee_open(pid, 0, err);
	int error;

	if (!t)
		return -ESRCH;
	error = mt_tracee_avoid_usual(t, err);
	if (!error)
		error = mt_attachment_remove(r->attachment, t, err);
	if (!error)
		error = mt_tracee_leave(t, err);
	mt_tracee_close(t);
	return error;
}

/* Forked children have a copy of all. */
int mt_attach_end(struct mt_recorder *r, struct mt_err *err)
{
	int first = 0;

	if (!r->attachment)
		return mt_fail(err, -EINVAL, "the process was not attached to");
	for (uint32_t i = r->live_count; i-- > 0;) {
		struct mt_process *p = r->live[i];
		int error = p == r->root || p->forked ? remove_from(r, p->pid, err) : 0;

		if (!first)
			first = error;
	}
	mt_attachment_free(r->attachment);
	r->attachment = NULL;
	return first;
}
