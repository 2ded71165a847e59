/* Runs a program where pidfds and futex_waitv are refused, as old kernels and containers do. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PEERPIDFD 77
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)

int main(int argc, char **argv)
{
	struct sock_filter rules[] = {LOAD(nr), IS(434, 5, 0), IS(449, 4, 0),
		IS(SYS_getsockopt, 0, 2), LOAD(args[2]), IS(PEERPIDFD, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
	struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		|| prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 98;
}
