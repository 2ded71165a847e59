#include "core/session/named.h"

#include "core/base/buffer.h"
#include "core/base/elf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATORS " \t\n,"

static const char *const roles[] = {"malloc", "calloc", "realloc", "free", "memalign",
	"posix_memalign", "aligned_alloc", "valloc", "pvalloc", "reallocarray", "usable_size"};
#define ROLES (sizeof roles / sizeof *roles)
enum { MALLOC = 0, FREE = 3, USABLE_SIZE = 10 }; /* in roles */

struct mt_named_functions {
	char *symbols[ROLES]; /* NULL: not named */
	char *object, *prefix;
};

static char **slot_of(struct mt_named_functions *n, const char *word, size_t len)
{
	for (size_t i = 0; i < ROLES; i++)
		if (strlen(roles[i]) == len && !strncmp(word, roles[i], len))
			return &n->symbols[i];
	return len == 6 && !strncmp(word, "object", len) ? &n->object
		: len == 6 && !strncmp(word, "prefix", len)
		? &n->prefix
		: NULL;
}

static int take_word(struct mt_named_functions *n, const char *word, struct mt_err *err)
{
	const char *equals = strchr(word, '=');
	char **slot = equals ? slot_of(n, word, (size_t)(equals - word)) : NULL;

	if (!slot)
		return mt_fail(err, -EINVAL,
			"--allocator-functions: '%.60s' is not WORD=NAME with one of the "
			"words " MT_NAMED_ROLES "|object|prefix",
			word);
	if (!equals[1] && slot != &n->prefix)
		return mt_fail(err, -EINVAL, "--allocator-functions: '%.60s' names nothing", word);
	if (strlen(equals + 1) >= MT_NAMED_SYMBOL / 2)
		return mt_fail(err, -EINVAL, "--allocator-functions: '%.60s…' is too long", word);
	if (*slot)
		return mt_fail(err, -EINVAL, "--allocator-functions: %.*s is given twice",
			(int)(equals - word), word);
	*slot = mt_strdup(equals + 1);
	return 0;
}

struct mt_named_functions *mt_named_new(const char *text, struct mt_err *err)
{
	struct mt_named_functions *n = mt_alloc(sizeof *n);
	char *copy = mt_strdup(text), *rest = copy;
	int error = 0;

	for (char *word; !error && (word = strsep(&rest, SEPARATORS));)
		if (*word)
			error = take_word(n, word, err);
	if (!error && !n->prefix && (!n->symbols[MALLOC] || !n->symbols[FREE]))
		error = mt_fail(err, -EINVAL,
			"--allocator-functions: names no function for %s; malloc= and free= must "
			"be given, or prefix=",
			n->symbols[MALLOC] ? "free" : "malloc");
	if (!error && n->prefix && !*n->prefix && !n->object)
		error = mt_fail(err, -EINVAL,
			"--allocator-functions: an empty prefix= means malloc itself, which is "
			"recorded; name the library with object=");
	free(copy);
	if (!error)
		return n;
	mt_named_free(n);
	return NULL;
}

void mt_named_free(struct mt_named_functions *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < ROLES; i++)
		free(n->symbols[i]);
	free(n->object);
	free(n->prefix);
	free(n);
}

/* ---- what is named --------------------------------------------------------------------------- */

static size_t index_of(const char *role)
{
	size_t i = 0;

	while (i < ROLES && strcmp(roles[i], role) != 0)
		i++;
	return i;
}

const char *mt_named_symbol(const struct mt_named_functions *n, const char *role, char *symbol)
{
	size_t i = index_of(role);

	*symbol = '\0';
	if (i < ROLES && n->symbols[i])
		snprintf(symbol, MT_NAMED_SYMBOL, "%s", n->symbols[i]);
	else if (i < ROLES && n->prefix)
		snprintf(symbol, MT_NAMED_SYMBOL, "%s%s%s", n->prefix,
			i == USABLE_SIZE ? "malloc_" : "", role);
	return symbol;
}

bool mt_named_is_needed(const struct mt_named_functions *n, const char *role)
{
	size_t i = index_of(role);

	return i < ROLES && (n->symbols[i] || (n->prefix && (i == MALLOC || i == FREE)));
}

/* libfoo.so.1 by its path, its name, or, as with memleak, by foo. */
bool mt_named_is_in(const struct mt_named_functions *n, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len;

	if (!n->object || !strcmp(n->object, path))
		return true;
	name = name ? name + 1 : path;
	len = strlen(n->object);
	return !strcmp(name, n->object)
		|| (!strncmp(name, "lib", 3) && !strncmp(name + 3, n->object, len)
			&& !strncmp(name + 3 + len, ".so", 3));
}

struct search {
	char symbol[MT_NAMED_SYMBOL];
	bool found;
};

static void is_it(void *context, const struct mt_elf_function *f)
{
	struct search *s = context;

	s->found = s->found || !strcmp(f->name, s->symbol);
}

bool mt_named_is_defined(const struct mt_named_functions *n, int fd)
{
	struct search s = {.found = false};

	mt_named_symbol(n, "malloc", s.symbol);
	mt_elf_functions(fd, is_it, &s);
	return s.found;
}
