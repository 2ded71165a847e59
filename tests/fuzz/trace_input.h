/* How an input of trace_fuzz.c lies in bytes. trace_seeds.sh makes such inputs of traces, and
 * trace_mutator.c others of these.
 *
 * A byte for the file, then blocks. A block: 8 bytes of head, 56 bytes of times and running totals
 * if the head says so, the extension's fields, the payload as it is before it is compressed. What
 * is left over is the last block's. Checksums, sequences, the index and compression come from the
 * target, so that no mutation is lost on them. */
#ifndef FUZZ_TRACE_INPUT_H
#define FUZZ_TRACE_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The file's byte: the version, counted down from the newest, and: */
#define INPUT_VERSIONS 63u
#define INPUT_INDEXED 64u     /* index and trailer stand at its end */
#define INPUT_COMPRESSED 128u /* its payloads are compressed */

#define INPUT_TOLD 1u /* of a block: times and running totals are there */
#define INPUT_SKIPPABLE 2u
#define INPUT_HEAD 8u
#define INPUT_TOLD_LEN 56u

struct input_block {
	uint8_t type, flags;
	uint16_t events;
	uint8_t told[INPUT_TOLD_LEN]; /* zeros where the input has none */
	const uint8_t *extension, *payload;
	size_t extended, len;
};

/* Takes a block of at most `most` bytes of extension off the input; returns how long it is there,
 * and 0 at the end. */
static inline size_t input_block(const uint8_t *at, size_t left, size_t most, struct input_block *b)
{
	size_t used = INPUT_HEAD;

	*b = (struct input_block){0};
	if (left < INPUT_HEAD)
		return 0;
	b->type = at[0];
	b->flags = at[1];
	b->events = (uint16_t)(at[2] | at[3] << 8);
	b->extended = (size_t)(at[4] | at[5] << 8) % (most + 1);
	b->len = (size_t)(at[6] | at[7] << 8);
	if (b->flags & INPUT_TOLD && left - used >= INPUT_TOLD_LEN) {
		memcpy(b->told, at + used, INPUT_TOLD_LEN);
		used += INPUT_TOLD_LEN;
	}
	b->extension = at + used;
	b->extended = b->extended < left - used ? b->extended : left - used;
	used += b->extended;
	b->payload = at + used;
	b->len = b->len < left - used ? b->len : left - used;
	return used + b->len;
}

#endif
