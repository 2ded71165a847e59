/* What both of two profiles counted in each step of the timeline is the same. */
#ifndef SAME_STEPS_H
#define SAME_STEPS_H

#include "core/model/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

/* b may have more steps. */
static inline void assert_same_steps(const struct mt_profile *a, const struct mt_profile *b)
{
	assert_int_equal(a->step_ns, b->step_ns);
	assert_true(a->sample_count <= b->sample_count);
	for (uint32_t i = 0; i < a->sample_count; i++) {
		assert_int_equal(a->samples[i].live_bytes, b->samples[i].live_bytes);
		assert_int_equal(a->samples[i].live_count, b->samples[i].live_count);
		assert_int_equal(a->samples[i].max_bytes, b->samples[i].max_bytes);
		assert_int_equal(a->samples[i].allocations, b->samples[i].allocations);
		assert_int_equal(a->samples[i].frees, b->samples[i].frees);
	}
}

#endif
