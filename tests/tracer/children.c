/* Proves that forked children, made while other threads allocate, go on sound in segments of their
 * own, also with blocks of before the fork; that children of vfork and posix_spawn do not look like
 * new processes; and that exec gives a new image its own segment. Exits 0 when every child did. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int stop;

static void *allocate(void *unused)
{
	void *volatile p;

	(void)unused;
	while (!stop) {
		p = malloc(100);
		free(p);
	}
	return NULL;
}

static int finish(pid_t pid)
{
	int status;

	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static void child(char *before)
{
	char *p = malloc(1000), *q = calloc(10, 10);

	strcpy(p, before);
	p = realloc(p, 100000);
	free(q);
	free(before);
	before = p;
	free(before);
	if (fork() == 0) {
		free(malloc(10));
		_exit(0);
	}
	exit(finish(-1) == 0 || finish(waitpid(-1, NULL, 0)) == 0);
}

int main(int argc, char **argv)
{
	char *self[] = {argv[0], "leaf", NULL};
	pthread_t threads[3];
	volatile int bad = 0;

	if (argc > 1) {
		free(malloc(4242));
		return 0;
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	for (int i = 0; i < 100; i++) {
		char *before = strdup("a block of before the fork");
		pid_t pid = fork();

		if (pid == 0)
			child(before);
		free(before);
		bad += finish(pid);
	}
	for (int i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execve(argv[0], self, environ);
			_exit(1);
		}
		bad += finish(pid);
		if (posix_spawn(&pid, argv[0], NULL, NULL, self, environ) != 0)
			pid = -1;
		bad += finish(pid);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return bad != 0;
}
