/* syscall() as the program sees it. Some calls return twice, or on another stack: all but the two
 * that can install a filter, those that execute a program, and a fork in a signal handler within an
 * event, are handed on with registers and stack as they came. */
#include <sys/syscall.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* clang-format off */
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
	"	cmpl $" TEXT(__NR_execve) ", %edi\n"
	"	je mt_exec_syscall\n"
	"	cmpl $" TEXT(__NR_execveat) ", %edi\n"
	"	je mt_exec_syscall\n"
	"	cmpl $" TEXT(__NR_fork) ", %edi\n"
	"	je 1f\n"
	"	cmpl $" TEXT(__NR_clone) ", %edi\n"
	"	je 1f\n"
	"	cmpl $" TEXT(__NR_clone3) ", %edi\n"
	"	je 1f\n"
	"0:	jmp *mt_real_syscall(%rip)\n"
	"1:	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	push %r8\n"
	"	push %r9\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 56\n"
	"	call mt_thread_forks_within\n"
	"	add $8, %rsp\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rcx\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -56\n"
	"	test %eax, %eax\n"
	"	je 0b\n"
	"	jmp mt_thread_syscall_fork\n"
	"	.cfi_endproc\n"
	"	.size syscall, . - syscall\n");
/* clang-format on */
