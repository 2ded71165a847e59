#include "plugin.h"

#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static unsigned long lost, lost_bytes;
static char *table; /* the last one */

/* The one before is forgotten. */
static NOINLINE void make_table(size_t size)
{
	table = malloc(size);
	memset(table, 't', size);
	lost++;
	lost_bytes += size;
}

char *plugin_decode(const char *text, size_t len)
{
	static unsigned calls;
	char *out = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		out[i] = (char)(text[i] ^ 1);
	out[len] = '\0';
	if (++calls % 16 == 0)
		make_table(60 + calls % 50);
	return out;
}

void plugin_totals(unsigned long *count, unsigned long *bytes)
{
	*count = lost;
	*bytes = lost_bytes;
}
