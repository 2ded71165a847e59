/* mremap of several mappings, and of the holes between them. Prints what is mapped at the end by
 * the kernel's word: bytes without a file, bytes of files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define WINDOW 1024ul /* pages */
#define TO (MREMAP_MAYMOVE | MREMAP_FIXED)

static char *window;
static int program;

static char *at(size_t page)
{
	return window + page * PAGE;
}

static void map(size_t page, size_t pages, int fd)
{
	int flags = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);

	if (mmap(at(page), pages * PAGE, PROT_READ, flags, fd, 0) == MAP_FAILED)
		abort();
}

static void map_two(size_t page)
{
	map(page, 4, program);
	map(page + 6, 4, -1);
}

static void print_truth(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to, inode, bytes[2] = {0};
	char line[4096 + 128];

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) != 3)
			abort();
		if (from >= (unsigned long)at(0) && from < (unsigned long)at(WINDOW))
			bytes[inode != 0] += to - from;
	}
	printf("%lu, %lu\n", bytes[0], bytes[1]);
}

int main(void)
{
	program = open("/proc/self/exe", O_RDONLY);
	window = mmap(NULL, WINDOW * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(window, WINDOW * PAGE);
	map_two(0);
	if (mremap(at(0), 10 * PAGE, 9 * PAGE, 0) != at(0)) /* cuts the end off */
		abort();
	map_two(20);
	if (mremap(at(20), 10 * PAGE, 2 * PAGE, MREMAP_MAYMOVE) != at(20)) /* all but the first */
		abort();
	map(40, 2, -1);
	map(42, 2, -1);
	if (mremap(at(40), 4 * PAGE, 9 * PAGE, TO, at(60)) != at(60)) /* they are one mapping */
		abort();
	map_two(80);
	if (mremap(at(80), 10 * PAGE, 10 * PAGE, TO, at(100)) == at(100)) { /* Linux 6.17 */
		map_two(120);
		map(143, 4, -1); /* two are where a hole comes to be */
		if (mremap(at(120), 10 * PAGE, 10 * PAGE, TO, at(140)) != at(140))
			abort();
		map_two(160);
		if (mremap(at(161), 7 * PAGE, 7 * PAGE, TO | MREMAP_DONTUNMAP, at(180)) != at(180))
			abort();
	}
	print_truth();
	return 0;
}
