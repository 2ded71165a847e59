/* strict PROGRAM...: executes it behind a filter that kills whoever makes memory writable and
 * executable at once, and that no hook sees: as what starts a service may. -DLIBRARY: a function of
 * libc's in a library that has its symbols beside its code. */
#ifdef LIBRARY
#include <stddef.h>

int malloc_trim(size_t pad)
{
	return (int)(pad & 1);
}
#else
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call(long number, long a, long b, const void *c)
{
	register long fourth __asm__("r10") = 0;
	register long fifth __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
			 : "rcx", "r11", "memory");
	return result;
}

int main(int argc, char **argv)
{
	static struct sock_filter both[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static struct sock_fprog program = {sizeof both / sizeof *both, both};

	if (argc < 2 || call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, NULL)
		|| call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 3;
	execv(argv[1], argv + 1);
	return 4;
}
#endif
