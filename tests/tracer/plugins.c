/* A C program that opens C++ plug-ins for itself (RTLD_LOCAL) and closes them, over and over:
 * proves that operator new resolves without a next one, and (in check mode) that rules of a closed
 * plug-in are not used for the next one at the same address. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long sum = 0;

	for (int round = 0; round < 200 && argc > 2; round++) {
		void *handle = dlopen(argv[1 + round % (argc - 1)], RTLD_NOW | RTLD_LOCAL);
		long (*work)(int);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		work = (long (*)(int))dlsym(handle, "plugin_work");
		for (int i = 0; i < 5; i++)
			sum += work(i);
		if (round == 0)
			printf("%p\n", (void *)NULL);
		dlclose(handle);
	}
	printf("%ld\n", sum);
	return 0;
}
