/* Where the stubs of a module lie: within the reach of its jumps. */
#include "core/patch/arch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

/* A relative jump and a relative operand reach 2 GB from the end of their instruction; a page less
 * covers where in a stub or function that is. */
#define REACH ((1ull << 31) - MT_PATCH_PAGE)
#define LOWEST 0x10000ull         /* what kernels let a program map: vm.mmap_min_addr */
#define HIGHEST 0x7ffffffff000ull /* of 47 bits; more must be asked for by the program */

static uint64_t up(uint64_t address)
{
	return (address + MT_PATCH_PAGE - 1) & ~(uint64_t)(MT_PATCH_PAGE - 1);
}

static uint64_t down(uint64_t address)
{
	return address & ~(uint64_t)(MT_PATCH_PAGE - 1);
}

struct search {
	uint64_t module_low, module_high, size;
	uint64_t below, above; /* the best so far; 0: none */
};

static bool reaches(const struct search *s, uint64_t address)
{
	uint64_t low = address < s->module_low ? address : s->module_low;
	uint64_t high = address + s->size > s->module_high ? address + s->size : s->module_high;

	return high - low <= REACH;
}

/* A gap between two ranges. */
static void consider(struct search *s, uint64_t low, uint64_t high)
{
	uint64_t at;

	low = low < LOWEST ? LOWEST : up(low);
	high = high > HIGHEST ? HIGHEST : down(high);
	if (low >= high || high - low < s->size)
		return;
	at = high - s->size;
	if (high <= s->module_low && reaches(s, at))
		s->below = at; /* gaps come in order: the last one is the nearest */
	if (low >= s->module_high && !s->above && reaches(s, low))
		s->above = low;
}

int mt_patch_place(uint64_t *address, const struct mt_patch_range *taken, size_t count,
	uint64_t module_low, uint64_t module_high, uint64_t size, struct mt_err *err)
{
	struct search s = {module_low, module_high, up(size), 0, 0};
	uint64_t end = 0;
	bool module_stands = false;

	if (!size || size > REACH || module_low >= module_high || module_high > HIGHEST)
		return mt_fail(err, -EINVAL,
			"no place for %" PRIu64 " bytes beside 0x%" PRIx64 "-0x%" PRIx64
			": the numbers make no sense",
			size, module_low, module_high);
	for (size_t i = 0; i <= count; i++) {
		bool is_last = i == count;

		/* The module is taken from its first to its last byte, whatever its holes. */
		if (!module_stands && (is_last || taken[i].low >= module_low)) {
			consider(&s, end, module_low);
			end = end < module_high ? module_high : end;
			module_stands = true;
		}
		consider(&s, end, is_last ? HIGHEST : taken[i].low);
		if (!is_last && taken[i].high > end)
			end = taken[i].high;
	}
	*address = s.below ? s.below : s.above;
	if (*address)
		return 0;
	return mt_fail(err, -ENOMEM,
		"no %" PRIu64 " free bytes within 2 GB of 0x%" PRIx64 "-0x%" PRIx64
		": jumps from there would not reach the hooks",
		s.size, module_low, module_high);
}
