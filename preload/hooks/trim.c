/* Calls that tune the allocator: logged with their results. */
#include <malloc.h>

#include "preload/base/installed.h"
#include "preload/record/event.h"

static void called(const struct mt_entry *entry, enum mt_function_id function, uint64_t first,
	uint64_t second, int result)
{
	uint64_t values[] = {first, second, (uint64_t)(int64_t)result};
	struct mt_thread_state *t = mt_thread_self();

	if (t)
		mt_event_mark(t, entry, function, MT_MARK_CALL, values, 3);
}

/* Both return 0 when they do nothing, as where there is no such function. */
MT_EXPORT int mallopt(int parameter, int value)
{
	struct mt_entry entry = MT_ENTRY();
	int result;

	if ((!mt_tracer.real.mallopt && !mt_real_ready()) || !mt_tracer.real.mallopt)
		return 0;
	result = mt_tracer.real.mallopt(parameter, value);
	called(&entry, MT_FUNCTION_MALLOPT, (uint64_t)(int64_t)parameter, (uint64_t)(int64_t)value,
		result);
	return result;
}

MT_EXPORT int malloc_trim(size_t pad)
{
	struct mt_entry entry = MT_ENTRY();
	int result;

	if ((!mt_tracer.real.malloc_trim && !mt_real_ready()) || !mt_tracer.real.malloc_trim)
		return 0;
	result = mt_tracer.real.malloc_trim(pad);
	called(&entry, MT_FUNCTION_MALLOC_TRIM, pad, 0, result);
	return result;
}
