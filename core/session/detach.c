/* The tracer's way out of a process (doc/attach.md): entries as they were, then its memory, when no
 * thread can be in it any more. */
#include "core/session/attachment.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 100      /* to find no thread inside */
#define TRY_US 2000    /* between two of them */
#define PLACES_MOST 16 /* of killed recorders that are taken out at once */
#define STUBS_MOST 64
#define SEGMENT MT_WIRE_SEGMENT_PATH " (deleted)" /* as mt_attach_begin has it made */
#define HEAD 16u                                  /* bytes of a function in which an entry lies */
#define JUMP 0xe9                                 /* and four bytes of distance */
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

/* What lies in the process of one or several tracers. */
struct extent {
	uint64_t places[PLACES_MOST], stubs[STUBS_MOST];
	uint32_t place_count, stub_count;
};

static int wait_until_outside(const struct extent *e, const struct mt_attached_image *image,
	struct mt_tracee *t, struct mt_err *err)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		bool inside = false;
		int error = mt_tracee_stop(t, MT_ATTACH_STOP_MS, err);

		if (error)
			return error;
		for (uint32_t i = 0; i < e->place_count && !inside; i++)
			inside = is_inside(t, e->places[i], image->data);
		for (uint32_t i = 0; i < e->stub_count && !inside; i++)
			inside = is_inside(t, e->stubs[i], MT_ATTACH_STUBS_SIZE);
		mt_tracee_resume(t);
		if (!inside)
			return 0;
		usleep(TRY_US);
	}
	return mt_fail(err, -EBUSY,
		"a thread of the process is in a call of its allocator; the tracer's memory stays");
}

/* No entry leads there any more. */
static int take_out(const struct extent *e, const struct mt_attached_image *image,
	struct mt_tracee *t, struct mt_err *err)
{
	int64_t result;
	int error = wait_until_outside(e, image, t, err);

	for (uint32_t i = 0; i < e->place_count && !error; i++)
		error = mt_attach_call(t, e->places[i] + image->end, &result, err);
	for (uint32_t i = 0; i < e->stub_count && !error; i++)
		unmap(t, e->stubs[i], MT_ATTACH_STUBS_SIZE);
	for (uint32_t i = 0; i < e->place_count && !error; i++)
		unmap(t, e->places[i], image->size);
	return error;
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

static void close_segment(const struct mt_attachment *at, struct mt_tracee *t)
{
	struct mt_err ignored;
	uint64_t done;

	if (at->segment >= 0)
		mt_attach_system_call(t, SYS_close, (const uint64_t[6]){(uint64_t)at->segment},
			&done, "close a descriptor", &ignored);
}

int mt_attachment_remove(struct mt_attachment *at, struct mt_tracee *t, struct mt_err *err)
{
	struct extent e = {.places = {at->place}, .place_count = at->place != 0};
	int error = at->written ? restore(at, t, err) : 0;

	if (error)
		return error;
	for (uint32_t i = 0; i < at->module_count; i++)
		if (at->modules[i].stubs)
			e.stubs[e.stub_count++] = at->modules[i].stubs;
	close_segment(at, t);
	return take_out(&e, &at->image, t, err);
}

void mt_attachment_free(struct mt_attachment *at)
{
	for (uint32_t i = 0; i < at->module_count; i++) {
		mt_patch_plan_free(at->modules[i].plan);
		free(at->modules[i].path);
	}
	mt_attached_image_free(&at->image);
	if (at->lock >= 0)
		close(at->lock);
	free(at);
}

/* ---- what a killed recorder has left --------------------------------------------------------- */

struct left {
	struct mt_tracee *tracee;
	const struct mt_attached_image *image;
	struct extent extent;
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
	struct extent *e = &l->extent;

	if (m->high - m->low == MT_ATTACH_STUBS_SIZE) {
		if (e->stub_count < STUBS_MOST)
			e->stubs[e->stub_count++] = m->low;
	} else if (e->place_count < PLACES_MOST && is_ours(l, m->low)) {
		e->places[e->place_count++] = m->low;
	}
}

static bool leads_to_stubs(const struct left *l, uint64_t target)
{
	for (uint32_t i = 0; i < l->extent.stub_count; i++)
		if (target - l->extent.stubs[i] < MT_ATTACH_STUBS_SIZE)
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
		&& !mt_tracee_read_file(l->tracee, s->address, file, HEAD))
		mt_tracee_write(l->tracee, s->address + jump, file + jump, JUMP_SIZE);
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
		mt_patch_plan_functions(l->tracee, m.path, restore_function, l);
	}
	mt_tracee_resume(l->tracee);
	return 0;
}

