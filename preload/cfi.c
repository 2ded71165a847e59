/* Finds the FDE of a pc through _dl_find_object, which takes no lock, and interprets it (DWARF 5,
 * section 6.4; .eh_frame and .eh_frame_hdr: Linux Standard Base, Core, chapter 10). */
#include "preload/cfi.h"

#include <dlfcn.h>
#include <string.h>

#define MAX_REMEMBERED 8

/* Pointer encodings (DW_EH_PE_*). */
enum {
	ENC_OMIT = 0xff,
	ENC_INDIRECT = 0x80,
	ENC_PCREL = 0x10,
	ENC_DATAREL = 0x30,
	ENC_FORM = 0x0f
};
#define ENC_TABLE 0x3b /* datarel, sdata4: the only search table that linkers write */

struct cie {
	const uint8_t *instructions, *end;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool augmented, signal_frame;
};

struct program {
	const uint8_t *at, *end;
	const struct cie *cie;
	const struct mt_cfi_row *initial; /* NULL while the CIE runs */
	uint64_t location, pc;
	struct mt_cfi_row remembered[MAX_REMEMBERED];
	int depth;
};

uint64_t mt_cfi_uleb(const uint8_t **at)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = *(*at)++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

int64_t mt_cfi_sleb(const uint8_t **at)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = *(*at)++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= ~0ull << shift;
	return (int64_t)value;
}

#define READ_AS(type, at) \
	({ \
		type value_; \
		memcpy(&value_, (at), sizeof value_); \
		(at) += sizeof value_; \
		value_; \
	})

static uint64_t read_pointer(const uint8_t **at, uint8_t encoding, uint64_t data_base)
{
	uint64_t place = (uint64_t)*at, value;

	if (encoding == ENC_OMIT)
		return 0;
	switch (encoding & ENC_FORM) {
	case 0x1: value = mt_cfi_uleb(at); break;
	case 0x2: value = READ_AS(uint16_t, *at); break;
	case 0x3: value = READ_AS(uint32_t, *at); break;
	case 0x9: value = (uint64_t)mt_cfi_sleb(at); break;
	case 0xa: value = (uint64_t)(int64_t)READ_AS(int16_t, *at); break;
	case 0xb: value = (uint64_t)(int64_t)READ_AS(int32_t, *at); break;
	default: value = READ_AS(uint64_t, *at); break;
	}
	if (value == 0)
		return 0;
	if ((encoding & 0x70) == ENC_PCREL)
		value += place;
	else if ((encoding & 0x70) == ENC_DATAREL)
		value += data_base;
	return encoding & ENC_INDIRECT ? *(const uint64_t *)value : value;
}

static bool parse_cie(const uint8_t *at, struct cie *cie)
{
	uint32_t len = READ_AS(uint32_t, at);
	const uint8_t *end = at + len, *data_end;
	const char *augmentation;
	uint64_t data_len;
	uint8_t version;

	memset(cie, 0, sizeof *cie);
	at += 4; /* id */
	version = *at++;
	augmentation = (const char *)at;
	at += strlen(augmentation) + 1;
	cie->code_align = mt_cfi_uleb(&at);
	cie->data_align = mt_cfi_sleb(&at);
	if (version == 1)
		at++;
	else
		mt_cfi_uleb(&at);
	cie->end = end;
	if (*augmentation != 'z') {
		cie->instructions = at;
		return *augmentation == '\0';
	}
	cie->augmented = true;
	data_len = mt_cfi_uleb(&at);
	data_end = at + data_len;
	while (*++augmentation) {
		if (*augmentation == 'R') {
			cie->encoding = *at++;
		} else if (*augmentation == 'L') {
			at++;
		} else if (*augmentation == 'P') {
			uint8_t encoding = *at++;

			read_pointer(&at, encoding & 0x7f, 0);
		} else if (*augmentation == 'S') {
			cie->signal_frame = true;
		} else if (*augmentation != 'B') {
			break;
		}
	}
	cie->instructions = data_end;
	return true;
}

static struct mt_cfi_register *followed(struct mt_cfi_row *row, uint64_t reg)
{
	return reg == MT_DWARF_FP ? &row->fp
		: reg == MT_DWARF_RETURN_ADDRESS
		? &row->return_address
		: NULL;
}

