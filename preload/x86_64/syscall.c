/* syscall() as the program sees it. Some calls return twice, or on another stack: all but the two that can install a
 * filter are handed on with registers and stack as they came. */
#include <sys/syscall.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

__asm__(".text\n"
	"	.globl syscall\n"
	"	.type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	cmpl $" TEXT(__NR_seccomp) ", %edi\n"
	"	je mt_seal_seccomp\n"
	"	cmpl $" TEXT(__NR_prctl) ", %edi\n"
	"	je mt_seal_prctl\n"
	"	jmp *mt_real_syscall(%rip)\n"
	"	.cfi_endproc\n"
	"	.size syscall, . - syscall\n");
