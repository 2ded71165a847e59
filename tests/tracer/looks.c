/* looks: a program with a dlsym of its own, which opens libc to find the real one. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *dlsym(void *restrict handle, const char *restrict name)
{
	static void *(*real)(void *, const char *);

	if (!real) {
		void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

		*(void **)&real = dlvsym(libc, "dlsym", "GLIBC_2.2.5");
		if (!real)
			*(void **)&real = dlvsym(libc, "dlsym", "GLIBC_2.34");
		dlclose(libc);
	}
	return real(handle, name);
}

int main(void)
{
	void *volatile p = malloc(100);

	printf("%d\n", p && dlsym(RTLD_DEFAULT, "malloc"));
	free(p);
	return 0;
}
