/* What the code of an object is bound to: in the scopes that it was opened in. In a forked child
 * the dynamic linker's lock may be held by a thread that is no more: its list is walked without. */
#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "preload/base/sys.h"
#include "preload/symbols/parts.h"

#define OBJECTS_MAX 1024
#define PATIENCE 100000          /* yields: a walk takes less than a millisecond */
#define LOOKS (MT_YIELDS + 2000) /* at a walker */

/* One loaded object. The whole table belongs to the one that holds the dynamic linker's list. */
struct object {
	uint64_t base;
	const Elf64_Dyn *dynamic;
	const char *strings, *name, *path; /* by either of which others need it */
	void *function;                    /* that is looked for, in this object */
	uint32_t mark;                     /* has been visited from the object of that number */
	bool user;                         /* is or needs, by way of others, the caller's object */
};

static struct object objects[OBJECTS_MAX];
static uint32_t objects_in_use;

struct search {
	const Elf64_Dyn *caller; /* dynamic section of its object */
	const char *name;
	void *found;
	uint32_t definitions, count;
	bool done;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void look_into(struct object *o, const char *name)
{
	o->strings = mt_find_table_of(o->base, o->dynamic).strings;
	o->function = mt_find_in(o->base, o->dynamic, name);
	if (mt_is_own((uint64_t)o->function))
		o->function = NULL;
}

static void add(struct search *search, uint64_t base, const Elf64_Dyn *dynamic, const char *path)
{
	struct object *o = &objects[search->count];

	*o = (struct object){.base = base, .dynamic = dynamic, .path = base_name(path ? path : "")};
	look_into(o, search->name);
	if (!dynamic || !o->strings || search->count == OBJECTS_MAX - 1)
		return;
	o->name = o->path;
	for (const Elf64_Dyn *d = dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			o->name = o->strings + d->d_un.d_val;
	o->user = dynamic == search->caller;
	search->definitions += o->function != NULL;
	search->count++;
}

static int collect(struct dl_phdr_info *info, size_t size, void *at)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			add(at, info->dlpi_addr,
				(const Elf64_Dyn *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				info->dlpi_name);
	return 0;
}

static bool is_mapped(const void *p)
{
	unsigned char resident;

	return mt_load(&mt_tracer.sealed)
		|| mt_sys3(SYS_mincore, (uint64_t)p / MT_WIRE_PAGE * MT_WIRE_PAGE, 1, &resident)
		== 0;
}

static const struct link_map *first_object(void)
{
	struct dl_find_object own;
	const struct link_map *map;

	if (mt_object_of(&mt_tracer, &own) < 0)
		return NULL;
	for (map = own.dlfo_link_map; map->l_prev; map = map->l_prev)
		;
	return map;
}

static const struct link_map *unloaded; /* of which no more than its place in the list is left */
/* In a forked child nobody locks the list: one thread walks it at a time, and none while others
 * unload. */
static const struct mt_thread_local *walker;
static uint32_t unloadings;
static bool blind; /* the child cannot tell what is still there */

/* What the dynamic linker says to debuggers, in the dynamic section of the program itself. */
static bool may_unload(const struct link_map *program)
{
	for (const Elf64_Dyn *d = program->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return ((const struct r_debug *)d->d_un.d_ptr)->r_state == RT_DELETE;
	return true;
}

static bool is_forked_child(void)
{
	return mt_load(&mt_tracer.forked)
		|| (mt_load_acquire(&mt_tracer.phase) == MT_PHASE_ATTACHED
			&& !mt_load(mt_tracer.running));
}

/* Each object is taken from the list right after it has been unmapped. */
void mt_find_in_child(void)
{
	const struct link_map *map = first_object();

	mt_store(&mt_tracer.forked, 1);
	walker = NULL; /* another thread's, as these */
	objects_in_use = 0;
	unloadings = mt_tls.unloading;
	if (unloaded) /* an earlier fork's: it stays in the list, and its place may be taken */
		return;
	if (!map || !may_unload(map))
		return;
	blind = mt_load(&mt_tracer.sealed);
	for (; map && !unloaded; map = map->l_next)
		unloaded = is_mapped(map->l_ld) ? NULL : map;
}

/* In a forked child, where a thread that is no more may hold the lock: what it was unloading is
 * left out. */
static void collect_unlocked(struct search *search)
{
	struct dl_find_object object;

	for (const struct link_map *map = first_object(); map; map = map->l_next)
		if (mt_object_of(map->l_ld, &object) == 0 && object.dlfo_link_map == map
			&& map != unloaded && is_mapped(map->l_ld))
			add(search, map->l_addr, map->l_ld, map->l_name);
}

static bool is_named(const struct object *o, const char *needed)
{
	needed = base_name(needed);
	return !strcmp(o->name, needed) || !strcmp(o->path, needed);
}

static bool needs_user(const struct search *search, const struct object *o)
{
	for (const Elf64_Dyn *d = o->dynamic; d->d_tag != DT_NULL; d++)
		for (uint32_t i = 0; d->d_tag == DT_NEEDED && i < search->count; i++)
			if (objects[i].user && is_named(&objects[i], o->strings + d->d_un.d_val))
				return true;
	return false;
}

static void mark_users(const struct search *search)
{
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < search->count; i++)
			if (!objects[i].user && needs_user(search, &objects[i]))
				more = objects[i].user = true;
	}
}

/* Breadth first, as the dynamic linker does. */
static void *find_from(const struct search *search, uint32_t root)
{
	static uint16_t queue[OBJECTS_MAX];
	uint32_t first = 0, end = 0;

	queue[end++] = (uint16_t)root;
	objects[root].mark = root + 1;
	for (; first < end; first++) {
		struct object *o = &objects[queue[first]];

		if (!o->strings)
			look_into(o, search->name);
		if (o->function)
			return o->function;
		for (const Elf64_Dyn *d = o->dynamic; d->d_tag != DT_NULL; d++)
			for (uint32_t i = 0; d->d_tag == DT_NEEDED && i < search->count; i++)
				if (objects[i].mark != root + 1
					&& is_named(&objects[i], o->strings + d->d_un.d_val)) {
					objects[i].mark = root + 1;
					queue[end++] = (uint16_t)i;
				}
	}
	return NULL;
}

/* A library is bound in the scopes of those that it was opened for, the first of them first: dlopen
 * lists what it opens before what that needs. This runs with the list locked, as a callback of the
 * first object that stops there. */
static int search_locked(struct dl_phdr_info *info, size_t size, void *at)
{
	struct search *search = at;

	(void)size;
	if (info && mt_load(&objects_in_use)) /* by what this signal handler has interrupted */
		return 1;
	mt_store(&objects_in_use, 1);
	mt_signal_fence();
	if (info)
		dl_iterate_phdr(collect, search);
	else
		collect_unlocked(search);
	if (search->definitions)
		mark_users(search);
	for (uint32_t i = 0; search->definitions && i < search->count && !search->found; i++)
		if (objects[i].user)
			search->found = find_from(search, i);
	mt_signal_fence();
	mt_store(&objects_in_use, 0);
	search->done = true;
	return 1;
}

/* Not one that this signal handler has interrupted: it cannot go on. */
static void await_walker(void)
{
	const struct mt_thread_local *at;

	for (int i = 0; i < LOOKS && (at = mt_load(&walker)) && at != &mt_tls; i++)
		mt_sys_rest(i);
}

/* The walker may be about to read what this thread unloads; those to come do not begin. */
void mt_find_unload_begins(void)
{
	mt_swap_add(&mt_find_epoch, 1);
	mt_tls.unloading++;
	mt_swap_add(&unloadings, 1);
	if (is_forked_child())
		await_walker();
}

void mt_find_unload_ends(void)
{
	mt_swap_add(&unloadings, -1);
	mt_tls.unloading--;
	mt_swap_add(&mt_find_epoch, 1);
}

/* Only in the caller's object and what it needs, which are there since the caller is; of the rest
 * nothing but the path is read. */
static void search_nearby(struct search *search)
{
	uint32_t caller = OBJECTS_MAX;

	for (const struct link_map *map = first_object(); map; map = map->l_next) {
		const char *path = base_name(map->l_name ? map->l_name : "");

		if (search->count == OBJECTS_MAX - 1)
			break;
		if (map->l_ld == search->caller)
			caller = search->count;
		objects[search->count++] = (struct object){.base = map->l_addr,
			.dynamic = map->l_ld,
			.path = path,
			.name = path};
	}
	if (caller < OBJECTS_MAX)
		search->found = find_from(search, caller);
}

/* Without the lock. What this thread itself unloads is there until it goes on. False: others unload
 * for so long, or nobody can tell what is there; then it is searched nearby. */
static bool walk(struct search *search)
{
	for (int i = 0; i < PATIENCE && mt_load(&walker) != &mt_tls; i++) {
		const struct mt_thread_local *none = NULL;
		bool mine = mt_swap_if(&walker, &none, &mt_tls);
		bool alone = mine && !blind && mt_load(&unloadings) <= mt_tls.unloading;
		bool last = mine && (blind || i == PATIENCE - 1);

		if (alone)
			search_locked(NULL, 0, search);
		else if (last)
			search_nearby(search);
		if (mine)
			__atomic_store_n(&walker, NULL, __ATOMIC_SEQ_CST);
		if (alone || last)
			return alone;
		mt_sys0(SYS_sched_yield);
	}
	return false;
}

/* What an object that was opened for all defines goes before the caller's own scope. Only dlsym
 * knows, but it allocates where it finds nothing, and leaves a message: it is asked only where
 * there is a choice. False: not for certain. */
bool mt_find_search(const struct link_map *caller, const char *name, struct mt_found *found)
{
	struct search search = {.caller = caller ? caller->l_ld : NULL, .name = name};
	void *p;

	if (is_forked_child()) {
		bool certain = walk(&search);

		for (uint32_t i = 0; certain && i < search.count && !search.found; i++)
			search.found = objects[i].function; /* what else could it be bound to */
		mt_find_describe(found, search.found);
		return certain;
	}
	dl_iterate_phdr(search_locked, &search);
	if (!search.done || search.definitions != (search.found != NULL)) {
		p = dlsym(RTLD_NEXT, name);
		if (p && !mt_is_own((uint64_t)p))
			search.found = p;
		else if (!p)
			dlerror();
	}
	mt_find_describe(found, search.found);
	return search.done;
}
