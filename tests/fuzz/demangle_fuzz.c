/* A symbol's name as it becomes one for people: demangled, and without its templates' arguments. */
#include "core/symbol/symbol.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *raw = malloc(size + 1), *name, *brief, *folded;

	memcpy(raw, data, size);
	raw[size] = '\0';
	name = mt_demangle(raw);
	if (*raw && !*name)
		abort();
	brief = mt_name_shorten(name);
	folded = mt_name_fold(name, "~", true);
	if (*name && (!*brief || !*folded))
		abort();
	free(folded);
	free(brief);
	free(name);
	free(raw);
	return 0;
}
