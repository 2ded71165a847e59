/* /proc/PID/smaps: the mappings of a process, and how much is resident (proc_pid_smaps(5)). */
#ifndef MT_ACCOUNT_SMAPS_H
#define MT_ACCOUNT_SMAPS_H

#include "core/base/buffer.h"
#include "core/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* All sizes are in bytes, and none is larger than the mapping. */
struct mt_smap {
	uint64_t low, high, offset, inode;
	bool is_readable, is_writable, is_code, is_shared;
	uint32_t path; /* string id; 0: it has no name */
	uint64_t rss, private_clean, private_dirty, shared_clean, shared_dirty, swap;
	uint64_t huge;    /* of rss, in huge pages */
	uint64_t hugetlb; /* of reserved huge pages, which do not count as resident */
};

struct mt_smaps {
	struct mt_smap *items; /* by address; no two overlap */
	uint32_t count, capacity;
	struct mt_strings paths;
	uint32_t passed_over; /* lines that make no sense */
};

/* Takes text that may be anything. smaps is zeroed. */
void mt_smaps_parse(struct mt_smaps *, const char *text, size_t len);
/* Of a process. -ESRCH: there is none, it has ended, or it has no memory; -EACCES. */
int mt_smaps_read(struct mt_smaps *, pid_t, struct mt_err *);
void mt_smaps_free(struct mt_smaps *);
static inline const char *mt_smap_path(const struct mt_smaps *s, const struct mt_smap *m)
{
	return mt_strings_get(&s->paths, m->path);
}

#endif
