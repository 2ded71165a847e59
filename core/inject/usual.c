/* The functions in which no thread is borrowed: those that hold locks of the loader or of an
 * allocator, and those that make or end threads and processes. */
#include "core/inject/internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const allocator[] = {"malloc", "free", "calloc", "realloc", "memalign",
	"aligned_alloc", "posix_memalign", "valloc", "pvalloc", "malloc_usable_size", "malloc_trim",
	"malloc_stats", "malloc_info", "mallinfo", "mallinfo2", "mallopt", "reallocarray", "cfree",
	"__libc_memalign", "__libc_freeres"};
static const char *const others[] = {"fork", "__fork", "_Fork", "vfork", "__vfork", "posix_spawn",
	"posix_spawnp", "system", "popen", "clone", "dlopen", "dlmopen", "dlclose", "dlsym",
	"dlvsym", "dladdr", "dl_iterate_phdr", "pthread_create", "pthread_exit", "exit", "_exit",
	"quick_exit"};

static bool is_among(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}
#define IS_AMONG(name, list) is_among((name), (list), sizeof(list) / sizeof *(list))

struct survey {
	struct mt_tracee *t;
	struct mt_inject_module functions; /* all of them */
	uint32_t capacity;
	uint64_t low, high; /* from the first to the last of the malloc family */
};

static void add(void *context, const char *name, const struct mt_tracee_symbol *symbol)
{
	struct survey *s = context;
	uint64_t end = symbol->address + symbol->size;

	MT_GROW(s->functions.known, s->functions.count, s->capacity);
	s->functions.known[s->functions.count++] =
		(struct mt_inject_range){symbol->address, end, NULL};
	if (IS_AMONG(name, others))
		mt_tracee_avoid(s->t, symbol->address, end, name);
	if (!IS_AMONG(name, allocator))
		return;
	mt_tracee_avoid(s->t, symbol->address, end, name);
	/* wherever else that is, it is not in the allocator's file */
	if (!strcmp(name, "__libc_freeres"))
		return;
	if (!s->high || symbol->address < s->low)
		s->low = symbol->address;
	if (end > s->high)
		s->high = end;
}

static int compare(const void *a, const void *b)
{
	const struct mt_inject_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* The inner functions of malloc have no name, and lie between its named ones and beside them. */
static void avoid_inner(struct survey *s)
{
	uint64_t low = s->functions.low, high = s->functions.high;

	if (!s->high || s->high - s->low > 65536)
		return;
	for (uint32_t i = 0; i < s->functions.count; i++) {
		const struct mt_inject_range *f = &s->functions.known[i];

		if (f->high <= s->low && f->high > low)
			low = f->high;
		if (f->low >= s->high && f->low < high)
			high = f->low;
	}
	mt_tracee_avoid(s->t, low, high, "malloc");
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static void avoid_in(struct mt_tracee *t, const struct mt_inject_map *code, const char *program)
{
	struct survey s = {.t = t, .functions = {.low = code->low, .high = code->high}};
	const char *name = mt_base_name(code->path);
	bool is_libc = begins(name, "libc.so") || begins(name, "libc-2")
		|| begins(name, "libc.musl") || begins(name, "ld-musl");

	if (!is_libc && (begins(name, "ld-") || begins(name, "ld.so"))) {
		mt_tracee_avoid(t, code->low, code->high, "the dynamic linker");
		return;
	}
	mt_inject_symbols(t, code, -1, add, &s);
	qsort(s.functions.known, s.functions.count, sizeof *s.functions.known, compare);
	if (is_libc) {
		avoid_inner(&s);
		MT_GROW(t->modules, t->module_count, t->module_capacity);
		t->modules[t->module_count++] = s.functions;
		return;
	}
	/* a library that is an allocator: all of it */
	if (s.high && strcmp(code->path, program))
		mt_tracee_avoid(t, code->low, code->high, name);
	free(s.functions.known);
}

int mt_tracee_avoid_usual(struct mt_tracee *t, struct mt_err *err)
{
	char program[4096];
	int error = mt_tracee_refresh(t, err);

	if (error)
		return error;
	mt_proc_link(t->pid, "exe", program, sizeof program);
	for (uint32_t i = 0; i < t->maps.count; i++)
		if (t->maps.items[i].executable && t->maps.items[i].inode)
			avoid_in(t, &t->maps.items[i], program);
	return 0;
}
