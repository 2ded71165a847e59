/* What the program executes is followed: its environment names the recording and the tracer's
 * library, unless its dynamic linker would not bear that (doc/blind-spots.md). All of this may run
 * in a signal handler, in a child of vfork and on a small stack. */
#ifndef MT_EXEC_H
#define MT_EXEC_H

#include <sys/stat.h>

#include "preload/segment/blind.h"

/* ---- the file that is executed (exec_target.c) ---- */

struct mt_exec_target {
	/* why it will not be recorded; NONE: it will, or nothing is known of it */
	enum mt_blind_reason reason;
	/* its dynamic linker would say something of the library, or end the program */
	bool refuses;
	bool keeps_path; /* path is wanted without a reason, too */
	/* of the file that runs: of a script's interpreter */
	char path[sizeof((struct mt_wire_blind *)0)->path];
};
/* flags: of execveat. path NULL: nothing is known. */
void mt_exec_look(struct mt_exec_target *, int directory, const char *path, int flags);
/* Whether the dynamic linker could load this library. As far as the tracer knows its own file it
 * must be this one, if `same` asks for that. */
bool mt_exec_can_load(const char *path, bool same);
/* The file that the functions with a p would execute, or NULL. to: mt_exec_search_room(file)
 * bytes. */
size_t mt_exec_search_room(const char *file);
const char *mt_exec_search(char *to, const char *file);

/* What the tracer learns when it starts. */
struct mt_exec_files {
	const char *path;            /* of its library */
	struct stat library, loader; /* st_ino 0: not known */
};
extern struct mt_exec_files mt_exec_files;

/* ---- the environment (exec_environment.c) ---- */

/* Memory for a changed environment: a thread keeps it for its next exec. */
struct mt_exec {
	struct mt_exec_target target;
	struct mt_blind_noted noted;
	struct mt_exec_memory *memory, own; /* NULL: none is in use */
};
/* The environment to execute with: the program's own pointer, where nothing is to be changed. */
char *const *mt_exec_begin(struct mt_exec *, int directory, const char *path, int flags,
	char *const *environment);
/* Notes that a process will not be recorded, if that is so; pid 0: this one. */
void mt_exec_note(struct mt_exec *, uint32_t pid);
/* After the call: what was noted is taken back, as the exec has failed. */
void mt_exec_failed(const struct mt_exec *);
/* The memory is not needed any more. */
void mt_exec_end(struct mt_exec *);
/* The thread ends. */
void mt_exec_leave(void);

#endif
