/* What is recorded while memtui's own system calls fail: two threads, a child, output on both
 * streams, and a status that nobody else gives. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[64];

static void *work(void *argument)
{
	for (int i = 0; i < 5000; i++)
		free(kept[0] = malloc((size_t)i % 500 + 1));
	return argument;
}

int main(void)
{
	pthread_t thread;
	pid_t child;

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("begins\n");
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 1; i < 64; i++)
		kept[i] = malloc(100);
	pthread_join(thread, NULL);
	child = fork();
	if (child == 0) {
		for (int i = 1; i < 64; i++)
			free(kept[i]);
		printf("the child ends\n");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	fprintf(stderr, "ends\n");
	return 7;
}
