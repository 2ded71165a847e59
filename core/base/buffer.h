/* Growing arrays. Out of memory ends the process with a sentence: memtui processes hold nothing
 * that a later step could save better than the trace already on disk. The tracer never uses
 * this. */
#ifndef MT_BASE_BUFFER_H
#define MT_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

void *mt_alloc(size_t size); /* zeroed; never NULL */
/* not zeroed; size a multiple of the power of two; never NULL */
void *mt_alloc_aligned(size_t size, size_t alignment);
/* zeroed, nothing of it touched yet; never NULL; to be unmapped, in pieces if that suits */
void *mt_alloc_pages(size_t size);
/* zeroed huge pages, if there are; size a multiple of 2 MiB; never NULL; to be unmapped, in pieces
 * of 2 MiB if that suits */
void *mt_alloc_huge(size_t size);
void *mt_resize(void *old, size_t size); /* as realloc; never NULL */
uint64_t mt_unique(void); /* a number that this process has not had before; never 0 */
char *mt_strdup(const char *text);
char *mt_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* caller frees */

/* Bytes. data is owned by the buffer and moves when it grows. */
struct mt_buffer {
	uint8_t *data;
	size_t len, capacity;
};
/* bytes NULL: zeroes; returns the place */
void *mt_buffer_add(struct mt_buffer *, const void *bytes, size_t len);
void mt_buffer_reserve(struct mt_buffer *, size_t more);
void mt_buffer_free(struct mt_buffer *);
/* What stands behind the last slash. */
const char *mt_base_name(const char *path);
/* 0, or a negative errno: less was written. */
int mt_write_all(int fd, const void *bytes, size_t len);
void mt_buffer_printf(struct mt_buffer *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes room for one more element of a plain array: items, count, capacity are lvalues. */
#define MT_GROW(items, count, capacity) \
	do { \
		if ((count) == (capacity)) { \
			(capacity) = (capacity) ? (capacity)*2 : 16; \
			(items) = mt_resize((items), (size_t)(capacity) * sizeof *(items)); \
		} \
	} while (0)

/* Strings stored once; ids count from 0 in order of first sight. Id 0 is always "". */
struct mt_strings {
	struct mt_buffer text; /* NUL-terminated, one after another */
	uint32_t *offset;      /* by id */
	uint32_t count, capacity;
	uint32_t *slot; /* open addressing: id + 1 */
	uint32_t slots;
};
void mt_strings_init(struct mt_strings *);
uint32_t mt_strings_add(struct mt_strings *, const char *text);
uint32_t mt_strings_add_len(struct mt_strings *, const char *text, size_t len);
static inline const char *mt_strings_get(const struct mt_strings *s, uint32_t id)
{
	return id < s->count ? (const char *)s->text.data + s->offset[id] : "";
}
void mt_strings_free(struct mt_strings *);

#endif
