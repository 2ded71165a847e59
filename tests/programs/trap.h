/* From one to the other a signal SIGTRAP comes after each instruction. With call frame information,
 * since handlers unwind through them. */
#ifndef TESTS_PROGRAMS_TRAP_H
#define TESTS_PROGRAMS_TRAP_H

void trap_on(void), trap_off(void);
/* clang-format off */
__asm__(".text\n"
	"trap_on:\n\t.cfi_startproc\n\tendbr64\n\tpushfq\n\t.cfi_adjust_cfa_offset 8\n\torq $0x100, (%rsp)\n\t"
	"popfq\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n"
	"trap_off:\n\t.cfi_startproc\n\tendbr64\n\tpushfq\n\t.cfi_adjust_cfa_offset 8\n\tandq $-0x101, (%rsp)\n\t"
	"popfq\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n");
/* clang-format on */

#endif
