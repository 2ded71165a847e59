/* The instructions of call frame information: which row holds at a pc (DWARF 5, section 6.4.2). */
#include "preload/unwind/cfi_parts.h"

#define MAX_REMEMBERED 8
#define MAX_INSTRUCTIONS 65536 /* of one function: no compiler comes near */
#define MAX_BELOW 1024
#define REGISTERS 17 /* that an unwinder for this processor knows */

struct program {
	struct mt_bytes b;
	const struct mt_mapped *image;
	const struct mt_cfi_cie *cie;
	const struct mt_cfi_row *initial; /* NULL while the CIE runs */
	uint64_t location, pc;
	struct mt_cfi_row remembered[MAX_REMEMBERED];
	int depth;
};

static struct mt_cfi_register *followed(struct mt_cfi_row *row, uint64_t reg)
{
	return reg == MT_DWARF_FP ? &row->fp
		: reg == MT_DWARF_RETURN_ADDRESS
		? &row->return_address
		: NULL;
}

/* May an unwinder that follows all registers believe this of one that ours does not follow? It
 * takes down where the register is saved, and what the place of the next one's expression is. In a
 * signal frame all are where the kernel saves them. */
static bool is_harmless(const struct mt_cfi_cie *cie, uint64_t reg, enum mt_cfi_how how,
	struct mt_bytes expression)
{
	int64_t offset;

	if (reg >= REGISTERS)
		return false;
	if (reg == MT_DWARF_SP)
		return how == MT_CFI_AT_EXPRESSION && cie->signal_frame
			&& mt_cfi_is_simple(expression, MT_DWARF_SP, false, &offset)
			&& offset == MT_SIGNAL_SP;
	switch (how) {
	case MT_CFI_SAME:
	case MT_CFI_UNDEFINED:
	case MT_CFI_AT_OFFSET: return true;
	case MT_CFI_AT_EXPRESSION:
		return mt_cfi_is_simple(expression, MT_DWARF_FP, false, &offset)
			|| mt_cfi_is_simple(expression, MT_DWARF_SP, false, &offset);
	default: return false;
	}
}

static void set(struct program *p, struct mt_cfi_row *row, uint64_t reg, enum mt_cfi_how how,
	int64_t offset, struct mt_bytes expression)
{
	struct mt_cfi_register *r = followed(row, reg);

	if (r && how != MT_CFI_AT_EXPRESSION && how != MT_CFI_VALUE_EXPRESSION)
		*r = (struct mt_cfi_register){.how = how, .offset = offset};
	else if (r)
		*r = (struct mt_cfi_register){.how = how,
			.len = (uint32_t)mt_bytes_left(&expression),
			.operations = expression.at};
	else
		row->harmless &= is_harmless(p->cie, reg, how, expression);
}

static void set_offset(struct program *p, struct mt_cfi_row *row, uint64_t reg, enum mt_cfi_how how,
	uint64_t factored)
{
	set(p, row, reg, how, (int64_t)(factored * (uint64_t)p->cie->data_align),
		(struct mt_bytes){0});
}

static void restore(const struct program *p, struct mt_cfi_row *row, uint64_t reg)
{
	struct mt_cfi_register *r = followed(row, reg);

	row->harmless &= reg < REGISTERS;
	if (r && p->initial)
		*r = *followed((struct mt_cfi_row *)p->initial, reg);
}

static struct mt_bytes block(struct program *p)
{
	return mt_bytes_part(&p->b, mt_bytes_uleb(&p->b));
}

/* Moves on in the code; true when that passes the pc. */
static bool advance(struct program *p, uint64_t delta)
{
	p->location += delta * p->cie->code_align;
	return p->location > p->pc;
}

/* The instructions that define the CFA. False: not one of them. */
static bool run_cfa(struct program *p, uint8_t op, struct mt_cfi_row *row)
{
	struct mt_bytes expression;

	switch (op) {
	case 0x0c: /* def_cfa */
		row->cfa_register = (uint32_t)mt_bytes_uleb(&p->b);
		row->cfa_offset = (int64_t)mt_bytes_uleb(&p->b);
		return true;
	case 0x0d: /* def_cfa_register */
		row->cfa_register = (uint32_t)mt_bytes_uleb(&p->b);
		return true;
	case 0x0e: /* def_cfa_offset */
		row->cfa_offset = (int64_t)mt_bytes_uleb(&p->b);
		return true;
	case 0x0f: /* def_cfa_expression */
		expression = block(p);
		row->cfa_register = MT_CFI_NO_REGISTER;
		row->cfa_operations = expression.at;
		row->cfa_len = (uint32_t)mt_bytes_left(&expression);
		return true;
	case 0x12: /* def_cfa_sf */
		row->cfa_register = (uint32_t)mt_bytes_uleb(&p->b);
		row->cfa_offset = mt_bytes_sleb(&p->b) * p->cie->data_align;
		return true;
	case 0x13: /* def_cfa_offset_sf */
		row->cfa_offset = mt_bytes_sleb(&p->b) * p->cie->data_align;
		return true;
	}
	return false;
}