static void set(struct mt_cfi_row *row, uint64_t reg, enum mt_cfi_how how, int64_t offset,
	const uint8_t *expression)
{
	struct mt_cfi_register *r = followed(row, reg);

	if (r)
		*r = (struct mt_cfi_register){how, offset, expression};
}

static void restore(struct mt_cfi_row *row, const struct mt_cfi_row *initial, uint64_t reg)
{
	struct mt_cfi_register *r = followed(row, reg);

	if (r && initial)
		*r = *followed((struct mt_cfi_row *)initial, reg);
}

static const uint8_t *skip_block(struct program *p)
{
	const uint8_t *start = p->at;
	uint64_t len = mt_cfi_uleb(&p->at);

	p->at += len;
	return start;
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
	switch (op) {
	case 0x0c: /* def_cfa */
		row->cfa_register = mt_cfi_uleb(&p->at);
		row->cfa_offset = (int64_t)mt_cfi_uleb(&p->at);
		return true;
	case 0x0d: /* def_cfa_register */ row->cfa_register = mt_cfi_uleb(&p->at); return true;
	case 0x0e: /* def_cfa_offset */ row->cfa_offset = (int64_t)mt_cfi_uleb(&p->at); return true;
	case 0x0f: /* def_cfa_expression */
		row->cfa_register = MT_CFI_NO_REGISTER;
		row->cfa_expression = skip_block(p);
		return true;
	case 0x12: /* def_cfa_sf */
		row->cfa_register = mt_cfi_uleb(&p->at);
		row->cfa_offset = mt_cfi_sleb(&p->at) * p->cie->data_align;
		return true;
	case 0x13: /* def_cfa_offset_sf */
		row->cfa_offset = mt_cfi_sleb(&p->at) * p->cie->data_align;
		return true;
	}
	return false;
}

/* The instructions that say where a register is. False: not understood. */
static bool run_register(struct program *p, uint8_t op, struct mt_cfi_row *row)
{
	uint64_t reg = mt_cfi_uleb(&p->at);
	int64_t align = p->cie->data_align;

	switch (op) {
	case 0x05:
		set(row, reg, MT_CFI_AT_OFFSET, (int64_t)mt_cfi_uleb(&p->at) * align, NULL);
		return true;
	case 0x06: restore(row, p->initial, reg); return true;
	case 0x07: set(row, reg, MT_CFI_UNDEFINED, 0, NULL); return true;
	case 0x08: set(row, reg, MT_CFI_SAME, 0, NULL); return true;
	case 0x09:
		mt_cfi_uleb(&p->at);
		set(row, reg, MT_CFI_ELSEWHERE, 0, NULL);
		return true;
	case 0x10: set(row, reg, MT_CFI_AT_EXPRESSION, 0, skip_block(p)); return true;
	case 0x11: set(row, reg, MT_CFI_AT_OFFSET, mt_cfi_sleb(&p->at) * align, NULL); return true;
	case 0x14:
		set(row, reg, MT_CFI_VALUE_OFFSET, (int64_t)mt_cfi_uleb(&p->at) * align, NULL);
		return true;
	case 0x15:
		set(row, reg, MT_CFI_VALUE_OFFSET, mt_cfi_sleb(&p->at) * align, NULL);
		return true;
	case 0x16: set(row, reg, MT_CFI_VALUE_EXPRESSION, 0, skip_block(p)); return true;
	case 0x2f: /* GNU_negative_offset_extended */
		set(row, reg, MT_CFI_AT_OFFSET, -((int64_t)mt_cfi_uleb(&p->at) * align), NULL);
		return true;
	}
	return false;
}

