/* fuzz RECORDING SECONDS [SEED]: reads copies of a recording with random bytes changed, or cut
 * short, for so long and until some were read and some refused. Nothing may crash, hang or take
 * memory beyond reason; what is refused is refused with a sentence. */
#include "core/capture/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_LEAST 20

static uint64_t seed;
static uint64_t next(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed;
}

struct piece {
	off_t at, len;
};
static struct piece pieces[256];
static unsigned piece_count;

/* Only what holds data, so that copies stay sparse. */
static void copy(int from, int to, off_t size)
{
	char bytes[65536];

	if (ftruncate(to, 0) < 0 || ftruncate(to, size) < 0)
		exit(2);
	for (unsigned i = 0; i < piece_count; i++)
		for (off_t done = 0; done < pieces[i].len;) {
			ssize_t n = pread(from, bytes, sizeof bytes, pieces[i].at + done);

			if (n <= 0 || pwrite(to, bytes, (size_t)n, pieces[i].at + done) != n)
				exit(2);
			done += n;
		}
}

static void find_pieces(int fd, off_t size)
{
	off_t at = 0;

	while (piece_count < 256 && (at = lseek(fd, at, SEEK_DATA)) >= 0 && at < size) {
		off_t end = lseek(fd, at, SEEK_HOLE);

		pieces[piece_count++] = (struct piece){at, end - at};
		at = end;
	}
}

static void change(int fd)
{
	unsigned n = 1 + next() % 8;

	for (unsigned i = 0; i < n; i++) {
		const struct piece *p = &pieces[next() % 4 == 0 ? 0 : next() % piece_count];
		off_t at = p->at
			+ (off_t)(next() % (uint64_t)(p == pieces && next() % 2 ? 4096 : p->len));
		uint64_t value = next() % 3 == 0 ? UINT64_MAX : next() >> next() % 64;

		if (pwrite(fd, &value, 1 + next() % 8, at) < 0)
			exit(2);
	}
}

int main(int argc, char **argv)
{
	int from = argc > 2 ? open(argv[1], O_RDONLY) : -1, to;
	char name[] = "fuzz-XXXXXX";
	off_t size = lseek(from, 0, SEEK_END);
	time_t end = time(NULL) + atoi(argv[2]);
	unsigned rounds = 0, refused = 0, read = 0;
	struct rusage used;

	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL) << 20 | 1;
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	to = mkstemp(name);
	find_pieces(from, size);
	if (from < 0 || to < 0 || !piece_count)
		return 2;
	for (; time(NULL) < end || rounds < ROUNDS_LEAST || !read || !refused; rounds++) {
		struct mt_profile profile;
		struct mt_err err = {0};
		struct mt_import *import;
		int result = -1;

		copy(from, to, size);
		if (rounds % 4 == 0 && ftruncate(to, (off_t)(next() % (uint64_t)size)) < 0)
			return 2;
		if (rounds % 4)
			change(to);
		mt_profile_init(&profile);
		import = mt_import_open(name, &profile, &err);
		if (import) {
			result = mt_import_update(import, NULL, NULL, &err);
			if (rounds % 8 == 1) /* and again, changed meanwhile */
				change(to);
			if (result >= 0)
				result = mt_import_update(import, NULL, NULL, &err);
		}
		if (result < 0 && !*err.text) {
			printf("not ok: refused without a word\n");
			return 1;
		}
		refused += result < 0;
		read += result >= 0;
		mt_import_free(import);
		mt_profile_free(&profile);
	}
	unlink(name);
	getrusage(RUSAGE_SELF, &used);
	printf("%u rounds, %u read, %u refused, %ld MiB at most\n", rounds, read, refused,
		used.ru_maxrss >> 10);
	return used.ru_maxrss > 1500 << 10;
}
