/* Call frame information: what a module's .eh_frame says about the frame of a pc. Its bytes may be
 * damaged, or made to do harm: they are read through bounded cursors alone. */
#ifndef MT_CFI_H
#define MT_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/tracer.h"
#include "preload/unwind/mapped.h"

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

/* Kept small, as rows lie on the program's stack. */
struct mt_cfi_register {
	uint32_t how;
	uint32_t len; /* of the expression; else 0 */
	union {
		int64_t offset;
		const uint8_t *operations;
	};
};

#define MT_CFI_NO_REGISTER 0xffffffffu
struct mt_cfi_row {
	uint32_t cfa_register; /* MT_CFI_NO_REGISTER: by cfa_expression */
	bool signal_frame;
	/* nothing in it could make an unwinder fail that trusts what it reads and follows all
	 * registers */
	bool harmless;
	uint32_t cfa_len; /* of the expression; 0: there is none */
	int64_t cfa_offset;
	const uint8_t *cfa_operations;
	struct mt_cfi_register fp, return_address;
};

static inline struct mt_bytes mt_cfi_expression(const struct mt_cfi_register *r)
{
	return (struct mt_bytes){r->operations, r->operations + r->len};
}

static inline struct mt_bytes mt_cfi_cfa_expression(const struct mt_cfi_row *row)
{
	return (struct mt_bytes){row->cfa_operations, row->cfa_operations + row->cfa_len};
}

/* Fills in where the image's search table is. */
void mt_cfi_read_header(struct mt_mapped *, uint64_t header);
/* Makes a search table of the entries of .eh_frame, in the tracer's own memory. */
void mt_cfi_make_table(struct mt_mapped *, struct mt_bytes frames);
void mt_cfi_free_table(struct mt_mapped *);

enum { MT_CFI_FOUND, MT_CFI_NONE, MT_CFI_UNKNOWN };

/* Fills the row that holds at pc. MT_CFI_NONE: no information, and of the row `harmless` alone is
 * filled in; MT_CFI_UNKNOWN: not understood. */
int mt_cfi_row(const struct mt_mapped *, uint64_t pc, struct mt_cfi_row *row);

/* Is the search table one in which every unwinder finds the same entries? Looks at all of it. */
bool mt_cfi_is_sorted(const struct mt_mapped *);

/* An expression that is the value of one register and an offset, followed by a load or not. */
bool mt_cfi_is_simple(struct mt_bytes expression, unsigned reg, bool load, int64_t *offset);

/* Runs a DWARF expression. Words are read through read(), which refuses what may not be touched.
 * Returns false when it cannot be evaluated. */
struct mt_cfi_machine {
	uint64_t pc, sp, fp;
	bool (*read)(void *context, uint64_t address, uint64_t *value);
	void *context;
};
bool mt_cfi_evaluate(const struct mt_cfi_machine *, struct mt_bytes expression,
	const uint64_t *initial, uint64_t *result);

#endif
