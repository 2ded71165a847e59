#include "core/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void mt_assert_failed(const char *text, const char *file, int line)
{
	fprintf(stderr, "memtui: %s:%d: this must hold, but does not: %s\n", file, line, text);
	abort();
}
