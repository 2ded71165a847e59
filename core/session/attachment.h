/* What attaching (attach.c) and detaching (detach.c) share. doc/attach.md has the picture. */
#ifndef MT_SESSION_ATTACHMENT_H
#define MT_SESSION_ATTACHMENT_H

#include "core/inject/inject.h"
#include "core/rendezvous.h"
#include "core/session/attached_image.h"
#include "core/session/internal.h"
#include "core/session/patch_plan.h"

#define MT_ATTACH_MODULES 16u
/* of a mapping of stubs: a mark comes before them */
#define MT_ATTACH_STUBS_OFFSET MT_PATCH_STUB
#define MT_ATTACH_STUBS_SIZE (4096u + MT_PATCH_PLAN_STUBS)
#define MT_ATTACH_BORROW_MS 10000u
#define MT_ATTACH_STOP_MS 10000u

/* One module whose functions lead to hooks. */
struct mt_attached_module {
	char *path;
	struct mt_patch_range range; /* from its first mapping to its last */
	uint64_t stubs;              /* the mapping of them; 0: none */
	struct mt_patch_plan *plan;
	uint32_t set;     /* of hooks */
	bool only_hidden; /* a library that carries another allocator inside */
	bool optional;    /* without it, it is a blind spot */
};

struct mt_attachment {
	struct mt_attached_image image;
	uint64_t place; /* of the attached tracer; 0: it is not mapped */
	struct mt_attached_module modules[MT_ATTACH_MODULES];
	uint32_t module_count;
	uint64_t thread_number_at; /* where the C library keeps the number of a thread */
	int lock;                  /* a socket whose name says that the process is taken */
	int segment;  /* its descriptor in the process; -1: it has none, or has closed it */
	bool written; /* entries lead to hooks */
};

/* Calls in the process, each by whichever thread can be borrowed. A system call fails with what the
 * kernel said. what: for the sentence, as "cannot <what> in process 12". */
int mt_attach_system_call(struct mt_tracee *, long number, const uint64_t arguments[6],
	uint64_t *result, const char *what, struct mt_err *);
int mt_attach_call(struct mt_tracee *, uint64_t function, int64_t *result, struct mt_err *);

/* attach_modules.c. The path of the first module whose name begins so, and where it lies. NULL:
 * there is none. */
const char *mt_attach_path(const struct mt_tracee *, const char *name, uint64_t *low,
	uint64_t *high);
/* Lists the allocator, the library's operators of C++, what else has hooks in libc, the program,
 * which may carry a second allocator inside, and libraries that do. */
int mt_attach_list_modules(struct mt_recorder *, struct mt_attachment *, struct mt_tracee *,
	struct mt_wire_attached *, struct mt_err *);
/* Fills the list of objects (attach_objects.c). */
void mt_attach_list_objects(const struct mt_tracee *, struct mt_wire_attached *);
/* Whether a filter of system calls lets those through that will be made (attach_calls.c). */
int mt_attach_check_filters(struct mt_tracee *, struct mt_err *);

/* The opposite of what mt_attach_begin has done so far, in a process that has a copy of it:
 * entries, data, place. What is not possible stays and does no harm; err says what. */
int mt_attachment_remove(struct mt_attachment *, struct mt_tracee *, struct mt_err *);
void mt_attachment_free(struct mt_attachment *);
/* Takes out what a recorder has left that was killed. */
int mt_attachment_recover(struct mt_tracee *, pid_t, const struct mt_attached_image *,
	struct mt_err *);

#endif
