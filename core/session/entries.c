/* Allocators that a program or a library carries inside itself: the entries of their functions are
 * made to lead to the tracer's hooks (doc/entry-patches.md). All in the service thread. */
#include "core/inject/inject.h"
#include "core/session/internal.h"
#include "core/session/objects.h"
#include "core/session/patch_plan.h"
#include "core/symbol/bundled.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_MS 1000
#define TRIES 100
#define TRY_US 1000

/* ---- what is wanted -------------------------------------------------------------------------- */

bool mt_entries_has_hooks(const char *allocator)
{
	return !strcmp(allocator, "jemalloc") || !strcmp(allocator, "mimalloc")
		|| !strcmp(allocator, "tcmalloc") || allocator == mt_bundled_own_malloc
		|| allocator == mt_objects_named;
}

static bool was_tried(const uint64_t *tried, uint64_t start)
{
	for (unsigned i = 0; tried && i < MT_WIRE_TRIED_MAX && tried[i]; i++)
		if (tried[i] == start)
			return true;
	return false;
}

/* Whether stubs for the module have a place, which is then in the answer. */
static bool place(struct mt_tracee *t, const char *path, const uint64_t *tried,
	struct mt_wire_reply *reply)
{
	struct mt_patch_range module, *taken = NULL;
	struct mt_err err = {0};
	size_t count;
	bool placed = mt_patch_plan_mappings(t, path, &module, &taken, &count)
		&& !was_tried(tried, module.low)
		&& mt_patch_place(&reply->stubs, taken, count, module.low, module.high,
			   MT_PATCH_PLAN_STUBS, &err)
			== 0;

	free(taken);
	if (!placed)
		return false;
	reply->stub_bytes = MT_PATCH_PLAN_STUBS;
	reply->module_start = module.low;
	reply->module_end = module.high;
	return true;
}

/* What is not patched is a blind spot, also if the process ends at once. */
static void note_all(struct mt_recorder *r, pid_t pid, const struct mt_objects *objects)
{
	struct mt_process *p = mt_offer_find(r, pid);

	pthread_mutex_lock(&r->lock);
	for (uint32_t i = 0; i < objects->found_count && p && p->header; i++) {
		const struct mt_object_found *found = &objects->found[i];

		mt_carriers_note(r, p->header->id, found->path, found->allocator);
		if (found->allocator == mt_objects_named)
			atomic_store(&r->named_found, true);
	}
	pthread_mutex_unlock(&r->lock);
}

void mt_entries_offer(struct mt_recorder *r, pid_t pid, const uint64_t *tried,
	struct mt_wire_reply *reply)
{
	struct mt_objects objects = {0};
	struct mt_tracee *t = NULL;
	struct mt_err err = {0};
	bool placed = false;

	if (r->options->no_patch || !mt_objects_look(&objects, r->objects, pid)) {
		mt_objects_free(&objects);
		return;
	}
	note_all(r, pid, &objects);
	for (uint32_t i = 0; i < objects.found_count && !placed; i++)
		if (mt_entries_has_hooks(objects.found[i].allocator)
			&& (t || (t = mt_tracee_open(pid, MT_TRACEE_SECCOMP, &err))))
			placed = place(t, objects.found[i].path, tried, reply);
	if (t)
		mt_tracee_close(t);
	mt_objects_free(&objects);
}

static bool path_at(struct mt_tracee *t, uint64_t address, char *path, size_t size,
	bool *is_program)
{
	struct mt_tracee_mapping m;

	for (uint32_t i = 0; mt_tracee_mapping(t, i, &m); i++)
		if (address >= m.low && address < m.high && *m.path == '/') {
			snprintf(path, size, "%s", m.path);
			*is_program = m.is_program;
			return true;
		}
	return false;
}

void mt_entries_place(struct mt_recorder *r, pid_t pid, uint64_t module,
	struct mt_wire_reply *reply)
{
	struct mt_err err = {0};
	struct mt_tracee *t =
		r->options->no_patch ? NULL : mt_tracee_open(pid, MT_TRACEE_SECCOMP, &err);
	char path[PATH_MAX];
	bool is_program;

	if (!t)
		return;
	if (path_at(t, module, path, sizeof path, &is_program))
		place(t, path, NULL, reply);
	mt_tracee_close(t);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* While it stands still: it has not gone on without us. */
static bool still_waits(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLRDHUP};

	return poll(&poll_fd, 1, 0) == 0;
}

static int write_all(struct mt_tracee *t, struct mt_patch_plan *p, int fd, struct mt_err *err)
{
	int error = mt_tracee_stop(t, STOP_MS, err);

	if (error)
		return error;
	if (!still_waits(fd))
		error = mt_fail(err, -ETIMEDOUT, "it did not wait");
	else if (mt_tracee_stopped(t) > 1 && mt_patch_plan_inside(p))
		error = mt_fail(err, -EAGAIN,
			"another thread stays at the beginning of a function");
	else
		error = mt_patch_plan_write_stubs(p, err);
	if (!error)
		error = mt_patch_plan_write_entries(p, err);
	mt_tracee_resume(t);
	return error;
}

static int apply(struct mt_tracee *t, struct mt_patch_plan *p, int fd, struct mt_err *err)
{
	int error = write_all(t, p, fd, err);

	for (unsigned tries = 1; error == -EAGAIN && tries < TRIES; tries++) {
		usleep(TRY_US);
		error = write_all(t, p, fd, err);
	}
	return error;
}

int mt_entries_patch(struct mt_recorder *r, int fd, pid_t pid, const struct mt_wire_patches *q,
	char *path, size_t size, struct mt_err *err)
{
	struct mt_tracee *t = mt_tracee_open(pid, MT_TRACEE_SECCOMP, err);
	struct mt_patch_plan_options options = {.path = path,
		.hooks = q->hooks,
		.hook_count = q->hook_count,
		.set = q->set,
		.named = r->named,
		.stubs = q->stubs,
		.no_lone_operators = true};
	struct mt_patch_plan *p;
	bool is_program;
	int error;

	*path = '\0';
	if (!t)
		return -EPERM;
	if (!path_at(t, q->module, path, size, &is_program)) {
		mt_tracee_close(t);
		return mt_fail(err, -ENOENT, "the module's mappings cannot be read");
	}
	options.only_hidden = !is_program && !q->by_name;
	p = mt_patch_plan_new(t, &options, &error, err);
	if (p) {
		error = apply(t, p, fd, err);
		mt_patch_plan_free(p);
	}
	mt_tracee_close(t);
	return error;
}
