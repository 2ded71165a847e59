/* Allocators that a program carries inside itself: the entries of their functions are made to lead
 * to the tracer's hooks, before the program runs (doc/entry-patches.md). All in the service
 * thread. */
#include "core/inject/inject.h"
#include "core/patch/patch.h"
#include "core/session/internal.h"
#include "core/session/objects.h"
#include "core/symbol/bundled.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_MS 1000
#define CODE_MOST 65536u      /* bytes of a function that are looked at */
#define PADDING_MOST 16u      /* bytes behind a function that are looked at */
#define TEXT_MOST (64u << 20) /* bytes of code that are searched for jumps */

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

/* Where the executable lies, and what is taken. Returns false if it is not to be found. */
static bool read_mappings(const struct mt_tracee *t, struct mt_patch_range *program,
	struct mt_patch_range **taken, size_t *count)
{
	struct mt_tracee_mapping m;
	uint32_t n = 0, capacity = 0;

	*program = (struct mt_patch_range){0};
	*taken = NULL;
	for (; mt_tracee_mapping(t, n, &m); n++) {
		MT_GROW(*taken, n, capacity);
		(*taken)[n] = (struct mt_patch_range){m.low, m.high};
		if (!m.is_program)
			continue;
		if (!program->high)
			program->low = m.low;
		program->high = m.high;
	}
	*count = n;
	return program->high != 0;
}

void mt_entries_offer(struct mt_recorder *r, pid_t pid, struct mt_wire_reply *reply)
{
	struct mt_patch_range program, *taken = NULL;
	uint64_t bytes = MT_WIRE_HOOKS_MAX * MT_PATCH_STUB;
	struct mt_err err = {0};
	struct mt_tracee *t;
	size_t count;

	if (r->options->no_patch || !carries(r, pid)
		|| !(t = mt_tracee_open(pid, MT_TRACEE_SECCOMP, &err)))
		return;
	if (read_mappings(t, &program, &taken, &count)
		&& mt_patch_place(&reply->stubs, taken, count, program.low, program.high, bytes,
			   &err)
			== 0)
		reply->stub_bytes = bytes;
	free(taken);
	mt_tracee_close(t);
}

/* ---- the plan -------------------------------------------------------------------------------- */

struct entry {
	struct mt_tracee_symbol function;
	uint32_t hook; /* its place in the list */
	uint64_t next; /* where the next function begins; UINT64_MAX: there is none */
};

struct plan {
	struct mt_tracee *tracee;
	struct mt_patch_range program;
	struct mt_wire_hook hooks[MT_WIRE_HOOKS_MAX];
	uint32_t hook_count;
	const char *twice; /* a name that two functions have; NULL: none has */
	struct entry entries[MT_WIRE_HOOKS_MAX];
	struct mt_patch patches[MT_WIRE_HOOKS_MAX];
	uint32_t count, patch_count;
};

static void consider(void *context, const char *name, const struct mt_tracee_symbol *function)
{
	struct plan *p = context;
	uint32_t hook = 0;

	while (hook < p->hook_count && strcmp(p->hooks[hook].name, name) != 0)
		hook++;
	if (hook == p->hook_count || !p->hooks[hook].hook || function->is_indirect
		|| (p->hooks[hook].exported && function->is_local))
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		struct mt_wire_hook *other = &p->hooks[p->entries[i].hook];

		/* the other table has named it, or another name has */
		if (p->entries[i].function.address == function->address) {
			other->shared |= other->function != p->hooks[hook].function;
			return;
		}
		if (p->entries[i].hook == hook)
			p->twice = p->hooks[hook].name;
	}
	if (!p->twice && p->count < MT_WIRE_HOOKS_MAX)
		p->entries[p->count++] = (struct entry){*function, hook, UINT64_MAX};
}

/* Operators new and delete of a program whose malloc is a library's: the tracer sees that
 * malloc. */
static void drop_operators(struct plan *p)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->count; i++)
		if (!strcmp(p->hooks[p->entries[i].hook].name, "malloc"))
			return;
	for (uint32_t i = 0; i < p->count; i++)
		if (strncmp(p->hooks[p->entries[i].hook].name, "_Z", 2) != 0)
			p->entries[kept++] = p->entries[i];
	p->count = kept;
}

