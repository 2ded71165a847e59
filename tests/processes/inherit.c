/* What a forked child takes over, and when. inherit pause HOW: a child that was forked before, or
 * during, a pause of its parent's allocates when its parent has changed that; "ends" it ends its
 * own, with "first" before anything else, "before_both" begins one so; "on": the parent had gone on
 * before. inherit vfork: a child whose first allocation is in a vfork child of its own. inherit
 * threads N: so are those of N threads in turn. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/memtui.h"

static void *kept[64];

static void keep(int from, int to)
{
	for (int i = from; i < to; i++)
		kept[i] = malloc(100);
}

static void in_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		free(malloc(3));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static int pauses(const char *how)
{
	int before = !strncmp(how, "before", 6), go[2];
	char byte;
	pid_t pid;

	if (!strcmp(how, "on"))
		memtui_resume("the parent's");
	keep(0, 10);
	if (!before && strcmp(how, "on"))
		memtui_pause("the parent's");
	if (pipe(go) || (pid = fork()) < 0)
		return 1;
	if (pid == 0) {
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		if (!strcmp(how, "first"))
			memtui_resume("the child's");
		if (!strcmp(how, "before_both"))
			memtui_pause("the child's");
		keep(10, 40);
		free(kept[0]);
		if (!strcmp(how, "ends"))
			memtui_resume("the child's");
		keep(40, 45);
		_exit(0);
	}
	if (before)
		memtui_pause("the parent's");
	else if (strcmp(how, "on"))
		memtui_resume(NULL);
	if (write(go[1], "x", 1) != 1)
		return 1;
	waitpid(pid, NULL, 0);
	keep(50, 57);
	return 0;
}

static int child_of_child(void)
{
	pid_t pid;

	keep(0, 1);
	pid = fork();
	if (pid == 0) {
		in_vfork();
		keep(1, 51);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static void *run(void *unused)
{
	in_vfork();
	for (int i = 0; i < 10; i++)
		free(malloc(5));
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 2 && !strcmp(argv[1], "pause"))
		return pauses(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "vfork"))
		return child_of_child();
	for (int i = 0; argc > 2 && i < atoi(argv[2]); i++)
		if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
			return 1;
	return 0;
}
