#include "core/export/resident.h"
#include "core/export/number.h"

#include <stdio.h>

/* A program without a heap has a few megabytes resident: its code, its stacks, its libraries. Below
 * twice the heap the rest is what malloc and the libraries take beside any heap. */
#define MEMORY_LEAST (16ull << 20)
#define MEMORY_TIMES 2

uint64_t mt_resident_peak(const struct mt_profile *p, uint64_t *time_ns)
{
	uint64_t peak = p->info.peak_rss_bytes;

	*time_ns = p->info.peak_rss_ns;
	if (peak)
		return peak;
	for (uint32_t i = 0; i < p->sample_count; i++) /* an older trace: the steps know */
		if (p->samples[i].memory.rss_bytes > peak) {
			peak = p->samples[i].memory.rss_bytes;
			*time_ns = (i + 1) * p->step_ns;
		}
	return peak;
}

bool mt_resident_words(char out[MT_RESIDENT_LEN], const struct mt_profile *p, bool live)
{
	const struct mt_info *info = &p->info;
	uint64_t heap = live ? info->leaked_bytes : info->peak_bytes, when, beside;
	uint64_t resident = !live ? mt_resident_peak(p, &when)
		: p->sample_count ? p->samples[p->sample_count - 1].memory.rss_bytes
				  : 0;
	char numbers[2][MT_NUMBER_LEN];

	*out = '\0';
	if (resident <= MEMORY_TIMES * heap || resident - heap <= MEMORY_LEAST)
		return false;
	beside = resident - heap;
	mt_number_size(numbers[0], heap);
	mt_number_size(numbers[1], resident);
	if (live && info->pid) {
		snprintf(out, MT_RESIDENT_LEN,
			"The heap holds %s of %s resident; 'memtui memory %u' shows the rest.",
			numbers[0], numbers[1], info->pid);
		return true;
	}
	snprintf(out, MT_RESIDENT_LEN, "The heap %s %s%s of %s resident; %s.",
		live ? "holds" : "held", live ? "" : "at most ", numbers[0], numbers[1],
		info->arena_resident_bytes > heap && info->arena_resident_bytes - heap > beside / 2
			? "malloc keeps most of the rest for later"
			: "most of the memory is not in malloc");
	return true;
}