static void see_next(void *context, const char *name, const struct mt_tracee_symbol *function)
{
	struct plan *p = context;

	(void)name;
	for (uint32_t i = 0; i < p->count; i++)
		if (function->address > p->entries[i].function.address
			&& function->address < p->entries[i].next)
			p->entries[i].next = function->address;
}

static int try_patch(struct plan *p, const struct entry *e, bool stays, struct mt_patch *patch,
	uint64_t stub, struct mt_err *err)
{
	const struct mt_wire_hook *hook = &p->hooks[e->hook];
	uint64_t gap = e->next - e->function.address - e->function.size;
	size_t size = e->function.size, len = size + PADDING_MOST;
	uint8_t *code = mt_alloc(len);
	struct mt_patch_function f = {.name = hook->name,
		.address = e->function.address,
		.memory = code,
		.stays = stays,
		.module_low = p->program.low,
		.module_high = p->program.high};
	int error = mt_tracee_read(p->tracee, f.address, code, len);

	if (error) {
		error = mt_fail(err, error, "the code of %s cannot be read", hook->name);
	} else {
		f.len = size
			+ mt_patch_padding(code + size, gap < PADDING_MOST ? gap : PADDING_MOST);
		error = mt_patch_make(patch, &f, stub, hook->hook, err);
	}
	free(code);
	return error;
}

/* Another function of the list to which this one is only a jump, or NULL. */
static struct mt_wire_hook *target_of(struct plan *p, const struct entry *e, uint64_t stub)
{
	struct mt_patch patch;

	if (try_patch(p, e, false, &patch, stub, NULL) != -EAGAIN)
		return NULL;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->entries[i].function.address == patch.next)
			return &p->hooks[p->entries[i].hook];
	return NULL;
}

/* A function that is only a jump stays where it is, since what it leads to may have a hook of its
 * own. If it is too short for that, that hook serves both. */
static int make_patch(struct plan *p, const struct entry *e, struct mt_patch *patch, uint64_t stub,
	struct mt_err *err)
{
	struct mt_wire_hook *hook = &p->hooks[e->hook], *other;
	int error;

	if (e->function.size > CODE_MOST || e->function.address + e->function.size > e->next)
		return mt_fail(err, -EFBIG, "%s has no bounds", hook->name);
	error = try_patch(p, e, true, patch, stub, err);
	if (!error)
		hook->original = patch->original;
	if (!error || patch->refusal != MT_PATCH_REFUSED_SHORT || !(other = target_of(p, e, stub)))
		return error;
	other->shared |= other->function != hook->function;
	patch->size = 0;
	return 0;
}

/* All or nothing: an allocator of which some functions are not seen has frees without blocks. */
static int make_patches(struct plan *p, uint64_t stub, struct mt_err *err)
{
	uint32_t made = 0;
	int error;

	for (uint32_t i = 0; i < p->count; i++, stub += MT_PATCH_STUB) {
		error = make_patch(p, &p->entries[i], &p->patches[made], stub, err);
		if (error)
			return error;
		made += p->patches[made].size != 0;
	}
	p->patch_count = made;
	return made ? 0 : mt_fail(err, -ENOENT, "none of its functions is known");
}

/* No code of the program may jump behind the beginning of an entry. */
static int check_code(struct plan *p, struct mt_err *err)
{
	struct mt_patch_function f = {.name = "the program",
		.module_low = p->program.low,
		.module_high = p->program.high};
	struct mt_tracee_mapping m;
	unsigned found = 0;
	int error = 0;

	for (uint32_t i = 0; mt_tracee_mapping(p->tracee, i, &m) && !found && !error; i++) {
		uint8_t *code;

		if (!m.is_program || !m.is_code)
			continue;
		if (m.high - m.low > TEXT_MOST)
			return mt_fail(err, -EFBIG, "its code is too large to be checked");
		code = mt_alloc(m.high - m.low);
		f.address = m.low;
		f.len = m.high - m.low;
		f.memory = code;
		error = mt_tracee_read(p->tracee, m.low, code, f.len);
		if (!error)
			found = mt_patch_check(p->patches, p->patch_count, &f, err);
		free(code);
	}
	return error ? mt_fail(err, error, "its code cannot be read") : found ? -ENOTSUP : 0;
}

