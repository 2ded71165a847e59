/* Code in a page of its own, as a just-in-time compiler makes it, gives way to a plug-in of which a
 * call returns to the very address that a call of the page returned to: what is known of the one
 * must not be used for the other. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *volatile keep;

__attribute__((noinline)) static void allocate(void)
{
	keep = malloc(50);
	free(keep);
}

/* A function in the page of `back`, whose call returns to that address. */
static void run_page(uintptr_t back)
{
	static const unsigned char before[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7};
	static const unsigned char after[] = {0x5d, 0xc3};
	/* push rbp; mov rbp, rsp; call rdi; | pop rbp; ret */
	void *page = (void *)(back & -4096ul);

	if (mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)
		!= page) {
		perror("mmap");
		exit(1);
	}
	memcpy((void *)(back - sizeof before), before, sizeof before);
	memcpy((void *)back, after, sizeof after);
	for (int i = 0; i < 50; i++)
		((void (*)(void (*)(void)))(back - sizeof before))(allocate);
	munmap(page, 4096);
}

int main(int argc, char **argv)
{
	uintptr_t back = 0;
	int same = 0;

	for (int round = 0; round < 200 && argc > 1; round++) {
		void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		long (*work)(int) = handle ? (long (*)(int))dlsym(handle, "plugin_work") : NULL;

		if (!work)
			return 1;
		for (int i = 0; i < 10; i++)
			work(i);
		same += *(uintptr_t *)dlsym(handle, "plugin_back") == back;
		back = *(uintptr_t *)dlsym(handle, "plugin_back");
		dlclose(handle);
		run_page(back);
	}
	puts(same > 100 ? "at one address" : "at different addresses");
	return 0;
}
