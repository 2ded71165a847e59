#include "core/patch/x86_64/decode.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <string.h>

static enum mt_x86_kind kind_of(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_ENDBR64: return MT_X86_LANDING;
	case ZYDIS_MNEMONIC_NOP: return MT_X86_PADDING;
	case ZYDIS_MNEMONIC_INT3: return MT_X86_BREAKPOINT;
	case ZYDIS_MNEMONIC_CALL: return MT_X86_CALL;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2: return MT_X86_TRAP;
	default: break;
	}
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET: return MT_X86_TRAP;
	default: return MT_X86_PLAIN;
	}
}

static bool ends(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2: return true;
	default: return z->meta.category == ZYDIS_CATEGORY_RET;
	}
}

/* jmp and jcc have forms of 8 and of 32 bits that do the same, but for the prefixes of sizes:
 * processors disagree on these. */
static bool has_wide_form(const ZydisDecodedInstruction *z)
{
	bool is_jmp = z->mnemonic == ZYDIS_MNEMONIC_JMP && (z->opcode == 0xeb || z->opcode == 0xe9);
	bool is_short_jcc =
		z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && z->opcode >= 0x70 && z->opcode <= 0x7f;
	bool is_long_jcc =
		z->opcode_map == ZYDIS_OPCODE_MAP_0F && z->opcode >= 0x80 && z->opcode <= 0x8f;

	for (unsigned i = 0; i < z->raw.prefix_count; i++)
		if (z->raw.prefixes[i].value == 0x66 || z->raw.prefixes[i].value == 0x67)
			return false;
	return is_jmp || is_short_jcc || is_long_jcc;
}

static void set_relative(struct mt_x86_instruction *i, uint64_t address, int64_t displacement,
	uint8_t field, uint8_t bits)
{
	i->is_relative = true;
	i->target = address + i->len + (uint64_t)displacement;
	i->field = field;
	i->field_size = bits / 8;
}

int mt_x86_decode(const uint8_t *bytes, size_t have, uint64_t address, struct mt_x86_instruction *i)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction z;
	ZyanStatus status;

	memset(i, 0, sizeof *i);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	status = ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, have, &z);
	if (status == ZYDIS_STATUS_NO_MORE_DATA)
		return -ENODATA;
	if (!ZYAN_SUCCESS(status))
		return -EILSEQ;
	i->kind = kind_of(&z);
	i->len = z.length;
	i->ends = ends(&z);
	i->opcode = z.opcode;
	i->takes_address = z.mnemonic == ZYDIS_MNEMONIC_LEA;
	if (z.raw.imm[0].is_relative) {
		set_relative(i, address, z.raw.imm[0].value.s, z.raw.imm[0].offset,
			z.raw.imm[0].size);
		if (i->kind == MT_X86_PLAIN)
			i->kind = has_wide_form(&z) ? MT_X86_JUMP : MT_X86_NARROW;
		if (i->kind == MT_X86_JUMP)
			i->prefixes = i->field - (z.opcode_map == ZYDIS_OPCODE_MAP_0F ? 2 : 1);
	} else if (z.attributes & ZYDIS_ATTRIB_IS_RELATIVE) {
		set_relative(i, address, z.raw.disp.value, z.raw.disp.offset, z.raw.disp.size);
		if (z.address_width != 64 && i->kind == MT_X86_PLAIN)
			i->kind = MT_X86_NARROW; /* of eip: the sum is cut to 32 bits */
	}
	return 0;
}
