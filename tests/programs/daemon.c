/* A daemon: its parent ends, a worker of it allocates, and it waits without allocating until
 * somebody writes into the FIFO that its argument names. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

static void work(void)
{
	kept = malloc(1000);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct pollfd fifo = {.events = POLLIN};
	int detached[2];
	char byte;

	if (argc < 2 || pipe(detached) < 0)
		return 2;
	kept = malloc(100);
	if (fork()) /* the end of a terminal's first process hangs up the others */
		return read(detached[0], &byte, 1) != 1;
	setsid();
	fifo.fd = open(argv[1], O_RDONLY | O_NONBLOCK);
	if (!fork())
		work();
	if (write(detached[1], "", 1) != 1)
		return 3;
	if (poll(&fifo, 1, -1) != 1 || !(fifo.revents & POLLIN))
		return 4;
	kept = malloc(5000);
	for (;;)
		pause();
}
