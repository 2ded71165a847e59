/* Allocators that a program carries inside itself: the entries of their functions are made to lead
 * to the tracer's hooks, before the program runs (doc/entry-patches.md). All in the service
 * thread. */
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

#define STOP_MS 1000

/* ---- what is wanted -------------------------------------------------------------------------- */

/* Those whose functions the tracer knows. */
static bool has_hooks(const char *allocator)
{
	return !strcmp(allocator, "jemalloc") || !strcmp(allocator, "mimalloc")
		|| !strcmp(allocator, "tcmalloc") || allocator == mt_bundled_own_malloc;
}

static bool carries(struct mt_recorder *r, pid_t pid)
{
	struct mt_objects objects = {0};
	char path[64];
	bool yes;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	mt_objects_look_at(&objects, r->objects, path);
	yes = objects.found_count && has_hooks(objects.found[0].allocator);
	mt_objects_free(&objects);
	return yes;
}

void mt_entries_offer(struct mt_recorder *r, pid_t pid, struct mt_wire_reply *reply)
{
	struct mt_patch_range program, *taken = NULL;
	char path[PATH_MAX];
	struct mt_err err = {0};
	struct mt_tracee *t;
	size_t count;

	if (r->options->no_patch || !carries(r, pid)
		|| !(t = mt_tracee_open(pid, MT_TRACEE_SECCOMP, &err)))
		return;
	mt_proc_link(pid, "exe", path, sizeof path);
	if (mt_patch_plan_mappings(t, path, &program, &taken, &count)
		&& mt_patch_place(&reply->stubs, taken, count, program.low, program.high,
			   MT_PATCH_PLAN_STUBS, &err)
			== 0)
		reply->stub_bytes = MT_PATCH_PLAN_STUBS;
	free(taken);
	mt_tracee_close(t);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* While it stands still: it has not gone on without us, and nobody else runs the functions. */
static bool still_waits(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLRDHUP};

	return poll(&poll_fd, 1, 0) == 0;
}

static int apply(struct mt_tracee *t, struct mt_patch_plan *p, int fd, struct mt_err *err)
{
	int error = mt_tracee_stop(t, STOP_MS, err);

	if (error)
		return error;
	if (mt_tracee_stopped(t) != 1)
		error = mt_fail(err, -EBUSY, "it has threads already");
	else if (!still_waits(fd))
		error = mt_fail(err, -ETIMEDOUT, "it did not wait");
	else
		error = mt_patch_plan_write_stubs(p, err);
	if (!error)
		error = mt_patch_plan_write_entries(p, err);
	mt_tracee_resume(t);
	return error;
}

int mt_entries_patch(int fd, pid_t pid, const struct mt_wire_patches *q, struct mt_err *err)
{
	struct mt_tracee *t = mt_tracee_open(pid, MT_TRACEE_SECCOMP, err);
	char program[PATH_MAX];
	struct mt_patch_plan_options options = {.path = program,
		.hooks = q->hooks,
		.hook_count = q->hook_count,
		.stubs = q->stubs,
		.no_lone_operators = true};
	struct mt_patch_plan *p;
	int error;

	if (!t)
		return -EPERM;
	mt_proc_link(pid, "exe", program, sizeof program);
	p = mt_patch_plan_new(t, &options, &error, err);
	if (p) {
		error = apply(t, p, fd, err);
		mt_patch_plan_free(p);
	}
	mt_tracee_close(t);
	return error;
}
