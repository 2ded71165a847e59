/* What is left of a program that records by itself: leaves leader: its first thread has ended, the
 * other goes on at the end of the input. leaves exec: another program is there, which waits for
 * that, as does wait. leaves fork: a child, which prints its number first, and allocates then; its
 * parent waits for it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void keep(int n)
{
	while (n--)
		kept = malloc(100);
}

static void await_end(void)
{
	char byte;

	if (write(1, "ready\n", 6) == 6)
		while (read(0, &byte, 1) > 0)
			;
}

static void say_number(void)
{
	char line[16];
	int len = snprintf(line, sizeof line, "%d\n", (int)getpid());

	if (write(1, line, (size_t)len) != len)
		_exit(3);
}

static char state_of_first(void)
{
	char path[64], text[512] = "", *at;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	f = fopen(path, "r");
	at = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
	if (f)
		fclose(f);
	return at ? at[2] : 0;
}

static void *goes_on(void *unused)
{
	while (state_of_first() != 'Z')
		;
	keep(1000);
	await_end();
	keep(500);
	_exit(0);
	return unused;
}

int main(int argc, char **argv)
{
	char *again[] = {argv[0], (char *)"wait", NULL};
	pthread_t thread;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "leader")) {
		if (pthread_create(&thread, NULL, goes_on, NULL))
			return 1;
		pthread_exit(NULL);
	}
	keep(1000);
	if (!strcmp(argv[1], "exec"))
		execv("/proc/self/exe", again);
	if (!strcmp(argv[1], "fork")) {
		if (fork())
			return wait(NULL) < 0;
		say_number(); /* without an allocation */
	}
	await_end();
	keep(500);
	return 0;
}
