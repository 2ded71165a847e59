/* Assertions for developers, in two levels. A release build checks neither and contains no code of
 * them. mt_assert (make ASSERT=1) compares what is at hand, so it may stand on a fast path.
 * mt_assert_expensive (make ASSERT=2) may walk a whole table. They state what our own code
 * guarantees. Bytes of files, of the network and of the traced program are checked in every
 * build. */
#ifndef MT_BASE_ASSERT_H
#define MT_BASE_ASSERT_H

#ifndef MT_ASSERT
#define MT_ASSERT 0
#endif

/* Says what does not hold, and aborts. */
_Noreturn void mt_assert_failed(const char *text, const char *file, int line);

/* The compiler reads the condition at every level, so that it cannot rot. */
#define MT_ASSERT_FROM(level, x) \
	do { \
		if (MT_ASSERT >= (level) && !(x)) \
			mt_assert_failed(#x, __FILE__, __LINE__); \
	} while (0)
#define mt_assert(x) MT_ASSERT_FROM(1, x)
#define mt_assert_expensive(x) MT_ASSERT_FROM(2, x)

#endif
