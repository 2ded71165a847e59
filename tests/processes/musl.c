/* For musl, whose programs cannot be recorded: what the tracer has hooks for, and what comes of
 * it. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *thread(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < 1000; i++)
		free(malloc(i));
	return strdup("a thread's");
}

int main(void)
{
	char *block = realloc(malloc(100), 1000);
	void *other = NULL, *map;
	pthread_t t;
	int status;

	printf("%d\n", posix_memalign(&other, 64, 100));
	free(other);
	free(calloc(3, 7));
	free(aligned_alloc(64, 128));
	printf("%d\n", pthread_create(&t, NULL, thread, NULL));
	pthread_join(t, &other);
	puts(other);
	free(other);
	errno = 0;
	prctl(PR_SET_NAME, "musl");
	map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("%d %d %s\n", errno, munmap(map, 8192), dlerror() ? "an error" : "no error");
	if (fork() == 0) {
		free(malloc(50));
		_exit(7);
	}
	wait(&status);
	printf("%d\n", WEXITSTATUS(status));
	map = dlopen("libm.so", RTLD_NOW);
	printf("%s %d\n", dlerror() ? "an error" : "no error", map ? dlclose(map) : -1);
	fflush(stdout);
	printf("%d\n", WEXITSTATUS(system("exit 3")));
	free(block);
	return 5;
}
