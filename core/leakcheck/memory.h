/* Reading the memory of a process that stands still, or of a copy of it. */
#ifndef MT_LEAKCHECK_MEMORY_H
#define MT_LEAKCHECK_MEMORY_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_still_memory {
	pid_t pid;
	int mem, pagemap; /* of /proc/PID */
};
struct mt_span {
	uint64_t address;
	size_t len;
};

int mt_still_memory_open(struct mt_still_memory *, pid_t, struct mt_err *);
void mt_still_memory_close(struct mt_still_memory *);
/* Reads spans one behind the other. What cannot be read is zero there. */
void mt_still_memory_read(const struct mt_still_memory *, const struct mt_span *, uint32_t count,
	void *to);
/* The first run of pages within low to high that are there, in memory or swapped out; only those of
 * the process alone if private_only, which leaves out what is as it stands in a file. false: none
 * is left. Where the kernel does not tell, all pages are. Reading others would be in vain, and in
 * memory that is shared it would make them. */
bool mt_still_memory_present(const struct mt_still_memory *, uint64_t low, uint64_t high,
	bool private_only, struct mt_span *);

/* Whether single pages are there, of which many are asked for in any order: what was found out of
 * their neighbours is kept. Zeroed at first. */
struct mt_page_presence {
	struct mt_page_run *runs; /* by hash of where they begin */
	uint32_t count, bits;
};
/* Whether all pages of low to high are. */
bool mt_still_memory_has(const struct mt_still_memory *, struct mt_page_presence *, uint64_t low,
	uint64_t high);
void mt_page_presence_free(struct mt_page_presence *);

#endif
