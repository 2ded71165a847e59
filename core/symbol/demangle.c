/* Demangling by libiberty; without it every name stays as it is in the symbol table. A name can be
 * made so that its demangled form, or the search for it, has no end: both are bounded here. */
#include "core/symbol/symbol.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBIBERTY
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

#define LONGEST 65536 /* bytes of a name, mangled or not */
#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)
/* Of D: levels of recursion that have room on the smallest stack of a thread, and steps */
#define LONGEST_D 4096
#define STEPS_MAX (1u << 27)

struct output {
	struct mt_buffer text;
	jmp_buf too_long;
};

/* Back references can double the text with each few letters, so the demangler is left at once. It
 * holds no memory then but a decoded identifier of Rust's. */
static void add(const char *part, size_t len, void *context)
{
	struct output *out = context;

	if (len > LONGEST - out->text.len)
		longjmp(out->too_long, 1);
	mt_buffer_add(&out->text, part, len);
}

static bool write_name(struct output *out, const char *raw)
{
	if (setjmp(out->too_long))
		return false;
	if (rust_demangle_callback(raw, OPTIONS, add, out))
		return true;
	out->text.len = 0; /* it may have begun */
	return cplus_demangle_v3_callback(raw, OPTIONS, add, out);
}

static char *demangle_text(const char *raw)
{
	struct output out = {0};

	if (strlen(raw) <= LONGEST && write_name(&out, raw)) {
		mt_buffer_add(&out.text, "", 1);
		return (char *)out.text.data;
	}
	mt_buffer_free(&out.text);
	return NULL;
}

/* Length of the number at text. */
static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Returns true if the back reference at name + at leads to a type, which is demangled once more.
 * One to an identifier leads to its length. */
static bool refers_to_type(const char *name, size_t at)
{
	size_t distance = 0, end = at + 1;

	while (isupper((unsigned char)name[end]) && distance <= LONGEST_D)
		distance = distance * 26 + (size_t)(name[end++] - 'A');
	if (!islower((unsigned char)name[end]))
		return false;
	distance = distance * 26 + (size_t)(name[end] - 'a');
	return distance <= at && !isdigit((unsigned char)name[at - distance]);
}

/* libiberty tries a part of a D name again where it may be a function or not, where a number may
 * end sooner, and for each back reference to a type. Each of these doubles the steps at most. */
static bool is_quick(const char *name)
{
	size_t len = strlen(name), choices = 0;

	for (size_t i = 2; i < len && choices < 32; i++) {
		choices += strchr("FUVWRY", name[i]) != NULL;
		choices += name[i] == 'Q' && refers_to_type(name, i);
		choices += name[i] == 'S' ? digits(name + i + 1) : 0;
	}
	return len <= LONGEST_D && choices < 32 && (uint64_t)len << choices <= STEPS_MAX;
}

static char *demangle(const char *raw)
{
	if (!strncmp(raw, "_Z", 2) || !strncmp(raw, "__Z", 3) || !strncmp(raw, "_R", 2)
		|| !strncmp(raw, "_GLOBAL__", 9))
		return demangle_text(raw);
	if (!strncmp(raw, "_D", 2) && (isdigit((unsigned char)raw[2]) || !strcmp(raw, "_Dmain"))
		&& is_quick(raw))
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
