/* A process whose first thread has ended: the kernel shows its memory by another one's number. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *goes_on(void *first)
{
	char *block = malloc((size_t)20 << 20), byte;

	pthread_join(*(pthread_t *)first, NULL);
	memset(block, 1, (size_t)20 << 20);
	puts("ready");
	fflush(stdout);
	_exit(read(0, &byte, 1) < 0);
	return block;
}

int main(void)
{
	static pthread_t first;
	pthread_t other;

	first = pthread_self();
	pthread_create(&other, NULL, goes_on, &first);
	pthread_exit(NULL);
}
