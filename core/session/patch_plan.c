/* The plan of one module's patches, and the writing. */
#include "core/session/patch_plan.h"

#include "core/base/buffer.h"
#include "core/symbol/debug_file.h"
#include "core/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE_MOST (1ull << 31) /* of a module from end to end: jumps reach no further */
#define CODE_MOST 65536u         /* bytes of a function that are looked at */
#define PADDING_MOST 16u         /* bytes behind a function that are looked at */
#define TEXT_MOST (64u << 20)    /* bytes of code that are searched for jumps */

/* ---- the module ------------------------------------------------------------------------------ */

bool mt_patch_plan_mappings(const struct mt_tracee *t, const char *path,
	struct mt_patch_range *module, struct mt_patch_range **taken, size_t *count)
{
	struct mt_tracee_mapping m;
	uint32_t n = 0, capacity = 0;

	*module = (struct mt_patch_range){0};
	*taken = NULL;
	for (; mt_tracee_mapping(t, n, &m); n++) {
		MT_GROW(*taken, n, capacity);
		(*taken)[n] = (struct mt_patch_range){m.low, m.high};
		if (strcmp(m.path, path))
			continue;
		if (!module->high)
			module->low = m.low;
		/* further away, it is the file once more, mapped for itself */
		if (m.high - module->low < MODULE_MOST)
			module->high = m.high;
	}
	*count = n;
	return module->high != 0;
}

/* ---- the plan -------------------------------------------------------------------------------- */

struct entry {
	struct mt_tracee_symbol function;
	uint32_t hook; /* its place in the list */
	uint64_t next; /* where the next function begins; UINT64_MAX: there is none */
};

struct mt_patch_plan {
	struct mt_tracee *tracee;
	struct mt_patch_plan_options options;
	struct mt_patch_range module;
	struct mt_wire_hook hooks[MT_WIRE_HOOKS_MAX];
	/* beside them: of the functions in the module; "": none is meant */
	char names[MT_WIRE_HOOKS_MAX][MT_NAMED_SYMBOL];
	const char *twice; /* a name that two functions have; NULL: none has */
	struct entry entries[MT_WIRE_HOOKS_MAX];
	struct mt_patch patches[MT_WIRE_HOOKS_MAX];
	uint32_t count, patch_count;
};

/* What a block of one may not be given to the other's counterpart. */
static bool are_of_two_kinds(uint32_t a, uint32_t b)
{
	enum { PLAIN, NEW, NEW_ARRAY } kinds[2];

	for (int i = 0; i < 2; i++)
		switch (i ? b : a) {
		case MT_FUNCTION_NEW:
		case MT_FUNCTION_DELETE: kinds[i] = NEW; break;
		case MT_FUNCTION_NEW_ARRAY:
		case MT_FUNCTION_DELETE_ARRAY: kinds[i] = NEW_ARRAY; break;
		default: kinds[i] = PLAIN;
		}
	return kinds[0] != kinds[1];
}

/* Of the family whose first is malloc; operators go to it. */
static bool is_plain(const struct mt_wire_hook *hook)
{
	return hook->plain && strncmp(hook->name, "_Z", 2) != 0;
}

static bool is_meant(const struct mt_patch_plan *p, const struct mt_wire_hook *hook,
	const struct mt_tracee_symbol *function)
{
	if (function->is_indirect || (!hook->hook[p->options.set] && !hook->only_found))
		return false;
	return hook->named
		|| (!(p->options.no_plain_family && is_plain(hook))
			&& !(p->options.only_hidden && !function->is_local)
			&& !(hook->exported && function->is_local));
}

/* The hook of a function; the count of hooks: it has none. What the user names comes first. */
static uint32_t hook_of(const struct mt_patch_plan *p, const char *name,
	const struct mt_tracee_symbol *function)
{
	uint32_t found = p->options.hook_count;

	for (uint32_t i = 0; i < p->options.hook_count; i++)
		if (!strcmp(p->names[i], name) && is_meant(p, &p->hooks[i], function)
			&& (found == p->options.hook_count || p->hooks[i].named))
			found = i;
	return found;
}

