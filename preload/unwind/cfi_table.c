/* The search table of .eh_frame_hdr (Linux Standard Base, Core, chapter 10), and one of our own for
 * modules without. */
#include "preload/base/sys.h"
#include "preload/unwind/cfi_parts.h"

#define PAIR (2 * sizeof(int32_t))

void mt_cfi_read_header(struct mt_mapped *image, uint64_t header)
{
	struct mt_cfi_bases bases = {image, header};
	uint8_t version, frames_encoding, count_encoding, table_encoding;
	uint64_t count;
	struct mt_bytes b;

	if (!mt_mapped_bytes(image, header, &b))
		return;
	version = (uint8_t)mt_bytes_number(&b, 1);
	frames_encoding = (uint8_t)mt_bytes_number(&b, 1);
	count_encoding = (uint8_t)mt_bytes_number(&b, 1);
	table_encoding = (uint8_t)mt_bytes_number(&b, 1);
	mt_cfi_pointer(&b, frames_encoding, &bases);
	count = mt_cfi_pointer(&b, count_encoding, &bases);
	if (mt_bytes_failed(&b) || version != 1 || count_encoding == MT_ENC_OMIT
		|| table_encoding != MT_ENC_TABLE || count > mt_bytes_left(&b) / PAIR)
		return;
	image->table = (struct mt_cfi_table){
		.base = header,
		.pairs = b.at,
		.count = (uint32_t)count,
		.usual = frames_encoding != MT_ENC_OMIT && !(frames_encoding & MT_ENC_INDIRECT)
			&& count_encoding == 0x03 && (uint64_t)b.at % 4 == 0,
	};
}

bool mt_cfi_is_sorted(const struct mt_mapped *image)
{
	const struct mt_cfi_table *table = &image->table;
	int64_t before = INT64_MIN;

	for (uint32_t i = 0; i < table->count; i++) {
		int32_t start;

		memcpy(&start, table->pairs + i * PAIR, sizeof start);
		if (start < before)
			return false;
		before = start;
	}
	return table->base && table->usual;
}

/* ---- one of our own -------------------------------------------------------------------------- */

struct pair {
	int32_t start, entry;
};
_Static_assert(sizeof(struct pair) == PAIR, "pair");

static bool fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

/* Puts the FDEs into pairs (NULL: counts them). */
static uint32_t collect(const struct mt_mapped *image, struct mt_bytes frames, struct pair *pairs)
{
	uint64_t base = (uint64_t)frames.at;
	struct mt_cfi_entry entry;
	uint32_t count = 0;

	while (mt_cfi_next_entry(image, &frames, &entry)) {
		int64_t start = (int64_t)(entry.start - base), at = (int64_t)(entry.at - base);

		if (!entry.is_fde || !fits(start) || !fits(at))
			continue;
		if (pairs)
			pairs[count] = (struct pair){(int32_t)start, (int32_t)at};
		count++;
	}
	return count;
}

static void sift(struct pair *pairs, uint64_t root, uint64_t count)
{
	struct pair moved = pairs[root];

	for (uint64_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && pairs[child].start < pairs[child + 1].start)
			child++;
		if (pairs[child].start <= moved.start)
			break;
		pairs[root] = pairs[child];
	}
	pairs[root] = moved;
}

/* Heapsort: libc's qsort may allocate. */
static void sort(struct pair *pairs, uint64_t count)
{
	for (uint64_t i = count / 2; i-- > 0;)
		sift(pairs, i, count);
	while (count-- > 1) {
		struct pair last = pairs[count];

		pairs[count] = pairs[0];
		pairs[0] = last;
		sift(pairs, 0, count);
	}
}

void mt_cfi_make_table(struct mt_mapped *image, struct mt_bytes frames)
{
	uint32_t count = collect(image, frames, NULL);
	struct pair *pairs = count ? mt_sys_map(count * PAIR) : NULL;

	if (!pairs)
		return;
	mt_count_private(count * PAIR);
	sort(pairs, collect(image, frames, pairs));
	image->has_cfi = true;
	image->table = (struct mt_cfi_table){
		.base = (uint64_t)frames.at,
		.pairs = (const uint8_t *)pairs,
		.count = count,
		.own = true,
	};
}

void mt_cfi_free_table(struct mt_mapped *image)
{
	if (image->table.own)
		mt_sys_unmap((void *)image->table.pairs, image->table.count * PAIR);
	image->table = (struct mt_cfi_table){.base = 0};
}
