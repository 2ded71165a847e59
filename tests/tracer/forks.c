/* forks PLUGIN OTHER: one thread opens and closes OTHER without end; forked children call the
 * functions of PLUGIN, which must not wait for a lock that the other thread held. */
#include <dlfcn.h>
#include <pthread.h>
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

int main(int argc, char **argv)
{
	void *plugin = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*use)(void) = plugin ? (int (*)(void))dlsym(plugin, "use") : NULL;
	pthread_t thread;
	int status;

	must(use && use());
	other = argv[2];
	must(pthread_create(&thread, NULL, open_and_close, NULL) == 0);
	for (int i = 0; i < 500; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(10);
			_exit(!use());
		}
		must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	stop = 1;
	pthread_join(thread, NULL);
	return 0;
}
