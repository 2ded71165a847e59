#include "core/account/pages.h"

#include <errno.h>
#include <unistd.h>

#define AT_ONCE 4096u
/* an entry a page: proc_pid_pagemap(5) */
#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define FILE_OR_SHARED (1ull << 61)
#define ALONE (1ull << 56)

static unsigned state_of(uint64_t page)
{
	if (!(page & (PRESENT | SWAPPED)))
		return 0;
	return (page & PRESENT ? MT_PAGE_PRESENT : MT_PAGE_SWAPPED)
		| (page & FILE_OR_SHARED ? MT_PAGE_FILE : 0) | (page & ALONE ? MT_PAGE_ALONE : 0);
}

int mt_pages_each(int pagemap, uint64_t low, uint64_t high,
	void (*each)(void *context, uint64_t low, uint64_t high, unsigned state), void *context)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entries[AT_ONCE], begin = low;
	unsigned state = 0;

	for (uint64_t at = low; at < high;) {
		uint64_t left = (high - at + page - 1) / page;
		ssize_t n = pread(pagemap, entries,
			(left < AT_ONCE ? left : AT_ONCE) * sizeof *entries,
			(off_t)(at / page * sizeof *entries));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)sizeof *entries)
			return n < 0 ? -errno : -ESRCH;
		for (uint64_t i = 0; i < (uint64_t)n / sizeof *entries; i++, at += page) {
			unsigned now = state_of(entries[i]);

			if (now == state)
				continue;
			if (state)
				each(context, begin, at, state);
			begin = at;
			state = now;
		}
	}
	if (state)
		each(context, begin, high, state);
	return 0;
}
