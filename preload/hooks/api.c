/* What memtui.h calls. */
#include "preload/memtui.h"

#include <string.h>

#include "preload/record/event.h"

static uint64_t key(const void *pool, const void *p)
{
	return mt_wire_pool_key((uint64_t)pool, (uint64_t)p);
}

static void allocated(const struct mt_entry *entry, const void *pool, const void *p, size_t size)
{
	struct mt_thread_state *t = p ? mt_thread_self() : NULL;

	if (t)
		mt_event_domain_block(t, entry, MT_FUNCTION_POOL, MT_RECORD_ALLOC, key(pool, p),
			size);
}

MT_EXPORT void memtui_tracer_pool_alloc(const void *pool, const void *p, size_t size)
{
	struct mt_entry entry = MT_ENTRY();

	allocated(&entry, pool, p, size);
}

MT_EXPORT void memtui_tracer_pool_free(const void *pool, const void *p)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = p ? mt_thread_self() : NULL;

	if (t)
		mt_event_domain_free(t, &entry, MT_FUNCTION_POOL_FREE, MT_RECORD_FREE,
			key(pool, p));
}

/* p NULL: it failed, and the old block lives on. */
MT_EXPORT void memtui_tracer_pool_realloc(const void *pool, const void *old, const void *p,
	size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = p ? mt_thread_self() : NULL;

	if (!t)
		return;
	if (!old
		|| !mt_event_domain_free(t, &entry, MT_FUNCTION_POOL, MT_RECORD_RELEASE,
			key(pool, old)))
		allocated(&entry, pool, p, size);
	else
		mt_event_domain_block(t, &entry, MT_FUNCTION_POOL, MT_RECORD_REALLOC, key(pool, p),
			size);
}

/* As many bytes of the text as a mark holds, but no part of a character of UTF-8. */
static unsigned copy_text(uint64_t values[MT_MARK_VALUES], const char *text)
{
	size_t len = 0, limit = MT_MARK_VALUES * sizeof *values;

	while (text && len < limit && text[len])
		len++;
	if (len == limit && ((unsigned char)text[len] & 0xc0) == 0x80) {
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	memset(values, 0, limit);
	if (len)
		memcpy(values, text, len);
	return (unsigned)((len + sizeof *values - 1) / sizeof *values);
}

static void mark(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const char *text)
{
	uint64_t values[MT_MARK_VALUES];
	unsigned count = copy_text(values, text);

	mt_event_mark(t, entry, function, MT_MARK_USER, values, count);
}

MT_EXPORT void memtui_tracer_marker(const char *text)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = mt_thread_self();

	if (t)
		mark(t, &entry, MT_FUNCTION_MARKER, text);
}

static void set_recording(bool on)
{
	if (!mt_load(mt_tracer.running))
		mt_thread_prepare(); /* a child's first word is of its own segment */
	if (!mt_load(mt_tracer.running))
		return;
	mt_store(&mt_tracer.said_at, mt_load(&mt_tracer.header->turns));
	mt_store(&mt_tracer.said, on ? MT_BEGIN_RECORDING : MT_BEGIN_PAUSED);
	mt_store(&mt_tracer.header->recording, on);
}

MT_EXPORT void memtui_tracer_pause(const char *text)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = mt_thread_self();

	if (!t)
		return;
	set_recording(false);
	mark(t, &entry, MT_FUNCTION_PAUSE, text);
}

MT_EXPORT void memtui_tracer_resume(const char *text)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = mt_thread_self();

	if (!t)
		return;
	set_recording(true);
	mark(t, &entry, MT_FUNCTION_RESUME, text);
}

MT_EXPORT int memtui_tracer_active(void)
{
	return mt_thread_self() && mt_load(mt_tracer.running);
}
