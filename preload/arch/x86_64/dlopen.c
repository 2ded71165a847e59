/* dlopen and dlmopen as the program sees them. The real ones look at their return address to know
 * who asks, so they are jumped to with registers and stack as they came. */

/* Saves what both take as arguments; three words leave the stack as a call needs it. */
/* clang-format off */
#define HOOK(name) \
	__asm__(".text\n" \
		"	.globl " #name "\n" \
		"	.type " #name ", @function\n" \
		#name ":\n" \
		"	.cfi_startproc\n" \
		"	endbr64\n" \
		"	push %rdi\n" \
		"	push %rsi\n" \
		"	push %rdx\n" \
		"	.cfi_adjust_cfa_offset 24\n" \
		"	call mt_before_" #name "\n" \
		"	pop %rdx\n" \
		"	pop %rsi\n" \
		"	pop %rdi\n" \
		"	.cfi_adjust_cfa_offset -24\n" \
		"	jmp *mt_real_" #name "(%rip)\n" \
		"	.cfi_endproc\n" \
		"	.size " #name ", . - " #name "\n")
/* clang-format on */

HOOK(dlopen);
HOOK(dlmopen);
