/* Call frame information: what a function's .eh_frame says about the frame of a pc. */
#ifndef MT_CFI_H
#define MT_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/tracer.h"

enum mt_cfi_how {
	MT_CFI_SAME,
	MT_CFI_AT_OFFSET, /* saved at CFA + offset */
	MT_CFI_UNDEFINED,
	/* saved where the expression says; it starts with the CFA on its stack */
	MT_CFI_AT_EXPRESSION,
	MT_CFI_VALUE_OFFSET, /* is CFA + offset */
	MT_CFI_VALUE_EXPRESSION,
	MT_CFI_ELSEWHERE, /* in a register that is not followed */
};

struct mt_cfi_register {
	uint32_t how;
	int64_t offset;
	const uint8_t *expression; /* ULEB128 length, then the operations */
};

#define MT_CFI_NO_REGISTER 0xffffffffu
struct mt_cfi_row {
	uint32_t cfa_register; /* MT_CFI_NO_REGISTER: by cfa_expression */
	int64_t cfa_offset;
	const uint8_t *cfa_expression;
	struct mt_cfi_register fp, return_address;
	bool signal_frame;
};

enum { MT_CFI_FOUND, MT_CFI_NONE, MT_CFI_UNKNOWN };

/* Fills the row that holds at pc. MT_CFI_NONE: no information; MT_CFI_UNKNOWN: not understood. */
int mt_cfi_row(uint64_t pc, struct mt_cfi_row *row);

uint64_t mt_cfi_uleb(const uint8_t **at);
int64_t mt_cfi_sleb(const uint8_t **at);

/* Runs a DWARF expression (ULEB128 length, operations). Words are read through read(), which
 * refuses what may not be touched. Returns false when it cannot be evaluated. */
struct mt_cfi_machine {
	uint64_t pc, sp, fp;
	bool (*read)(void *context, uint64_t address, uint64_t *value);
	void *context;
};
bool mt_cfi_evaluate(const struct mt_cfi_machine *, const uint8_t *expression,
	const uint64_t *initial, uint64_t *result);

#endif
