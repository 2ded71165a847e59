/* family GATE: leaks 1000 blocks of 100 bytes, starts a child that leaks 10, waits until GATE is
 * opened for writing, and executes itself without it, which leaks 20 and frees one of 500 bytes. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void leak(int count)
{
	for (int i = 0; i < count; i++)
		kept = malloc(100);
}

int main(int argc, char **argv)
{
	char byte;

	if (argc < 2) {
		leak(20);
		free(malloc(500));
		return 0;
	}
	leak(1000);
	pid_t child = fork();

	if (!child) {
		leak(10);
		return 0;
	}
	waitpid(child, NULL, 0);
	int gate = open(argv[1], O_RDONLY);

	if (gate < 0 || read(gate, &byte, 1) < 0)
		return 1;
	close(gate);
	execl(argv[0], argv[0], (char *)NULL);
	return 1;
}
