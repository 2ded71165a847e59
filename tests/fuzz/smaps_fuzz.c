/* The list of a process's mappings (/proc/PID/smaps). Input: its text. */
#include "core/account/smaps.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_smaps s = {0};
	uint64_t end = 0;

	mt_smaps_parse(&s, (const char *)data, size);
	for (uint32_t i = 0; i < s.count; i++) {
		const struct mt_smap *m = &s.items[i];
		uint64_t room = m->high - m->low;

		if (m->low < end || m->low >= m->high || m->rss > room || m->swap > room
			|| m->private_clean > room || m->private_dirty > room
			|| m->shared_clean > room || m->shared_dirty > room || m->huge > room
			|| m->hugetlb > room || m->path >= s.paths.count)
			abort();
		end = m->high;
	}
	mt_smaps_free(&s);
	return 0;
}
