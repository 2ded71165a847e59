/* Proves that mmap, mmap64, munmap, mremap, brk and sbrk are seen as they happened, failures and
 * all, with results and errno as the kernel gives them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "core/wire.h"
#include "truth.h"

#define PAGE 4096ul
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static char *map(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	char *p = mmap(at, len, protection, flags, fd, offset);

	must(p != MAP_FAILED);
	truth("MAP %d %lx %lx %lx %lx main", MT_FUNCTION_MMAP, (long)p,
		(len + PAGE - 1) / PAGE * PAGE, (unsigned)protection | (unsigned long)flags << 32,
		(long)offset);
	return p;
}

static void unmap(char *at, size_t len)
{
	errno = 77;
	must(munmap(at, len) == 0 && errno == 77);
	truth("UNMAP %d %lx %lx main", MT_FUNCTION_MUNMAP, (long)at,
		(len + PAGE - 1) / PAGE * PAGE);
}

static void failures(char *p)
{
	errno = 0;
	must(mmap(NULL, 0, PROT_READ, PRIVATE, -1, 0) == MAP_FAILED && errno == EINVAL);
	must(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
	must(mmap64(NULL, 1ul << 60, PROT_READ, PRIVATE, -1, 0) == MAP_FAILED && errno == ENOMEM);
	must(munmap(p + 1, PAGE) == -1 && errno == EINVAL);
	errno = 0;
	must(munmap(p, 0) == -1 && errno == EINVAL);
	must(munmap(p, -1ul) == -1 && errno == EINVAL); /* its length in pages overflows */
	errno = 0;
	must(munmap(p, 1ul << 60) == -1 && errno == EINVAL);
	truth("UNMAP %d %lx %lx main", MT_FUNCTION_MUNMAP, (long)p, 1ul << 60);
	truth("UNMAP_FAILED %d %lx %lx main", MT_FUNCTION_MUNMAP, (long)p, 1ul << 60);
}

static char *remap(char *old, size_t old_len, size_t len, int flags, void *wanted)
{
	char *p = mremap(old, old_len, len, flags, wanted);
	size_t stays = flags & MREMAP_DONTUNMAP ? (old_len + PAGE - 1) / PAGE * PAGE : 0;
	size_t given_up = (old_len + PAGE - 1) / PAGE * PAGE - stays;

	if (given_up)
		truth("UNMAP %d %lx %lx main", MT_FUNCTION_MREMAP, (long)old, given_up);
	if (p != MAP_FAILED)
		truth("MAP %d %lx %lx %lx %lx %lx main", MT_FUNCTION_MREMAP, (long)p,
			(len + PAGE - 1) / PAGE * PAGE, (long)old, given_up, stays);
	else if (given_up)
		truth("UNMAP_FAILED %d %lx %lx main", MT_FUNCTION_MREMAP, (long)old, given_up);
	return p;
}

static void remaps(void)
{
	char *p = map(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, PRIVATE, -1, 0), *q, *shared;

	strcpy(p, "kept");
	must(remap(p, 16 * PAGE, 4 * PAGE, 0, NULL) == p);
	map(p + 4 * PAGE, PAGE, PROT_READ, PRIVATE | MAP_FIXED, -1, 0); /* in the way */
	errno = 0;
	must(remap(p, 4 * PAGE, 5 * PAGE, 0, NULL) == MAP_FAILED && errno == ENOMEM);
	q = remap(p, 4 * PAGE, 300 * PAGE + 1, MREMAP_MAYMOVE, NULL);
	must(q != p && q != MAP_FAILED && strcmp(q, "kept") == 0);
	p = map(NULL, 400 * PAGE, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0);
	must(remap(q, 301 * PAGE, 301 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p
		&& strcmp(p, "kept") == 0);
	q = remap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	must(q != MAP_FAILED && strcmp(q, "kept") == 0 && p[0] == 0);
	q = map(NULL, 10 * PAGE, PROT_READ, PRIVATE, -1, 0);
	unmap(q + 4 * PAGE, 2 * PAGE);
	must(remap(q, 10 * PAGE, 9 * PAGE, 0, NULL) == q); /* of two, with a hole between */
	must(remap(q, 9 * PAGE, 20 * PAGE, MREMAP_MAYMOVE, NULL) == MAP_FAILED && errno == EFAULT);
	shared = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	q = remap(shared, 0, PAGE, MREMAP_MAYMOVE, NULL);
	must(q != MAP_FAILED && q != shared);
	shared[7] = 7;
	must(q[7] == 7);
	errno = 0;
	must(mremap(p + 1, PAGE, PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
}

static void breaks(void)
{
	char *start = sbrk(0), *p = sbrk(5 * PAGE);
	unsigned long from = ((unsigned long)p + PAGE - 1) / PAGE * PAGE;
	unsigned long flags = (unsigned long)PRIVATE << 32 | 3;

	must(p == start);
	truth("MAP %d %lx %lx %lx 0 main", MT_FUNCTION_BRK, from, 5 * PAGE, flags);
	p = sbrk(1); /* within the page or not, as the break lies */
	must(p == start + 5 * PAGE);
	if ((unsigned long)p % PAGE == 0)
		truth("MAP %d %lx %lx %lx 0 main", MT_FUNCTION_BRK, from + 5 * PAGE, PAGE, flags);
	must(brk(start + 3 * PAGE) == 0 && sbrk(0) == start + 3 * PAGE);
	truth("UNMAP %d %lx %lx main", MT_FUNCTION_BRK, from + 3 * PAGE,
		((unsigned long)p % PAGE == 0 ? 3 : 2) * PAGE);
	must(sbrk(-(long)PAGE) == start + 3 * PAGE);
	truth("UNMAP %d %lx %lx main", MT_FUNCTION_BRK, from + 2 * PAGE, PAGE);
	errno = 0;
	must(brk(start + (1ul << 46)) == -1 && errno == ENOMEM);
	errno = 0;
	must(sbrk(1l << 46) == (void *)-1 && errno == ENOMEM);
	must(sbrk(0) == start + 2 * PAGE);
}

static char *volatile page;

static void handler(int signal)
{
	char *p = map(NULL, PAGE, PROT_READ, PRIVATE, -1, 0);

	(void)signal;
	unmap(p, PAGE);
	page = p;
}

int main(int argc, char **argv)
{
	char *p = map(NULL, 10 * PAGE - 5, PROT_READ | PROT_WRITE, PRIVATE, -1, 0);
	int fd = open(argv[0], O_RDONLY);

	unmap(p + 2 * PAGE, PAGE);
	unmap(p + 4 * PAGE, 3 * PAGE - 1);
	unmap(p, 10 * PAGE); /* holes and all */
	p = mmap64(NULL, 100, PROT_READ, MAP_PRIVATE, fd, PAGE);
	must(p != MAP_FAILED);
	truth("MAP %d %lx %lx %lx %lx main", MT_FUNCTION_MMAP, (long)p, PAGE,
		PROT_READ | (unsigned long)MAP_PRIVATE << 32, PAGE);
	failures(p);
	remaps();
	breaks();
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	must(page);
	truth_write();
	return 0;
}