static int make_plan(struct plan *p, const struct mt_wire_patches *q, struct mt_err *err)
{
	struct mt_patch_range *taken;
	size_t count;
	int error;

	if (!q->hook_count || q->hook_count > MT_WIRE_HOOKS_MAX
		|| q->stubs > UINT64_MAX - MT_WIRE_HOOKS_MAX * MT_PATCH_STUB)
		return mt_fail(err, -EPROTO, "the request for patches is damaged");
	p->hook_count = q->hook_count;
	error = mt_tracee_read(p->tracee, q->hooks, p->hooks, p->hook_count * sizeof *p->hooks);
	if (error)
		return mt_fail(err, error, "the list of hooks cannot be read");
	for (uint32_t i = 0; i < p->hook_count; i++) {
		p->hooks[i].name[sizeof p->hooks[i].name - 1] = '\0';
		p->hooks[i].original = 0;
		p->hooks[i].shared = 0;
	}
	if (!read_mappings(p->tracee, &p->program, &taken, &count))
		return mt_fail(err, -ENOENT, "the program's mappings cannot be read");
	free(taken);
	mt_tracee_program(p->tracee, consider, p);
	drop_operators(p);
	if (p->twice)
		return mt_fail(err, -ENOTSUP, "two of its functions are named %s", p->twice);
	mt_tracee_program(p->tracee, see_next, p);
	error = make_patches(p, q->stubs, err);
	return error ? error : check_code(p, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_entries(struct plan *p, uint32_t *written)
{
	int error = 0;

	for (*written = 0; *written < p->patch_count && !error; ++*written) {
		const struct mt_patch *m = &p->patches[*written];

		error = mt_tracee_write(p->tracee, m->entry, m->after, m->size);
	}
	return error;
}

static void take_back(struct plan *p, uint64_t hooks, uint32_t written)
{
	for (uint32_t i = 0; i < written; i++) {
		const struct mt_patch *m = &p->patches[i];

		mt_tracee_write(p->tracee, m->entry, m->before, m->size);
	}
	for (uint32_t i = 0; i < p->hook_count; i++)
		p->hooks[i].original = 0;
	mt_tracee_write(p->tracee, hooks, p->hooks, p->hook_count * sizeof *p->hooks);
}

/* Originals, stubs, and entries at last: each is whole before something leads to it. */
static int write_all(struct plan *p, const struct mt_wire_patches *q, struct mt_err *err)
{
	uint32_t written = 0;
	int error =
		mt_tracee_write(p->tracee, q->hooks, p->hooks, p->hook_count * sizeof *p->hooks);

	for (uint32_t i = 0; i < p->patch_count && !error; i++) {
		const struct mt_patch *m = &p->patches[i];

		error = mt_tracee_write(p->tracee, m->stub_address, m->stub, m->stub_size);
	}
	if (!error)
		error = write_entries(p, &written);
	if (!error)
		return 0;
	take_back(p, q->hooks, written);
	return mt_fail(err, error, "its memory cannot be written");
}

/* While it stands still: it has not gone on without us, and nobody else runs the functions. */
static bool still_waits(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLRDHUP};

	return poll(&poll_fd, 1, 0) == 0;
}

static int apply(struct plan *p, int fd, const struct mt_wire_patches *q, struct mt_err *err)
{
	int error = mt_tracee_stop(p->tracee, STOP_MS, err);

	if (error)
		return error;
	if (mt_tracee_stopped(p->tracee) != 1)
		error = mt_fail(err, -EBUSY, "it has threads already");
	else if (!still_waits(fd))
		error = mt_fail(err, -ETIMEDOUT, "it did not wait");
	else
		error = write_all(p, q, err);
	mt_tracee_resume(p->tracee);
	return error;
}

int mt_entries_patch(int fd, pid_t pid, const struct mt_wire_patches *q, struct mt_err *err)
{
	struct plan *p = mt_alloc(sizeof *p);
	int error;

	p->tracee = mt_tracee_open(pid, MT_TRACEE_SECCOMP, err);
	error = p->tracee ? make_plan(p, q, err) : -EPERM;
	if (!error)
		error = apply(p, fd, q, err);
	if (p->tracee)
		mt_tracee_close(p->tracee);
	free(p);
	return error;
}
