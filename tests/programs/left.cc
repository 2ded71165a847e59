// left MODE: operators of the program's own that are left by longjmp, on stacks that lie one below the other. Nothing is wrong.
// new: an operator new on a stack that is gone when another one, right below, allocates. deletes: the same of a delete, whose
// block is deleted there. again: deletes are left on the thread's own stack, and done again from elsewhere; one of them deeply.
// pass: a delete frees with much stack in between. filtered: that, behind a system-call filter, on another
// stack. Build with -fno-toplevel-reorder: main stands behind the operators.
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define SITE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") /* no tail call */

static bool leave, deep;
static jmp_buf back;
static void *volatile sink;

SITE static void free_deeply(void *p) { volatile char room[200000]; room[0] = room[199999] = 0; free(p); KEEP; }
SITE void *operator new(std::size_t n) { if (leave) longjmp(back, 1); void *p = malloc(n); KEEP; return p; }
SITE void operator delete(void *p) noexcept { if (leave) longjmp(back, 1); if (deep) free_deeply(p); else free(p); KEEP; }
SITE static void allocates() { void *p = malloc(48); sink = p; free(p); KEEP; }
SITE static void leaves_new() { leave = true; sink = new char[40]; }
SITE static void leaves_delete() { volatile char room[256]; room[0] = 0; leave = true; delete[] (char *)sink; }
SITE static void deletes() { leave = false; delete[] (char *)sink; KEEP; }

extern "C" void on_stack(char *top, void (*f)());
__asm__(".text\non_stack: .cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx,0\nmov %rsp,%rbx\n"
	".cfi_def_cfa_register rbx\nmov %rdi,%rsp\ncall *%rsi\nmov %rbx,%rsp\n.cfi_def_cfa_register rsp\npop %rbx\n"
	".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n");

SITE static void leave_on_stack(char *below, void (*left)(), void (*then)())
{
	if (!setjmp(back))
		on_stack(below + 1024, left);
	leave = false;
	mprotect(below, 65536, PROT_NONE);
	on_stack(below, then);
}

SITE static void seal()
{
	sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	sock_fprog program = {1, &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		exit(3);
}

int main(int, char **argv)
{
	char *stacks = (char *)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(argv[1], "new"))
		leave_on_stack(stacks + 65536, leaves_new, allocates);
	sink = new char[40];
	if (!strcmp(argv[1], "deletes"))
		leave_on_stack(stacks + 65536, leaves_delete, deletes);
	for (int i = 0; !strcmp(argv[1], "again") && i < 10; i++) {
		if (!setjmp(back))
			leaves_delete();
		deletes();
		sink = new char[40];
	}
	deep = true;
	if (!strcmp(argv[1], "pass"))
		deletes();
	if (!strcmp(argv[1], "filtered")) {
		seal();
		on_stack(stacks + (1 << 20), deletes);
	}
	return 0;
}
