/* Numbers for people: short, with a unit. */
#ifndef MT_EXPORT_NUMBER_H
#define MT_EXPORT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define MT_NUMBER_LEN 16
#define MT_NUMBER_EXACT_LEN 32

void mt_number_size(char out[MT_NUMBER_LEN], uint64_t bytes); /* 512B, 48.1M: units of 1024 */
/* 9999, 48.1k, 1.2M: units of 1000 */
void mt_number_count(char out[MT_NUMBER_LEN], uint64_t count);
/* What the number counts: "block" behind "1" or "~1", else "blocks"; one: its name, such as "match"
 * or "process". Returns out. */
#define MT_PLURAL_LEN 32
const char *mt_plural(char out[MT_PLURAL_LEN], const char *number, const char *one);
/* The same where it lives as long as the block around. */
#define MT_PLURAL(number, one) mt_plural((char[MT_PLURAL_LEN]){0}, number, one)
/* "1 event", "2 events", "1 match", "48.1k matches": so many of what one is called so. Returns
 * out. */
#define MT_NUMBER_OF_LEN (MT_NUMBER_LEN + 32)
const char *mt_number_of(char out[MT_NUMBER_OF_LEN], uint64_t count, const char *one);
/* Words that say of both what differs, "free[|s] of [an address|addresses]": of one, "free of an
 * address", or of any other count, "frees of addresses". */
void mt_number_words(char *out, size_t len, uint64_t count, const char *words);
/* 12.3ms, 1.50s, 2m05s, 3h10m, 2d04h */
void mt_number_time(char out[MT_NUMBER_LEN], uint64_t ns);
void mt_number_exact(char out[MT_NUMBER_EXACT_LEN], uint64_t number); /* 1,234,567 */
/* 1.5: seconds, all digits that are there */
void mt_number_seconds(char out[MT_NUMBER_EXACT_LEN], uint64_t ns);

#endif
