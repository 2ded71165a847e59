/* Opens libraries (library.c), lets each work, and closes those before a -. Meanwhile four threads
 * allocate. With LINKED the library is there from the beginning. Says what the libraries counted:
 * "allocated COUNT BYTES", "live COUNT".
 * With -w before all others, it says "ready" and waits for a line first. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int stop;

static void *busy(void *unused)
{
	while (!stop)
		free(malloc(100));
	return unused;
}

typedef void work_function(unsigned long *, unsigned long *, unsigned long *);
#ifdef LINKED
work_function work;
#endif

int main(int argc, char **argv)
{
	unsigned long count = 0, size = 0, kept = 0;
	void *last = NULL, *handles[64];
	pthread_t threads[4];
	int n = 0, first = 1;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, busy, NULL);
	if (argc > 1 && !strcmp(argv[1], "-w")) {
		first = 2;
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (int i = first; i < argc; i++) {
		void (*function)(unsigned long *, unsigned long *, unsigned long *);

		if (!strcmp(argv[i], "-")) {
			while (n)
				dlclose(handles[--n]);
			continue;
		}
		last = handles[n++] = dlopen(argv[i], RTLD_NOW);
		if (!last) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&function = dlsym(last, "work");
		function(&count, &size, &kept);
	}
#ifdef LINKED
	work(&count, &size, &kept);
#endif
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("allocated %lu %lu\nlive %lu\n", count, size, kept);
	return 0;
}
