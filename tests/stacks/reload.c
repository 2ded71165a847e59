/* Opens the plug-ins in turn, calls each, and closes it again, so that they come to lie at one address: what is known of
 * one must not be used for the next. Says so when they did not share an address. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long sum = 0;
	void *last = NULL;
	int same = 0;

	for (int round = 0; round < 600 && argc > 2; round++) {
		void *handle = dlopen(argv[1 + round % (argc - 1)], RTLD_NOW | RTLD_LOCAL);
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
	printf("%ld %s\n", sum, same > 100 ? "at one address" : "at different addresses");
	return 0;
}
