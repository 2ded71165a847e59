/* bells refused: tries to install a filter that the kernel refuses, and allocates before and after.
 * bells sealed: then one that allows everything. bells meanwhile: the refusal comes, in a thread,
 * when the other is there; bells_late.c keeps it back. bells full: allocates until it is killed. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

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

static int meanwhile(void)
{
	pthread_t thread;
	void *result;

	if (!bells_late_go || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		|| pthread_create(&thread, NULL, refused, NULL))
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
	pairs(10);
	if (!strcmp(argv[1], "meanwhile")) {
		status = meanwhile();
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