/* A descriptor of a segment, which the tracer has not come to close. */
static void close_left(struct mt_tracee *t, pid_t pid)
{
	char path[64], target[64];
	struct dirent *entry;
	struct mt_err ignored;
	uint64_t done;
	DIR *all;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	all = opendir(path);
	while (all && (entry = readdir(all))) {
		ssize_t n = readlinkat(dirfd(all), entry->d_name, target, sizeof target - 1);

		target[n > 0 ? n : 0] = '\0';
		if (!strcmp(target, SEGMENT))
			mt_attach_system_call(t, SYS_close,
				(const uint64_t[6]){strtoull(entry->d_name, NULL, 10)}, &done,
				"close a descriptor", &ignored);
	}
	if (all)
		closedir(all);
}

/* Whoever was killed before he had written there. */
static void unmap_unwritten(struct left *l)
{
	uint64_t beside = mt_tracee_beside(l->tracee);
	struct mt_tracee_mapping m;

	for (uint32_t i = 0; beside && mt_tracee_mapping(l->tracee, i, &m); i++)
		if (m.low == beside && m.is_code && !*m.path && !is_marked(l->tracee, &m)) {
			unmap(l->tracee, beside, l->image->size);
			return;
		}
}

/* Mappings that lie side by side are one in the list of the kernel. */
static void see_mapping(struct left *l, struct mt_tracee_mapping m)
{
	while (m.low < m.high) {
		uint64_t end = m.low + 4096;
		struct mt_tracee_mapping one = m;

		while (end < m.high
			&& !is_marked(l->tracee,
				&(struct mt_tracee_mapping){.low = end,
					.path = m.path,
					.is_code = true}))
			end += 4096;
		one.high = end;
		see_place(l, &one);
		m.low = end;
	}
}

int mt_attachment_recover(struct mt_tracee *t, pid_t pid, const struct mt_attached_image *image,
	struct mt_err *err)
{
	struct left l = {.tracee = t, .image = image};
	struct mt_tracee_mapping m;
	struct mt_err ignored;
	uint64_t number;
	/* the first call finds what is ours in the process, or makes it */
	int error = mt_attach_system_call(t, SYS_getpid, (const uint64_t[6]){0}, &number,
		"make a call", err);

	if (!error)
		error = mt_tracee_refresh(t, err);
	if (error)
		return error;
	close_left(t, pid);
	unmap_unwritten(&l);
	for (uint32_t i = 0; mt_tracee_mapping(t, i, &m); i++)
		if (is_marked(t, &m))
			see_mapping(&l, m);
	if (!l.extent.place_count && !l.extent.stub_count)
		return 0;
	error = restore_all(&l, err);
	if (error)
		return error;
	take_out(&l.extent, image, t, &ignored); /* what stays does no harm */
	return 0;
}

/* ---- the end of a recording ------------------------------------------------------------------ */

static int remove_from(struct mt_recorder *r, pid_t pid, struct mt_err *err)
{
	struct mt_tracee *t = mt_tracee_open(pid, MT_TRACEE_SECCOMP, err);
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

/* Forked children have a copy of all. Of one that ends meanwhile nothing has to be taken out. */
int mt_attach_end(struct mt_recorder *r, struct mt_err *err)
{
	struct mt_err why = {0};
	int error, first = 0;

	if (!r->attachment)
		return mt_fail(err, -EINVAL, "the process was not attached to");
	for (uint32_t i = r->live_count; i-- > 0;) {
		struct mt_process *p = r->live[i];

		if (p != r->root && !p->forked)
			continue;
		error = remove_from(r, p->pid, &why);
		if (!error || first || mt_process_has_ended(p)
			|| (p != r->root && (error == -ESRCH || error == -ESTALE)))
			continue;
		first = error;
		if (err)
			*err = why;
	}
	mt_attachment_free(r->attachment);
	r->attachment = NULL;
	return first;
}
