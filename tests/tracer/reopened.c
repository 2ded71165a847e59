/* reopened LIBRARY...: opens each, calls its use(), and closes it, so that the next may come to lie
 * where it was. */
#include <dlfcn.h>

#include "truth.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		int (*use)(void) = library ? (int (*)(void))dlsym(library, "use") : NULL;

		must(use && use());
		dlclose(library);
	}
	return 0;
}
