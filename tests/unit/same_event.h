/* Whether two events of a trace are the same in every field. */
#ifndef SAME_EVENT_H
#define SAME_EVENT_H

#include "core/trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static inline void assert_same_event(const struct mt_event *a, const struct mt_event *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->function, b->function);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->group, b->group);
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->previous, b->previous);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->period, b->period);
}

#endif
