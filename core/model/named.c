#include "core/model/named.h"

#define NAMES_MAX 1024u /* in one list of a file */

static uint64_t value_of(const struct mt_named *f, const void *of)
{
	uint32_t small;
	uint64_t large;

	memcpy(&small, (const char *)of + f->offset, sizeof small);
	if (f->size == sizeof small)
		return small;
	memcpy(&large, (const char *)of + f->offset, sizeof large);
	return large;
}

static void set_value(const struct mt_named *f, void *of, uint64_t value)
{
	uint32_t small = (uint32_t)value;

	if (f->size == sizeof small)
		memcpy((char *)of + f->offset, &small, sizeof small);
	else
		memcpy((char *)of + f->offset, &value, sizeof value);
}

void mt_named_add(struct mt_buffer *b, const struct mt_named *fields, size_t count, const void *of)
{
	uint64_t there = 0;

	for (size_t i = 0; i < count; i++)
		there += value_of(&fields[i], of) != 0;
	mt_varint_add(b, there);
	for (size_t i = 0; i < count; i++) {
		uint64_t value = value_of(&fields[i], of);
		size_t len = strlen(fields[i].name);

		if (!value)
			continue;
		mt_varint_add(b, len);
		mt_buffer_add(b, fields[i].name, len);
		mt_varint_add(b, value);
	}
}

/* Most often the file has them in the same order: the search begins at *next. */
static const struct mt_named *find(const struct mt_named *fields, size_t count, const uint8_t *name,
	uint64_t len, size_t *next)
{
	for (size_t i = 0; i < count; i++) {
		const struct mt_named *f = &fields[(*next + i) % count];

		if (strlen(f->name) == len && !memcmp(f->name, name, len)) {
			*next = (*next + i + 1) % count;
			return f;
		}
	}
	return NULL;
}

void mt_named_get(struct mt_cursor *c, const struct mt_named *fields, size_t count, void *of)
{
	uint64_t there = mt_cursor_bounded(c, NAMES_MAX);
	size_t next = 0;

	for (size_t i = 0; i < count; i++)
		set_value(&fields[i], of, 0);
	for (; there && !c->bad; there--) {
		uint64_t len = mt_cursor_varint(c);
		const uint8_t *name = mt_cursor_bytes(c, len);
		const struct mt_named *f = name ? find(fields, count, name, len, &next) : NULL;
		uint64_t value = mt_cursor_bounded(c, f ? f->most : UINT64_MAX);

		if (f && !c->bad)
			set_value(f, of, value);
	}
}
