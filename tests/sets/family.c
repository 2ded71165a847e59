/* Processes of one program for tests/sets: one is forked, one executed; all keep blocks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[4000];

__attribute__((noinline)) static void keep(int from, int count, size_t size)
{
	for (int i = from; i < from + count; i++)
		kept[i] = malloc(size);
}

__attribute__((noinline)) static void churn(int count, size_t size)
{
	for (int i = 0; i < count; i++)
		free(malloc(size + (size_t)i));
}

static void *worker(void *arg)
{
	churn(500, 100);
	keep(2000, 50, 30);
	return arg;
}

static void wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || status)
		_exit(9);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;

	if (argc > 1 && !strcmp(argv[1], "executed")) {
		keep(0, 70, 300);
		churn(300, 2000);
		return 0;
	}
	keep(0, 10, 1000);
	if (pthread_create(&thread, NULL, worker, NULL) || pthread_join(thread, NULL))
		return 8;
	child = fork();
	if (!child) {
		keep(100, 25, 64);
		churn(40, 5000);
		exit(0);
	}
	wait_for(child);
	child = fork();
	if (!child) {
		keep(200, 5, 77);
		execl("/proc/self/exe", "family", "executed", (char *)NULL);
		_exit(7);
	}
	wait_for(child);
	keep(300, 10, 1000);
	return 0;
}
