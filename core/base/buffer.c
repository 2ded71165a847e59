#include "core/base/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void out_of_memory(void)
{
	static const char text[] =
		"memtui: out of memory; close other programs or raise the limit (ulimit -v)\n";

	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(1);
	_exit(1);
}

void *mt_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *mt_alloc_aligned(size_t size, size_t alignment)
{
	void *p = aligned_alloc(alignment, size);

	if (!p)
		out_of_memory();
	return p;
}

void *mt_alloc_pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		out_of_memory();
	return p;
}

void *mt_alloc_huge(size_t size)
{
	size_t align = 2u << 20;
	char *at = mt_alloc_pages(size + align), *start;

	start = (char *)(((uintptr_t)at + align - 1) & ~(uintptr_t)(align - 1));
	if (start != at)
		munmap(at, (size_t)(start - at));
	if (start != at + align)
		munmap(start + size, (size_t)(at + align - start));
	madvise(start, size, MADV_HUGEPAGE);
	return start;
}

void *mt_resize(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

uint64_t mt_unique(void)
{
	static atomic_uint_least64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

char *mt_strdup(const char *text)
{
	size_t len = strlen(text) + 1;

	return memcpy(mt_resize(NULL, len), text, len);
}

char *mt_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		out_of_memory();
	va_end(args);
	return text;
}

void mt_buffer_reserve(struct mt_buffer *b, size_t more)
{
	if (b->data && b->capacity - b->len >= more)
		return;
	size_t capacity = b->capacity ? b->capacity * 2 : 256;

	while (capacity - b->len < more)
		capacity *= 2;
	b->data = mt_resize(b->data, capacity);
	b->capacity = capacity;
}

void *mt_buffer_add(struct mt_buffer *b, const void *bytes, size_t len)
{
	mt_buffer_reserve(b, len);
	void *at = b->data + b->len;

	if (bytes && len)
		memcpy(at, bytes, len);
	else if (len)
		memset(at, 0, len);
	b->len += len;
	return at;
}

const char *mt_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int mt_write_all(int fd, const void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)bytes + done, len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

void mt_buffer_printf(struct mt_buffer *b, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, format, args);

	mt_buffer_reserve(b, (size_t)len + 1);
	vsnprintf((char *)b->data + b->len, (size_t)len + 1, format, again);
	b->len += (size_t)len;
	va_end(again);
	va_end(args);
}

void mt_buffer_free(struct mt_buffer *b)
{
	free(b->data);
	*b = (struct mt_buffer){0};
}

/* FNV-1a, 32 bits: short names, no hostile load that a chain would notice. */
static uint32_t hash(const char *text, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * 16777619u;
	return h;
}

static void strings_place(struct mt_strings *s, uint32_t id)
{
	const char *text = mt_strings_get(s, id);
	uint32_t at = hash(text, strlen(text)) & (s->slots - 1);

	while (s->slot[at])
		at = (at + 1) & (s->slots - 1);
	s->slot[at] = id + 1;
}

static void strings_grow(struct mt_strings *s)
{
	free(s->slot);
	s->slots = s->slots ? s->slots * 2 : 64;
	s->slot = mt_alloc(s->slots * sizeof *s->slot);
	for (uint32_t id = 0; id < s->count; id++)
		strings_place(s, id);
}

uint32_t mt_strings_add_len(struct mt_strings *s, const char *text, size_t len)
{
	if ((s->count + 1) * 2 > s->slots)
		strings_grow(s);
	uint32_t at = hash(text, len) & (s->slots - 1);

	for (; s->slot[at]; at = (at + 1) & (s->slots - 1)) {
		const char *there = mt_strings_get(s, s->slot[at] - 1);

		if (!strncmp(there, text, len) && !there[len])
			return s->slot[at] - 1;
	}
	MT_GROW(s->offset, s->count, s->capacity);
	s->offset[s->count] = (uint32_t)s->text.len;
	mt_buffer_add(&s->text, text, len);
	mt_buffer_add(&s->text, "", 1);
	s->slot[at] = ++s->count;
	return s->count - 1;
}

uint32_t mt_strings_add(struct mt_strings *s, const char *text)
{
	return mt_strings_add_len(s, text, strlen(text));
}

void mt_strings_init(struct mt_strings *s)
{
	*s = (struct mt_strings){0};
	mt_strings_add(s, "");
}

void mt_strings_free(struct mt_strings *s)
{
	mt_buffer_free(&s->text);
	free(s->offset);
	free(s->slot);
	*s = (struct mt_strings){0};
}
