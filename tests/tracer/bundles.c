/* bundles PLUGIN...: each brings an allocator under the same names, and must keep to its own; no
 * error of the dynamic linker may be left that is not the program's. */
#include <dlfcn.h>

#include "truth.h"

int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++)
		for (int j = 1; j < argc; j++) {
			void *plugin = dlopen(argv[j], RTLD_NOW | RTLD_LOCAL);
			int (*use)(void) = plugin ? (int (*)(void))dlsym(plugin, "use") : NULL;

			must(use && use() && !dlerror());
		}
	return 0;
}
