/* One instruction, as far as moving it asks. Only decode.c knows the library that decodes. */
#ifndef MT_PATCH_X86_64_DECODE_H
#define MT_PATCH_X86_64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_x86_kind {
	MT_X86_PLAIN,  /* can be moved; a relative operand gets a new displacement */
	MT_X86_JUMP,   /* jmp or jcc to a relative target: can be moved in its form of 32 bits */
	MT_X86_CALL,   /* leaves an address behind it on the stack */
	MT_X86_NARROW, /* relative, without a form of 32 bits that does the same */
	MT_X86_TRAP,   /* enters the kernel, which sees its address */
	MT_X86_BREAKPOINT, /* int3 */
	MT_X86_LANDING,    /* endbr64 */
	MT_X86_PADDING,    /* nop of any length */
};

struct mt_x86_instruction {
	enum mt_x86_kind kind;
	uint8_t len;
	bool ends;          /* what follows is not reached from here */
	bool is_relative;   /* it has a target */
	bool takes_address; /* lea */
	uint64_t target;    /* of a branch, or the address of a memory operand */
	uint8_t field;      /* where its displacement stands in the instruction, in bytes */
	uint8_t field_size; /* in bytes */
	uint8_t opcode;     /* the last byte of it */
	uint8_t prefixes;   /* bytes before the opcode; of jumps only */
};

/* The instruction at `bytes`, of which `have` may be read. 0; -ENODATA if it would go on behind
 * them; -EILSEQ if it is none. */
int mt_x86_decode(const uint8_t *bytes, size_t have, uint64_t address, struct mt_x86_instruction *);

#endif
