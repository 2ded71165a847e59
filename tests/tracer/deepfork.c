/* deepfork LIBRARY: forks, again and again, while another thread opens with RTLD_DEEPBIND for the
 * first time, a library that there is not: libc's own dlopen does not stand a fork that comes while
 * it loads one. Each child opens one so. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static pthread_barrier_t together;
static char *path;

static void *open_none(void *unused)
{
	pthread_barrier_wait(&together);
	must(!dlopen("/nowhere/none.so", RTLD_NOW | RTLD_DEEPBIND));
	return unused;
}

static void open_while_forking(void)
{
	pthread_t thread;
	int status;

	pthread_barrier_init(&together, NULL, 2);
	must(pthread_create(&thread, NULL, open_none, NULL) == 0);
	pthread_barrier_wait(&together);
	if (fork() == 0) {
		must(dlopen(path, RTLD_NOW | RTLD_DEEPBIND));
		_exit(0);
	}
	must(wait(&status) > 0 && status == 0);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int status;

	path = argv[1];
	for (int i = 0; i < 50; i++) {
		if (fork() == 0) {
			open_while_forking();
			_exit(0);
		}
		must(wait(&status) > 0 && status == 0);
	}
	return 0;
}
