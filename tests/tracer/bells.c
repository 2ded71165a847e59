/* bells refused: tries to install a filter that the kernel refuses, and allocates before and after.
 * bells sealed: then one that allows everything. bells meanwhile: the refusal comes, in a thread,
 * when the other is there; bells_late.c keeps it back. bells held: the other comes when one that
 * kills for what was not asked holds for both threads, before its own knows. bells full: allocates
 * until it is killed. bells many: 5000 times. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void pairs(long n)
{
	for (; n; n--)
		free(malloc(100));
}

static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_fprog program = {1, all}, none = {0, all};

__attribute__((weak)) void bells_late_await(void);
__attribute__((weak)) void bells_late_go(void);

static void *refused(void *unused)
{
	int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none);

	return result && errno == EINVAL ? unused : &all;
}

#define KILLED(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void *held(void *unused)
{
	struct sock_filter some[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					     offsetof(struct seccomp_data, nr)),
		KILLED(SYS_getpid), KILLED(SYS_gettid), KILLED(SYS_sched_yield),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog killer = {sizeof some / sizeof *some, some};
	long result =
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &killer);

	return result ? &all : unused;
}

static int meanwhile(void *(*other)(void *))
{
	pthread_t thread;
	void *result;

	if (!bells_late_go || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		|| pthread_create(&thread, NULL, other, NULL))
		return 1;
	bells_late_await();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	bells_late_go();
	return pthread_join(thread, &result) || result ? 4 : 0;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return 3;
	if (!strcmp(argv[1], "full"))
		pairs(-1);
	if (!strcmp(argv[1], "many"))
		return pairs(5000), 0;
	pairs(10);
	if (!strcmp(argv[1], "meanwhile") || !strcmp(argv[1], "held")) {
		status = meanwhile(argv[1][0] == 'h' ? held : refused);
		pairs(10);
		return status;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		|| !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none) || errno != EINVAL)
		return 1;
	if (!strcmp(argv[1], "sealed") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	pairs(10);
	return 0;
}
