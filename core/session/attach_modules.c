/* The modules of a process whose functions lead to hooks. */
#include "core/session/attachment.h"
#include "core/session/objects.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *mt_attach_path(const struct mt_tracee *t, const char *name, uint64_t *low,
	uint64_t *high)
{
	const char *path = NULL;
	struct mt_tracee_mapping m;

	for (uint32_t i = 0; mt_tracee_mapping(t, i, &m); i++) {
		if (strncmp(mt_base_name(m.path), name, strlen(name)) != 0)
			continue;
		if (!path)
			*low = m.low;
		path = m.path;
		*high = m.high;
	}
	return path;
}

struct search {
	const char *name;
	bool found;
};

static void is_exported(void *context, const char *name, const struct mt_tracee_symbol *s)
{
	struct search *search = context;

	search->found |= !s->is_local && !strcmp(name, search->name);
}

static bool defines(struct mt_tracee *t, const char *path, const char *name)
{
	struct search search = {.name = name};

	mt_tracee_functions(t, path, -1, is_exported, &search);
	return search.found;
}

static bool begins(const char *path, const char *name)
{
	return !strncmp(mt_base_name(path), name, strlen(name));
}

/* Whose malloc the program calls: its own, that of a library before libc, or that of libc. NULL: it
 * cannot be told. */
static const char *provider(struct mt_tracee *t, struct mt_err *err)
{
	const char *library = NULL, *libc = NULL, *last = "";
	struct mt_tracee_mapping m;

	for (uint32_t i = 0; mt_tracee_mapping(t, i, &m); i++) {
		if (*m.path != '/' || !strcmp(m.path, last) || begins(m.path, "ld-linux"))
			continue;
		last = m.path;
		if (begins(m.path, "libc.so") || begins(m.path, "ld-musl"))
			libc = m.path;
		else if (!defines(t, m.path, "malloc") || !defines(t, m.path, "free"))
			continue;
		else if (m.is_program)
			return m.path;
		else if (library && strcmp(library, m.path) != 0)
			return mt_fail(err, -ENOTSUP, "both %s and %s provide malloc", library,
				       m.path),
			       NULL;
		else
			library = m.path;
	}
	if (!library && !libc)
		mt_fail(err, -ENOTSUP, "no library of the process provides malloc");
	return library ? library : libc;
}

static struct mt_attached_module *add_module(struct mt_attachment *at, const char *path)
{
	struct mt_attached_module *m = &at->modules[at->module_count++];

	*m = (struct mt_attached_module){.path = mt_strdup(path)};
	return m;
}

static struct mt_attached_module *module_of(struct mt_attachment *at, const char *path)
{
	for (uint32_t i = 0; i < at->module_count; i++)
		if (!strcmp(at->modules[i].path, path))
			return &at->modules[i];
	return NULL;
}

/* Libraries that carry an allocator inside themselves, each with a set of hooks. */
static int add_carriers(struct mt_recorder *r, struct mt_attachment *at, struct mt_err *err)
{
	struct mt_objects objects = {0};
	uint32_t set = 1;
	bool named = false;

	mt_objects_look(&objects, r->objects, r->program);
	for (uint32_t i = 0; i < objects.found_count; i++) {
		const struct mt_object_found *found = &objects.found[i];
		struct mt_attached_module *m;

		if (!mt_entries_has_hooks(found->allocator))
			continue;
		named |= found->allocator == mt_objects_named;
		if (module_of(at, found->path) || set == MT_WIRE_SETS
			|| at->module_count == MT_ATTACH_MODULES)
			continue;
		m = add_module(at, found->path);
		m->set = set++;
		m->only_hidden = true;
		m->optional = found->allocator != mt_objects_named;
	}
	mt_objects_free(&objects);
	atomic_store(&r->named_found, named);
	return r->named && !named ? mt_fail(err, -ENOENT,
		       "no module of the process has the functions that --allocator-functions "
		       "names")
				  : 0;
}

int mt_attach_list_modules(struct mt_recorder *r, struct mt_attachment *at, struct mt_tracee *t,
	struct mt_wire_attached *a, struct mt_err *err)
{
	const char *malloc_path = provider(t, err), *path;
	struct mt_patch_range range, *taken = NULL;
	char program[PATH_MAX];
	uint64_t low, high;
	size_t count;

	if (!malloc_path)
		return -ENOTSUP;
	mt_patch_plan_mappings(t, malloc_path, &range, &taken, &count);
	free(taken);
	a->allocator_start = range.low;
	a->allocator_end = range.high;
	add_module(at, malloc_path);
	if ((path = mt_attach_path(t, "libstdc++.so", &low, &high)))
		add_module(at, path);
	if (a->find_object && (path = mt_attach_path(t, "libc.so", &low, &high))
		&& strcmp(path, malloc_path) != 0)
		add_module(at, path);
	mt_tracee_program_path(t, program, sizeof program);
	if (strcmp(program, malloc_path) != 0)
		add_module(at, program);
	return add_carriers(r, at, err);
}
