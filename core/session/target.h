/* What the header of an executable file says: can the tracer be loaded into it? */
#ifndef MT_SESSION_TARGET_H
#define MT_SESSION_TARGET_H

#include "core/wire.h"

#include <stdbool.h>
#include <sys/types.h>

struct mt_target {
	bool is_elf;            /* else nothing below holds */
	bool is_64_bit;         /* else nothing below holds */
	bool is_of_machine;     /* for the processor that memtui was built for */
	bool is_cut;            /* ends before its program headers do, or they are damaged */
	char interpreter[4096]; /* the dynamic linker; "": none, it is statically linked */
};

void mt_target_read(struct mt_target *, int fd);
/* True if the dynamic linker is that of musl. */
bool mt_target_is_musl(const struct mt_target *);
/* Why a running process is not recorded, as far as /proc tells: static, setuid, word size, other
 * libc, environment cleared, or MT_BLIND_UNTRACED. path: where its executable is, "" if that is not
 * known. */
enum mt_blind_reason mt_target_of_process(pid_t, char *path, size_t size);

#endif