static void consider(void *context, const char *name, const struct mt_tracee_symbol *function)
{
	struct mt_patch_plan *p = context;
	uint32_t hook = hook_of(p, name, function);

	if (hook == p->options.hook_count)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		struct mt_wire_hook *other = &p->hooks[p->entries[i].hook];

		/* the other table has named it, or another name has */
		if (p->entries[i].function.address == function->address) {
			other->shared |= are_of_two_kinds(other->function, p->hooks[hook].function);
			return;
		}
		if (p->entries[i].hook == hook)
			p->twice = p->names[hook];
	}
	if (!p->twice && p->count < MT_WIRE_HOOKS_MAX)
		p->entries[p->count++] = (struct entry){*function, hook, UINT64_MAX};
}

static bool has_hook(const struct mt_patch_plan *p, uint32_t hook)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->entries[i].hook == hook)
			return true;
	return false;
}

/* All that the user names, or none. */
static int check_named(struct mt_patch_plan *p, struct mt_err *err)
{
	uint32_t missing = UINT32_MAX;
	bool any = false;

	for (uint32_t i = 0; i < p->options.hook_count; i++) {
		if (!p->hooks[i].named || !*p->names[i])
			continue;
		any |= has_hook(p, i);
		if (!has_hook(p, i) && mt_named_is_needed(p->options.named, p->hooks[i].name))
			missing = i;
	}
	return any && missing != UINT32_MAX ? mt_fail(err, -ENOTSUP,
		       "%s has no function %s, which --allocator-functions names for %s",
		       p->options.path, p->names[missing], p->hooks[missing].name)
					    : 0;
}

/* Operators new and delete of a program whose malloc is a library's: the tracer sees that
 * malloc. */
static void drop_operators(struct mt_patch_plan *p)
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
	struct mt_patch_plan *p = context;

	(void)name;
	for (uint32_t i = 0; i < p->count; i++)
		if (function->address > p->entries[i].function.address
			&& function->address < p->entries[i].next)
			p->entries[i].next = function->address;
}

static int try_patch(struct mt_patch_plan *p, const struct entry *e, bool stays,
	struct mt_patch *patch, uint64_t stub, struct mt_err *err)
{
	const struct mt_wire_hook *hook = &p->hooks[e->hook];
	uint64_t gap = e->next - e->function.address - e->function.size;
	size_t size = e->function.size, len = size + PADDING_MOST;
	uint8_t *code = mt_alloc(len), *file = mt_alloc(len);
	struct mt_patch_function f = {.name = p->names[e->hook],
		.address = e->function.address,
		.memory = code,
		.stays = stays,
		.module_low = p->module.low,
		.module_high = p->module.high};
	int error = mt_tracee_read(p->tracee, f.address, code, len);

	if (error) {
		error = mt_fail(err, error, "the code of %s cannot be read", f.name);
	} else {
		if (p->options.compare && !mt_tracee_read_file(p->tracee, f.address, file, len))
			f.file = file;
		f.len = size
			+ mt_patch_padding(code + size, gap < PADDING_MOST ? gap : PADDING_MOST);
		error = mt_patch_make(patch, &f, stub, hook->hook[p->options.set], err);
	}
	free(file);
	free(code);
	return error;
}

/* Another function of the list to which this one is only a jump, or NULL. */
static struct mt_wire_hook *target_of(struct mt_patch_plan *p, const struct entry *e, uint64_t stub)
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
static int make_patch(struct mt_patch_plan *p, const struct entry *e, struct mt_patch *patch,
	uint64_t stub, struct mt_err *err)
{
	struct mt_wire_hook *hook = &p->hooks[e->hook], *other;
	int error;

	if (hook->only_found) {
		hook->original = e->function.address;
		patch->size = 0;
		return 0;
	}
	if (e->function.size > CODE_MOST || e->function.address + e->function.size > e->next)
		return mt_fail(err, -EFBIG, "%s has no bounds", p->names[e->hook]);
	error = try_patch(p, e, true, patch, stub, err);
	hook->address = e->function.address;
	if (!error)
		hook->original = patch->original;
	if (!error || patch->refusal != MT_PATCH_REFUSED_SHORT || !(other = target_of(p, e, stub)))
		return error;
	other->shared |= are_of_two_kinds(other->function, hook->function);
	patch->size = 0;
	return 0;
}

