/* replay TARGET-NAME ROUNDS FILE...: what stands in for libFuzzer in `make test`. Runs the target
 * on each file, and ROUNDS times on a file with bytes changed by a fixed random sequence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static uint64_t state = 0x9e3779b97f4a7c15ull;
static uint64_t next(uint64_t below)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 16) % below;
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = malloc(1 << 20);

	if (!f || !bytes) {
		fprintf(stderr, "replay: %s cannot be read\n", path);
		exit(2);
	}
	*size = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
}

#pragma weak LLVMFuzzerCustomMutator

/* Returns the new size. */
static size_t change_bytes(uint8_t *bytes, size_t size)
{
	static const uint8_t favourites[] = {0, 1, 0x0a, 0x0f, 0x10, 0x1b, 0x3b, 0x7f, 0x80, 0xff};

	for (uint64_t n = 1 + next(8); n-- > 0 && size;) {
		size_t at = next(size), len = 1 + next(8);

		if (len > size - at)
			len = size - at;
		switch (next(5)) {
		case 0: bytes[at] = (uint8_t)next(256); break;
		case 1: bytes[at] = favourites[next(sizeof favourites)]; break;
		case 2: bytes[at] ^= (uint8_t)(1 << next(8)); break;
		case 3: memmove(bytes + at, bytes + next(size - len + 1), len); break;
		case 4: size = next(8) ? size : at; break;
		}
	}
	return size;
}

static size_t change(uint8_t *bytes, size_t size)
{
	if (!LLVMFuzzerCustomMutator)
		return change_bytes(bytes, size);
	for (uint64_t n = 1 + next(3); n-- > 0;)
		size = LLVMFuzzerCustomMutator(bytes, size, 1 << 20, (unsigned)next(UINT32_MAX));
	return size;
}

int main(int argc, char **argv)
{
	long rounds = argc > 3 ? atol(argv[2]) : 0;
	uint8_t *changed = malloc(1 << 20);

	if (argc < 4 || !changed) {
		fprintf(stderr, "usage: replay TARGET-NAME ROUNDS FILE...\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		size_t size;
		uint8_t *bytes = read_file(argv[i], &size);

		LLVMFuzzerTestOneInput(bytes, size);
		for (long round = 0; round < rounds / (argc - 3); round++) {
			memcpy(changed, bytes, size);
			LLVMFuzzerTestOneInput(changed, change(changed, size));
		}
		free(bytes);
	}
	free(changed);
	printf("ok fuzz %s: %d inputs, %ld made of them\n", argv[1], argc - 3, rounds);
	return 0;
}
