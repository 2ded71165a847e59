/* Assertions of the tracer, in the two levels of core/base/assert.h. Nothing may print or allocate
 * within the traced program, so an assertion that fails executes an invalid instruction: the
 * program ends with SIGILL, and a debugger or a core file shows the line. A release build contains
 * no code of them. */
#ifndef MT_ASSERT_H
#define MT_ASSERT_H

#ifndef MT_ASSERT
#define MT_ASSERT 0
#endif

#define MT_ASSERT_FROM(level, x) \
	do { \
		if (MT_ASSERT >= (level) && !(x)) \
			__builtin_trap(); \
	} while (0)
#define mt_assert(x) MT_ASSERT_FROM(1, x)
#define mt_assert_expensive(x) MT_ASSERT_FROM(2, x)

#endif
