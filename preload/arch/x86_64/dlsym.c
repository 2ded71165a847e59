/* dlsym and dlvsym as the program sees them. For RTLD_DEFAULT (0) and RTLD_NEXT (-1) the real ones
 * look at who calls, so they are jumped to with registers and stack as they came. */

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
		"	lea 1(%rdi), %rax\n" \
		"	cmp $1, %rax\n" \
		"	ja mt_in_handle_" #name "\n" \
		"	mov mt_real_" #name "(%rip), %rax\n" \
		"	test %rax, %rax\n" \
		"	je 1f\n" \
		"	jmp *%rax\n" \
		"1:	ret\n" \
		"	.cfi_endproc\n" \
		"	.size " #name ", . - " #name "\n")
/* clang-format on */

HOOK(dlsym);
HOOK(dlvsym);
