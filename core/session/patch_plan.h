/* The patches by which functions of one module of a process lead to the tracer's hooks: which
 * functions, whether all can be patched, and what is written in which order. doc/entry-patches.md
 * has the rules. */
#ifndef MT_SESSION_PATCH_PLAN_H
#define MT_SESSION_PATCH_PLAN_H

#include "core/inject/inject.h"
#include "core/patch/patch.h"
#include "core/rendezvous.h"
#include "core/session/named.h"

#define MT_PATCH_PLAN_STUBS (MT_WIRE_HOOKS_MAX * MT_PATCH_STUB) /* bytes */

/* mt_tracee_functions of the module's file, and of the separate file with its symbols if it was
 * stripped. */
int mt_patch_plan_functions(struct mt_tracee *, const char *path, mt_tracee_each *, void *context);

struct mt_patch_plan;
struct mt_patch_plan_options {
	const char *path; /* of the module's mappings; borrowed */
	uint64_t hooks;   /* in the process: an array of mt_wire_hook */
	uint32_t hook_count, set;
	const struct mt_named_functions *named; /* NULL: none are; borrowed */
	uint64_t stubs; /* MT_PATCH_PLAN_STUBS bytes of code, which are there or will be */
	/* leave operators new and delete alone if the module has no malloc */
	bool no_lone_operators;
	/* a library: leave alone what others can call, since they call another by that name */
	bool only_hidden;
	/* leave malloc and its family alone: the program calls another module's */
	bool no_plain_family;
	bool compare; /* with the module's file: somebody may have changed the process */
};

/* Where a module lies, and what is taken, which the caller frees. False: there is no such
 * module. */
bool mt_patch_plan_mappings(const struct mt_tracee *, const char *path,
	struct mt_patch_range *module, struct mt_patch_range **taken, size_t *count);
/* Computes all patches; the process is only read. NULL: err has the reason, -ENOENT that the module
 * has none of the functions. */
struct mt_patch_plan *mt_patch_plan_new(struct mt_tracee *, const struct mt_patch_plan_options *,
	int *error, struct mt_err *);
void mt_patch_plan_free(struct mt_patch_plan *); /* NULL is allowed */
/* The same process, opened again, or a forked child of it. */
void mt_patch_plan_use(struct mt_patch_plan *, struct mt_tracee *);
/* The originals into the list of hooks, and the stubs: nothing leads there yet. */
int mt_patch_plan_write_stubs(struct mt_patch_plan *, struct mt_err *);
/* The entries. All threads stand still. If one cannot be written, all are taken back, and the
 * originals, too. */
int mt_patch_plan_write_entries(struct mt_patch_plan *, struct mt_err *);
/* The entries as they were, where they still are as written. All threads stand still. */
int mt_patch_plan_restore(struct mt_patch_plan *, struct mt_err *);
/* While all threads stand still: one that is inside of the bytes that change; 0: none is. */
pid_t mt_patch_plan_inside(struct mt_patch_plan *);

#endif
