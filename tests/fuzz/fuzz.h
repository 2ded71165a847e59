/* A fuzz target is a file NAME_fuzz.c with this function. It may not crash, hang or read where it
 * should not. `make fuzz` links it with libFuzzer, which calls it with inputs that it invents.
 * `make test` links it with replay.c, which calls it with the inputs that tests/fuzz/NAME_seeds.sh
 * makes and that lie in tests/fuzz/NAME_fuzz.corpus, and with inputs made of them by a fixed random
 * sequence. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* A target may bring this: it changes an input in its place, to at most `most` bytes, and returns
 * its new size. It is asked instead of changing bytes at random. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
