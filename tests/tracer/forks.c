/* forks PLUGIN OTHER [sealed|threads]: one thread opens and closes OTHER without end; forked
 * children call the functions of PLUGIN, which must not wait for a lock that the other thread held.
 * sealed: with a system-call filter, that allows all. threads: of one child, in which two threads
 * go on to open and close. */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static const char *other;
static volatile int stop;

static void *open_and_close(void *unused)
{
	while (!stop) {
		void *plugin = dlopen(other, RTLD_NOW | RTLD_LOCAL);
		int (*use)(void) = plugin ? (int (*)(void))dlsym(plugin, "use") : NULL;

		must(use && use());
		dlclose(plugin);
	}
	return unused;
}

static void seal(void)
{
	struct sock_filter all = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog program = {1, &all};

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void open_and_close_in_child(int (*use)(void))
{
	pthread_t threads[2];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(240);
		for (int i = 0; i < 2; i++)
			must(pthread_create(&threads[i], NULL, open_and_close, NULL) == 0);
		for (int i = 0; i < 300000; i++)
			must(use());
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	void *plugin = argc >= 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*use)(void) = plugin ? (int (*)(void))dlsym(plugin, "use") : NULL;
	pthread_t thread;
	int status;

	must(use && use());
	other = argv[2];
	if (argc > 3 && !strcmp(argv[3], "threads")) {
		open_and_close_in_child(use);
		return 0;
	}
	if (argc > 3)
		seal();
	must(pthread_create(&thread, NULL, open_and_close, NULL) == 0);
	for (int i = 0; i < 500; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(240);
			_exit(!use());
		}
		must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	stop = 1;
	pthread_join(thread, NULL);
	return 0;
}