/* The instructions that say where a register is. False: not understood. */
static bool run_register(struct program *p, uint8_t op, struct mt_cfi_row *row)
{
	static const struct mt_bytes none;
	uint64_t reg = mt_bytes_uleb(&p->b);

	switch (op) {
	case 0x05: set_offset(p, row, reg, MT_CFI_AT_OFFSET, mt_bytes_uleb(&p->b)); return true;
	case 0x06: restore(p, row, reg); return true;
	case 0x07: set(p, row, reg, MT_CFI_UNDEFINED, 0, none); return true;
	case 0x08: set(p, row, reg, MT_CFI_SAME, 0, none); return true;
	case 0x09:
		row->harmless &= mt_bytes_uleb(&p->b) < REGISTERS;
		set(p, row, reg, MT_CFI_ELSEWHERE, 0, none);
		return true;
	case 0x10: set(p, row, reg, MT_CFI_AT_EXPRESSION, 0, block(p)); return true;
	case 0x11:
		set_offset(p, row, reg, MT_CFI_AT_OFFSET, (uint64_t)mt_bytes_sleb(&p->b));
		return true;
	case 0x14: set_offset(p, row, reg, MT_CFI_VALUE_OFFSET, mt_bytes_uleb(&p->b)); return true;
	case 0x15:
		set_offset(p, row, reg, MT_CFI_VALUE_OFFSET, (uint64_t)mt_bytes_sleb(&p->b));
		return true;
	case 0x16: set(p, row, reg, MT_CFI_VALUE_EXPRESSION, 0, block(p)); return true;
	case 0x2f: /* GNU_negative_offset_extended */
		set_offset(p, row, reg, MT_CFI_AT_OFFSET, -mt_bytes_uleb(&p->b));
		return true;
	}
	return false;
}

enum end { ON, REACHED, FAILED };

/* The instructions of a byte, with their operands. */
static enum end run_long(struct program *p, uint8_t op, struct mt_cfi_row *row)
{
	struct mt_cfi_bases bases = {p->image, 0};
	unsigned size = op == 0x02 ? 1 : op == 0x03 ? 2 : 4;

	switch (op) {
	case 0x00: /* nop */ return ON;
	case 0x01: /* set_loc */
		p->location = mt_cfi_pointer(&p->b, p->cie->encoding, &bases);
		row->harmless = false;
		return p->location > p->pc ? REACHED : ON;
	case 0x02:
	case 0x03:
	case 0x04: return advance(p, mt_bytes_number(&p->b, size)) ? REACHED : ON;
	case 0x0a: /* remember_state */
		if (p->depth == MAX_REMEMBERED)
			return FAILED;
		p->remembered[p->depth++] = *row;
		return ON;
	case 0x0b: /* restore_state */
		if (p->depth == 0)
			return FAILED;
		p->remembered[--p->depth].harmless &= row->harmless;
		*row = p->remembered[p->depth];
		return ON;
	case 0x2e: /* GNU_args_size */ mt_bytes_uleb(&p->b); return ON;
	}
	return run_cfa(p, op, row) || run_register(p, op, row) ? ON : FAILED;
}

/* Runs until the pc's row is reached. False: not understood. */
static bool run(struct program *p, struct mt_cfi_row *row)
{
	enum end end = ON;

	for (int i = 0; end == ON && mt_bytes_left(&p->b); i++) {
		uint8_t op = (uint8_t)mt_bytes_number(&p->b, 1), low = op & 0x3f;

		if (i == MAX_INSTRUCTIONS)
			return false;
		switch (op >> 6) {
		case 0: end = run_long(p, op, row); break;
		case 1: end = advance(p, low) ? REACHED : ON; break;
		case 2: set_offset(p, row, low, MT_CFI_AT_OFFSET, mt_bytes_uleb(&p->b)); break;
		case 3: restore(p, row, low); break;
		}
	}
	return end != FAILED && !mt_bytes_failed(&p->b);
}

/* In a signal frame ours goes by where the kernel saves registers: so must another one's. */
static bool as_kernel_saves(const struct mt_cfi_row *row)
{
	int64_t cfa, pc, fp;

	return row->cfa_register == MT_CFI_NO_REGISTER
		&& mt_cfi_is_simple(mt_cfi_cfa_expression(row), MT_DWARF_SP, true, &cfa)
		&& row->return_address.how == MT_CFI_AT_EXPRESSION
		&& mt_cfi_is_simple(mt_cfi_expression(&row->return_address), MT_DWARF_SP, false,
			&pc)
		&& row->fp.how == MT_CFI_AT_EXPRESSION
		&& mt_cfi_is_simple(mt_cfi_expression(&row->fp), MT_DWARF_SP, false, &fp)
		&& cfa == MT_SIGNAL_SP && pc == MT_SIGNAL_PC && fp == MT_SIGNAL_FP;
}

bool mt_cfi_run(const struct mt_mapped *image, const struct mt_cfi_cie *cie,
	struct mt_bytes instructions, uint64_t start, uint64_t pc, struct mt_cfi_row *row)
{
	struct mt_cfi_row initial;
	struct program p = {.b = cie->instructions, .image = image, .cie = cie, .pc = UINT64_MAX};

	memset(row, 0, sizeof *row);
	row->cfa_register = MT_CFI_NO_REGISTER;
	row->harmless = cie->harmless;
	if (!run(&p, row))
		return false;
	row->harmless &= p.depth == 0 && p.location == 0;
	initial = *row;
	p.b = instructions;
	p.initial = &initial;
	p.location = start;
	p.pc = pc;
	p.depth = 0;
	if (!run(&p, row))
		return false;
	row->signal_frame = cie->signal_frame;
	if (row->signal_frame)
		row->harmless &= as_kernel_saves(row);
	/* nothing of this is asked of the outermost frame */
	if (row->return_address.how == MT_CFI_UNDEFINED)
		row->harmless &=
			row->cfa_register == MT_DWARF_SP || row->cfa_register == MT_DWARF_FP;
	/* ours does not read a slot below sp; another may, where it lies near enough */
	if (row->cfa_register == MT_DWARF_SP && row->fp.how == MT_CFI_AT_OFFSET)
		row->harmless &= row->cfa_offset + row->fp.offset > -MAX_BELOW;
	return true;
}
