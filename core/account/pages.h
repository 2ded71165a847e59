/* /proc/PID/pagemap: which pages of a process are there. */
#ifndef MT_ACCOUNT_PAGES_H
#define MT_ACCOUNT_PAGES_H

#include <stdint.h>

enum mt_page_state {
	MT_PAGE_PRESENT = 1,
	MT_PAGE_SWAPPED = 2,
	MT_PAGE_FILE = 4,  /* of a file, or of memory that is shared on purpose */
	MT_PAGE_ALONE = 8, /* no other process has it */
};

/* Calls each for all runs of pages within low to high that are present or swapped, in order; the
 * pages of a run have the same state, a set of enum mt_page_state. pagemap: the open file. Returns
 * 0, or a negative errno: -ESRCH: the process has ended. */
int mt_pages_each(int pagemap, uint64_t low, uint64_t high,
	void (*each)(void *context, uint64_t low, uint64_t high, unsigned state), void *context);

#endif
