/* family: forks a child that frees its parent's blocks, runs a static program, which no tracer
 * sees, and executes itself: two images of one process, of which the second runs for long. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone)) static
#define BARRIER __asm__ volatile("" ::: "memory") /* keeps the call site on the stack */

SITE void *keep(size_t n)
{
	void *volatile p = malloc(n);

	BARRIER;
	return p;
}

SITE void child(void **inherited)
{
	void *volatile own = keep(300);

	for (int i = 0; i < 10; i += 2)
		free(inherited[i]);
	inherited[1] = realloc(inherited[1], 1000);
	free(own);
	own = keep(70);
	BARRIER;
}

int main(int argc, char **argv)
{
	void *kept[10];

	(void)argv;
	for (int i = 0; i < 10; i++)
		kept[i] = keep(20 * (size_t)i + 10);
	if (argc > 1) {
		usleep(2200000); /* the timeline doubles its steps */
		free(kept[3]);
		return 3;
	}
	pid_t pid = fork();

	if (pid == 0) {
		child(kept);
		return 4;
	}
	waitpid(pid, NULL, 0);
	if ((pid = vfork()) == 0) {
		execl("./unseen", "./unseen", (char *)0);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	execl("./family", "./family", "again", (char *)0);
	return 127;
}