/* All or nothing: an allocator of which some functions are not seen has frees without blocks. */
static int make_patches(struct mt_patch_plan *p, uint64_t stub, struct mt_err *err)
{
	uint32_t made = 0;
	int error;

	for (uint32_t i = 0; i < p->count; i++, stub += MT_PATCH_STUB) {
		error = make_patch(p, &p->entries[i], &p->patches[made], stub, err);
		if (error && p->hooks[p->entries[i].hook].optional)
			continue;
		if (error)
			return error;
		made += p->patches[made].size != 0;
	}
	p->patch_count = made;
	return made ? 0 : mt_fail(err, -ENOENT, "none of its functions is known");
}

/* No code of the module may jump behind the beginning of an entry. */
static int check_code(struct mt_patch_plan *p, struct mt_err *err)
{
	struct mt_patch_function f = {.name = "the module",
		.module_low = p->module.low,
		.module_high = p->module.high};
	struct mt_tracee_mapping m;
	unsigned found = 0;
	int error = 0;

	for (uint32_t i = 0; mt_tracee_mapping(p->tracee, i, &m) && !found && !error; i++) {
		uint8_t *code;

		if (!m.is_code || strcmp(m.path, p->options.path))
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

static void name_hook(struct mt_patch_plan *p, uint32_t i)
{
	const struct mt_wire_hook *hook = &p->hooks[i];

	if (!hook->named)
		memcpy(p->names[i], hook->name, sizeof hook->name);
	else if (p->options.named && mt_named_is_in(p->options.named, p->options.path))
		mt_named_symbol(p->options.named, hook->name, p->names[i]);
}

static int read_hooks(struct mt_patch_plan *p, struct mt_err *err)
{
	uint32_t count = p->options.hook_count;
	int error;

	if (!count || count > MT_WIRE_HOOKS_MAX || p->options.set >= MT_WIRE_SETS
		|| p->options.stubs > UINT64_MAX - MT_PATCH_PLAN_STUBS)
		return mt_fail(err, -EPROTO, "the request for patches is damaged");
	error = mt_tracee_read(p->tracee, p->options.hooks, p->hooks, count * sizeof *p->hooks);
	if (error)
		return mt_fail(err, error, "the list of hooks cannot be read");
	for (uint32_t i = 0; i < count; i++) {
		p->hooks[i].name[sizeof p->hooks[i].name - 1] = '\0';
		p->hooks[i].original = 0;
		p->hooks[i].shared = 0;
		name_hook(p, i);
	}
	return 0;
}

int mt_patch_plan_functions(struct mt_tracee *t, const char *path, mt_tracee_each *each,
	void *context)
{
	char *opened = mt_format("/proc/%d/root%s", (int)mt_tracee_pid(t), path);
	int fd = mt_tracee_open_file(t, path), debug = -1, error;

	if (fd >= 0)
		debug = mt_debug_file_open(fd, opened, path, mt_tracee_pid(t));
	error = mt_tracee_functions(t, path, debug, each, context);
	if (fd >= 0)
		close(fd);
	if (debug >= 0)
		close(debug);
	free(opened);
	return error;
}

static int make_plan(struct mt_patch_plan *p, struct mt_err *err)
{
	struct mt_patch_range *taken = NULL;
	size_t count;
	int error = read_hooks(p, err);

	if (error)
		return error;
	if (!mt_patch_plan_mappings(p->tracee, p->options.path, &p->module, &taken, &count))
		error = mt_fail(err, -ENOENT, "the module's mappings cannot be read");
	free(taken);
	if (error)
		return error;
	mt_patch_plan_functions(p->tracee, p->options.path, consider, p);
	if (p->options.no_lone_operators)
		drop_operators(p);
	if ((error = check_named(p, err)))
		return error;
	if (p->twice)
		return mt_fail(err, -ENOTSUP, "two of its functions are named %s", p->twice);
	mt_patch_plan_functions(p->tracee, p->options.path, see_next, p);
	error = make_patches(p, p->options.stubs, err);
	return error ? error : check_code(p, err);
}

struct mt_patch_plan *mt_patch_plan_new(struct mt_tracee *t, const struct mt_patch_plan_options *o,
	int *error, struct mt_err *err)
{
	struct mt_patch_plan *p = mt_alloc(sizeof *p);

	p->tracee = t;
	p->options = *o;
	*error = make_plan(p, err);
	if (!*error)
		return p;
	free(p);
	return NULL;
}

void mt_patch_plan_use(struct mt_patch_plan *p, struct mt_tracee *t)
{
	p->tracee = t;
}

void mt_patch_plan_free(struct mt_patch_plan *p)
{
	free(p);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_hooks(struct mt_patch_plan *p)
{
	return mt_tracee_write(p->tracee, p->options.hooks, p->hooks,
		p->options.hook_count * sizeof *p->hooks);
}

static void take_back(struct mt_patch_plan *p, uint32_t written)
{
	for (uint32_t i = 0; i < written; i++) {
		const struct mt_patch *m = &p->patches[i];

		mt_tracee_write(p->tracee, m->entry, m->before, m->size);
	}
	for (uint32_t i = 0; i < p->options.hook_count; i++)
		p->hooks[i].original = 0;
	write_hooks(p);
}

int mt_patch_plan_write_stubs(struct mt_patch_plan *p, struct mt_err *err)
{
	int error = write_hooks(p);

	for (uint32_t i = 0; i < p->patch_count && !error; i++) {
		const struct mt_patch *m = &p->patches[i];

		error = mt_tracee_write(p->tracee, m->stub_address, m->stub, m->stub_size);
	}
	if (!error)
		return 0;
	take_back(p, 0);
	return mt_fail(err, error, "its memory cannot be written");
}

int mt_patch_plan_write_entries(struct mt_patch_plan *p, struct mt_err *err)
{
	for (uint32_t i = 0; i < p->patch_count; i++) {
		const struct mt_patch *m = &p->patches[i];
		uint8_t now[MT_PATCH_ENTRY];
		int error = mt_tracee_read(p->tracee, m->entry, now, m->size);

		if (!error && memcmp(now, m->before, m->size))
			error = -EBUSY; /* somebody else has written it meanwhile */
		if (!error)
			error = mt_tracee_write(p->tracee, m->entry, m->after, m->size);
		if (error) {
			take_back(p, i);
			return mt_fail(err, error, "the entry of %s cannot be written: %s", m->name,
				strerror(-error));
		}
	}
	return 0;
}

int mt_patch_plan_restore(struct mt_patch_plan *p, struct mt_err *err)
{
	int first = 0;

	for (uint32_t i = p->patch_count; i-- > 0;) {
		const struct mt_patch *m = &p->patches[i];
		uint8_t now[MT_PATCH_ENTRY];
		int error = mt_tracee_read(p->tracee, m->entry, now, m->size);

		if (!error && memcmp(now, m->after, m->size))
			error = memcmp(now, m->before, m->size) ? -EBUSY : 0;
		else if (!error)
			error = mt_tracee_write(p->tracee, m->entry, m->before, m->size);
		if (error && !first)
			first = mt_fail(err, error, "the entry of %s cannot be restored: %s",
				m->name, strerror(-error));
	}
	return first;
}

pid_t mt_patch_plan_inside(struct mt_patch_plan *p)
{
	pid_t thread = 0;

	/* at the entry itself, a thread has executed nothing of what changes */
	for (uint32_t i = 0; i < p->patch_count && !thread; i++)
		thread = mt_tracee_inside(p->tracee, p->patches[i].entry + 1,
			p->patches[i].entry + p->patches[i].size);
	return thread;
}
