/* reload THREADS PLUG-IN...: opens the plug-ins in turn, calls each, and closes it again, so that
 * they come to lie at one address: what is known of one must not be used for the next. Says so when
 * they did not share an address. Meanwhile that many threads allocate. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int done;

__attribute__((noinline)) static void deeper(int depth)
{
	void *volatile p = malloc((size_t)depth + 10);

	if (depth > 0)
		deeper(depth - 1);
	free(p);
	__asm__ volatile("");
}

static void *others(void *unused)
{
	for (int i = 0; !done; i++)
		deeper(i % 20);
	return unused;
}

int main(int argc, char **argv)
{
	long sum = 0;
	void *last = NULL;
	int same = 0, threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread[8];

	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, others, NULL);
	for (int round = 0; round < 600 && argc > 2; round++) {
		void *handle = dlopen(argv[2 + round % (argc - 2)], RTLD_NOW | RTLD_LOCAL);
		long (*work)(int) = handle ? (long (*)(int))dlsym(handle, "plugin_work") : NULL;

		if (!work) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		same += (void *)work == last;
		last = (void *)work;
		for (int i = 0; i < 20; i++)
			sum += work(i);
		dlclose(handle);
	}
	done = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%ld %s\n", sum, same > 100 ? "at one address" : "at different addresses");
	return 0;
}