/* Runs until the pc's row is reached. False: not understood. */
static bool run(struct program *p, struct mt_cfi_row *row)
{
	while (p->at < p->end) {
		uint8_t op = *p->at++, low = op & 0x3f;

		switch (op >> 6) {
		case 1:
			if (advance(p, low))
				return true;
			continue;
		case 2:
			set(row, low, MT_CFI_AT_OFFSET,
				(int64_t)mt_cfi_uleb(&p->at) * p->cie->data_align, NULL);
			continue;
		case 3: restore(row, p->initial, low); continue;
		}
		switch (op) {
		case 0x00: /* nop */ break;
		case 0x01: /* set_loc */
			p->location = read_pointer(&p->at, p->cie->encoding, 0);
			if (p->location > p->pc)
				return true;
			break;
		case 0x02:
			if (advance(p, *p->at++))
				return true;
			break;
		case 0x03:
			if (advance(p, READ_AS(uint16_t, p->at)))
				return true;
			break;
		case 0x04:
			if (advance(p, READ_AS(uint32_t, p->at)))
				return true;
			break;
		case 0x0a: /* remember_state */
			if (p->depth == MAX_REMEMBERED)
				return false;
			p->remembered[p->depth++] = *row;
			break;
		case 0x0b: /* restore_state */
			if (p->depth == 0)
				return false;
			*row = p->remembered[--p->depth];
			break;
		case 0x2e: /* GNU_args_size */ mt_cfi_uleb(&p->at); break;
		default:
			if (!run_cfa(p, op, row) && !run_register(p, op, row))
				return false;
		}
	}
	return true;
}

/* Interprets one FDE if it covers pc. */
static int try_fde(const uint8_t *fde, uint64_t pc, struct mt_cfi_row *row)
{
	const uint8_t *at = fde;
	uint32_t len = READ_AS(uint32_t, at);
	const uint8_t *end = at + len, *id_at = at;
	uint32_t distance = READ_AS(uint32_t, at);
	struct cie cie;
	struct program program;
	struct mt_cfi_row initial;
	uint64_t start, range;

	if (len == 0xffffffff || !parse_cie(id_at - distance, &cie))
		return MT_CFI_UNKNOWN;
	start = read_pointer(&at, cie.encoding, 0);
	range = read_pointer(&at, cie.encoding & ENC_FORM, 0);
	if (pc - start >= range)
		return MT_CFI_NONE;
	if (cie.augmented) {
		uint64_t skip = mt_cfi_uleb(&at);

		at += skip;
	}
	memset(row, 0, sizeof *row);
	row->cfa_register = MT_CFI_NO_REGISTER;
	program = (struct program){
		.at = cie.instructions,
		.end = cie.end,
		.cie = &cie,
		.pc = UINT64_MAX,
	};
	if (!run(&program, row))
		return MT_CFI_UNKNOWN;
	initial = *row;
	program.at = at;
	program.end = end;
	program.initial = &initial;
	program.location = start;
	program.pc = pc;
	program.depth = 0;
	if (!run(&program, row))
		return MT_CFI_UNKNOWN;
	row->signal_frame = cie.signal_frame;
	return MT_CFI_FOUND;
}

/* Without a search table: every FDE in turn. */
static int scan(const uint8_t *at, uint64_t pc, struct mt_cfi_row *row)
{
	for (;;) {
		uint32_t len, id;
		int found;

		memcpy(&len, at, 4);
		if (len == 0 || len == 0xffffffff)
			return MT_CFI_NONE;
		memcpy(&id, at + 4, 4);
		if (id != 0 && (found = try_fde(at, pc, row)) == MT_CFI_FOUND)
			return found;
		at += 4 + len;
	}
}

int mt_cfi_row(uint64_t pc, struct mt_cfi_row *row)
{
	struct dl_find_object object;
	const uint8_t *header, *at, *eh_frame;
	const int32_t *table;
	uint64_t count, low = 0;
	int64_t wanted;

	if (mt_object_of((void *)pc, &object) < 0 || !object.dlfo_eh_frame)
		return MT_CFI_NONE;
	header = object.dlfo_eh_frame;
	if (header[0] != 1)
		return MT_CFI_NONE;
	at = header + 4;
	eh_frame = (const uint8_t *)read_pointer(&at, header[1], (uint64_t)header);
	if (header[3] != ENC_TABLE || header[2] == ENC_OMIT)
		return eh_frame ? scan(eh_frame, pc, row) : MT_CFI_NONE;
	count = read_pointer(&at, header[2], (uint64_t)header);
	table = (const int32_t *)at; /* pairs: start of function, FDE; both from the header */
	wanted = (int64_t)(pc - (uint64_t)header);
	if (count == 0 || wanted < table[0])
		return MT_CFI_NONE;
	while (count > 1) {
		uint64_t half = count / 2;

		if (table[2 * (low + half)] <= wanted) {
			low += half;
			count -= half;
		} else {
			count = half;
		}
	}
	return try_fde(header + table[2 * low + 1], pc, row);
}
