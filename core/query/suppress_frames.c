/* How LeakSanitizer and valgrind call frames that a profile has not, or calls otherwise; and the
 * built-in list. */
#include "core/query/suppress_rules.h"

#include <string.h>

/* Those that are called otherwise than their function. */
#define NAMES_MAX 16
static const char *const other_names[MT_FUNCTION_FIRST][NAMES_MAX] = {
	/* what another tool recorded: it may be any of C's */
	[MT_FUNCTION_NONE] = {"malloc", "calloc", "realloc", "reallocarray", "posix_memalign",
		"aligned_alloc", "memalign", "valloc", "pvalloc"},
	[MT_FUNCTION_NEW] = {"_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t",
		"_ZnwmSt11align_val_tRKSt9nothrow_t", "_Znwj", "_ZnwjRKSt9nothrow_t",
		"_ZnwjSt11align_val_t", "_ZnwjSt11align_val_tRKSt9nothrow_t"},
	[MT_FUNCTION_NEW_ARRAY] = {"_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t",
		"_ZnamSt11align_val_tRKSt9nothrow_t", "_Znaj", "_ZnajRKSt9nothrow_t",
		"_ZnajSt11align_val_t", "_ZnajSt11align_val_tRKSt9nothrow_t"},
	[MT_FUNCTION_POOL] = {"memtui_pool_alloc"},
};

const char *mt_suppress_allocator(const struct mt_profile *p, uint32_t function, unsigned index)
{
	if (!mt_profile_function(p, function)->role)
		function = MT_FUNCTION_NONE;
	if (function < MT_FUNCTION_FIRST && other_names[function][0])
		return index < NAMES_MAX ? other_names[function][index] : NULL;
	return index ? NULL : mt_profile_function_name(p, function);
}

bool mt_suppress_below_main(const char *function)
{
	static const char *const names[] = {"__libc_start_main", "__libc_start_main_impl",
		"__libc_start_call_main", "generic_start_main", "_start"};
	size_t len = strcspn(function, "@");

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], function, len))
			return true;
	return false;
}

/* What is allocated once, kept to the end on purpose and freed by nobody but __libc_freeres,
 * whatever the program does. A rule belongs here only if a program cannot grow what it hides by
 * doing more. */
static const char builtin_valgrind[] =
	"{\n"
	"   libstdc++: memory for exceptions when there is no other, "
	"taken when the library is loaded\n"
	"   Memcheck:Leak\n"
	"   fun:malloc\n"
	"   obj:*/libstdc++.so*\n"
	"   ...\n"
	"   obj:*/ld-*.so*\n"
	"}\n"
	"{\n"
	"   dynamic linker: what it keeps of the libraries and their thread-local memory\n"
	"   Memcheck:Leak\n"
	"   fun:*\n"
	"   obj:*/ld-*.so*\n"
	"}\n"
	"{\n"
	"   glibc: buffers of stdin, stdout and stderr; "
	"a file that was not closed leaks its FILE beside\n"
	"   Memcheck:Leak\n"
	"   fun:malloc\n"
	"   fun:*_IO_file_doallocate\n"
	"}\n";
static const char builtin_lsan[] =
	"# libstdc++, linked statically: memory for exceptions when there is no other\n"
	"leak:^_GLOBAL__sub_I_eh_alloc.cc$\n"
	"# glibc: thread-local memory that is made when it is first used\n"
	"leak:*tls_get_addr*\n"
	"# glibc: the list of what exit calls, beyond its first 32 entries\n"
	"leak:^__cxa_atexit$\n"
	"# glibc: the locale, and the time zone\n"
	"leak:^setlocale$\n"
	"leak:^tzset$\n"
	"leak:^tzset_internal$\n";

void mt_suppressions_add_builtin(struct mt_suppressions *s)
{
	uint32_t first = mt_suppressions_count(s);

	mt_suppressions_parse(s, builtin_valgrind, sizeof builtin_valgrind - 1, "built-in", NULL);
	mt_suppressions_parse(s, builtin_lsan, sizeof builtin_lsan - 1, "built-in", NULL);
	for (; first < s->count; first++)
		s->rules[first].shown.builtin = true;
}
