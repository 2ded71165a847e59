/* bells refused: tries to install a filter that the kernel refuses, and allocates before and after.
 * bells sealed: then one that allows everything. bells full: allocates until it is killed. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static void pairs(long n)
{
	for (; n; n--)
		free(malloc(100));
}

int main(int argc, char **argv)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, all}, none = {0, all};

	if (argc < 2)
		return 3;
	if (!strcmp(argv[1], "full"))
		pairs(-1);
	pairs(10);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		|| !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none) || errno != EINVAL)
		return 1;
	if (!strcmp(argv[1], "sealed") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	pairs(10);
	return 0;
}
