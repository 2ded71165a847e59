/* The tracer's reader of call frame information, on a module that is all input: header, search
 * table, entries, instructions and expressions. The input lies in memory of its exact size, so the
 * sanitizer sees every read beyond it.
 *
 * Input: 8 bytes that say where in the rest the header lies and which pcs are asked for; the rest
 * is one readable segment. */
#include <stdlib.h>

#include "preload/unwind/cfi_parts.h"
#include "tests/fuzz/fuzz.h"

#define PCS 8

/* ---- what the table's memory is taken by ---- */

struct mt_tracer mt_tracer;

long mt_sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
	return mt_arch_call(nr, a, b, c, d, e, f);
}

/* ---- the target ---- */

static bool read_word(void *context, uint64_t address, uint64_t *value)
{
	int *left = context;

	*value = address * 3;
	return (*left)-- > 0;
}

static void evaluate(const struct mt_cfi_row *row, uint64_t pc)
{
	struct mt_bytes expressions[] = {mt_cfi_cfa_expression(row), mt_cfi_expression(&row->fp),
		mt_cfi_expression(&row->return_address)};
	int words = 6;
	struct mt_cfi_machine machine = {pc, 0x7000, 0x7100, read_word, &words};
	uint64_t result;
	int64_t offset;

	for (int i = 0; i < 3; i++) {
		mt_cfi_evaluate(&machine, expressions[i], &pc, &result);
		mt_cfi_is_simple(expressions[i], MT_DWARF_FP, true, &offset);
	}
}

static void ask(const struct mt_mapped *image, uint64_t pc)
{
	struct mt_cfi_row row;

	if (mt_cfi_row(image, pc, &row) == MT_CFI_FOUND)
		evaluate(&row, pc);
}

/* Asks for pcs at the start of some entries and a little behind. */
static void ask_some(const struct mt_mapped *image, const uint8_t *data)
{
	for (uint32_t i = 0; i < PCS && i < image->table.count; i++) {
		uint32_t which = (data[2] + i * data[3]) % image->table.count;
		int32_t start;

		memcpy(&start, image->table.pairs + which * 2 * sizeof start, sizeof start);
		ask(image, image->table.base + (uint64_t)(int64_t)start + data[4 + i % 4]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_mapped image = {.segment_count = 1, .has_cfi = true};
	struct mt_bytes frames;
	uint8_t *copy;
	uint64_t start;

	if (size < 8 || !(copy = malloc(size - 8)))
		return 0;
	memcpy(copy, data + 8, size - 8);
	start = (uint64_t)copy;
	image.segments[0] = (struct mt_mapped_segment){start, start + size - 8};
	mt_cfi_read_header(&image, start + (data[0] | data[1] << 8));
	mt_cfi_is_sorted(&image);
	ask_some(&image, data);
	ask(&image, start + data[4] * 256u);
	/* a second time, as if it were .eh_frame alone: the seeds' is behind the header's table */
	if (mt_mapped_bytes(&image, start + (12 + 8ull * image.table.count + 7) / 8 * 8, &frames)) {
		mt_cfi_make_table(&image, frames);
		ask_some(&image, data);
		mt_cfi_free_table(&image);
	}
	free(copy);
	return 0;
}
