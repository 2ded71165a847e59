/* dlopen and dlmopen as the program sees them. The real ones look at their return address to know
 * who asks, so they are jumped to with registers and stack as they came. */
#include <dlfcn.h>

#include "preload/deepbind.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* clang-format off */
__asm__(".text\n"
	"	.globl dlopen\n"
	"	.type dlopen, @function\n"
	"dlopen:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	test $" TEXT(RTLD_DEEPBIND) ", %esi\n"
	"	jne 1f\n"
	"	cmpq $0, mt_real_dlopen(%rip)\n"
	"	je 1f\n"
	"0:	jmp *mt_real_dlopen(%rip)\n"
	"1:	push %rdi\n"
	"	push %rsi\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call mt_deepbind_before\n"
	"	add $8, %rsp\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	jmp 0b\n"
	"	.cfi_endproc\n"
	"	.size dlopen, . - dlopen\n"
	"	.globl dlmopen\n"
	"	.type dlmopen, @function\n"
	"dlmopen:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call mt_deepbind_before_in\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	jmp *mt_real_dlmopen(%rip)\n"
	"	.cfi_endproc\n"
	"	.size dlmopen, . - dlmopen\n");
/* clang-format on */
