/* Demangling by libiberty; without it every name stays as it is in the symbol table. */
#include "core/symbol/symbol.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBIBERTY
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

/* beyond this a name is hostile: the demangler's output may be far longer still */
#define LONGEST_MANGLED 65536

static char *demangle(const char *raw)
{
	if (strlen(raw) > LONGEST_MANGLED)
		return NULL;
	if (!strncmp(raw, "_Z", 2) || !strncmp(raw, "__Z", 3) || !strncmp(raw, "_R", 2)
		|| !strncmp(raw, "_GLOBAL__", 9))
		return cplus_demangle(raw, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	if (!strncmp(raw, "_D", 2) && (isdigit((unsigned char)raw[2]) || !strcmp(raw, "_Dmain")))
		return dlang_demangle(raw, 0);
	return NULL;
}
#endif

char *mt_demangle(const char *raw)
{
#ifdef HAVE_LIBIBERTY
	char *name = demangle(raw);

	if (name && *name)
		return name;
	free(name);
#endif
	return mt_strdup(raw);
}
