/* Short texts put together without libc, such as paths in /proc. The caller sees to the room. */
#ifndef MT_TEXT_H
#define MT_TEXT_H

#include <stdint.h>

/* Both return where the text ends, at its NUL. */
static inline char *mt_text_add(char *at, const char *text)
{
	while ((*at = *text++))
		at++;
	return at;
}

static inline char *mt_text_add_number(char *at, uint32_t n)
{
	char digits[12], *first = digits + sizeof digits - 1;

	*first = '\0';
	do {
		*--first = (char)('0' + n % 10);
	} while (n /= 10);
	return mt_text_add(at, first);
}

#endif
