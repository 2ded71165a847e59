/* The GNU hash table of an object's dynamic symbols: a Bloom filter, buckets, and chains that end
 * with an odd hash. Layout as binutils writes it (elf32.em, .gnu.hash). */
#include "preload/find.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/sys.h"

#define OBJECTS_MAX 1024
#define PATIENCE 100000  /* yields: a walk takes less than a millisecond */
#define FOUND_COUNT 1024 /* a power of two */
#define CHANGED_MAX 512  /* far more than we have functions */

struct table {
	const uint32_t *hash;
	const Elf64_Sym *symbols;
	const char *strings;
};

/* glibc relocates these words in place, but not those of the vdso. */
static const void *address(uint64_t base, const Elf64_Dyn *entry)
{
	uint64_t p = entry->d_un.d_ptr;

	return (const void *)(p < base ? p + base : p);
}

static struct table table_of(uint64_t base, const Elf64_Dyn *dynamic)
{
	struct table t = {0};

	for (const Elf64_Dyn *d = dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_GNU_HASH)
			t.hash = address(base, d);
		else if (d->d_tag == DT_SYMTAB)
			t.symbols = address(base, d);
		else if (d->d_tag == DT_STRTAB)
			t.strings = address(base, d);
	return t;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* Its first definition of a function, or the next behind another: one name may have several
 * versions, side by side in one chain. */
static const Elf64_Sym *find_symbol(const struct table *t, const char *name, uint32_t hash,
	const Elf64_Sym *behind)
{
	uint32_t buckets, first, words, shift, i;
	const uint64_t *bloom;
	const uint32_t *bucket, *chain;

	if (!t->hash || !t->symbols || !t->strings || !t->hash[0] || !t->hash[2])
		return NULL;
	buckets = t->hash[0];
	first = t->hash[1];
	words = t->hash[2];
	shift = t->hash[3];
	bloom = (const uint64_t *)(t->hash + 4);
	bucket = (const uint32_t *)(bloom + words);
	chain = bucket + buckets;
	if (!(bloom[hash / 64 % words] >> hash % 64
		    & bloom[hash / 64 % words] >> (hash >> shift) % 64 & 1))
		return NULL;
	i = behind ? (uint32_t)(behind - t->symbols) : bucket[hash % buckets];
	if (behind && chain[i++ - first] & 1)
		return NULL;
	for (; i >= first; i++) {
		const Elf64_Sym *symbol = &t->symbols[i];

		if ((chain[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF
			&& ELF64_ST_TYPE(symbol->st_info) == STT_FUNC
			&& !strcmp(t->strings + symbol->st_name, name))
			return symbol;
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

/* Symbols that have been handed out to be changed, and what they said. */
static struct {
	const Elf64_Sym *symbol;
	uint64_t value;
} changed[CHANGED_MAX];
static uint32_t changed_count;

static uint64_t value_of(const Elf64_Sym *symbol)
{
	for (uint32_t i = 0, n = mt_load_acquire(&changed_count); i < n; i++)
		if (changed[i].symbol == symbol)
			return changed[i].value;
	return symbol->st_value;
}

static void *find(uint64_t base, const Elf64_Dyn *dynamic, const char *name, uint32_t hash)
{
	struct table t = table_of(base, dynamic);
	const Elf64_Sym *symbol = find_symbol(&t, name, hash, NULL);

	return symbol ? (void *)(base + value_of(symbol)) : NULL;
}

/* What the program was started with stays, and comes first in the dynamic linker's list. */
static const struct link_map *last_at_start;

static void find_last(void)
{
	struct dl_find_object own;
	const struct link_map *map;

	if (last_at_start || _dl_find_object(&mt_tracer, &own) < 0)
		return;
	for (map = own.dlfo_link_map; map->l_next; map = map->l_next)
		;
	last_at_start = map;
}

void mt_find_own(void)
{
	struct dl_find_object own, loader;

	find_last();
	if (_dl_find_object(&mt_tracer, &own) == 0) {
		mt_tracer.own_start = (uint64_t)own.dlfo_map_start;
		mt_tracer.own_end = (uint64_t)own.dlfo_map_end;
	}
	if (_dl_find_object((void *)getauxval(AT_BASE), &loader) == 0) {
		mt_tracer.loader_start = (uint64_t)loader.dlfo_map_start;
		mt_tracer.loader_end = (uint64_t)loader.dlfo_map_end;
	}
}

static void describe(struct mt_found *found, void *function)
{
	struct dl_find_object object;

	*found = (struct mt_found){.function = function};
	if (!function || _dl_find_object(function, &object) < 0)
		return;
	found->start = (uint64_t)object.dlfo_map_start;
	found->end = (uint64_t)object.dlfo_map_end;
}

bool mt_find_next(const char *name, struct mt_found *found)
{
	uint32_t hash = hash_of(name);
	struct dl_find_object own;
	void *p = NULL;

	if (_dl_find_object(&mt_tracer, &own) < 0)
		return false;
	for (const struct link_map *map = own.dlfo_link_map->l_next; map && !p; map = map->l_next)
		p = find(map->l_addr, map->l_ld, name, hash);
	describe(found, p);
	return p != NULL;
}

static void visit(const struct link_map *map, const Elf64_Sym *symbol, uint64_t function,
	mt_find_visit *call)
{
	uint32_t n = mt_load(&changed_count);

	if (n == CHANGED_MAX)
		return;
	changed[n].symbol = symbol;
	changed[n].value = symbol->st_value;
	mt_store_release(&changed_count, n + 1);
	call(map, (Elf64_Sym *)symbol, function);
}

/* The next definitions of one of our functions, in the library that comes first: versions of one
 * function. */
static void visit_next(const struct link_map *own, const char *name, uint64_t function,
	mt_find_visit *call)
{
	const struct link_map *map = own;
	uint32_t hash = hash_of(name);
	const Elf64_Sym *symbol = NULL;
	uint64_t value;
	struct table t;

	while (!symbol && map != last_at_start && (map = map->l_next)) {
		t = table_of(map->l_addr, map->l_ld);
		symbol = find_symbol(&t, name, hash, NULL);
	}
	for (value = symbol ? symbol->st_value : 0; symbol;
		symbol = find_symbol(&t, name, hash, symbol))
		if (symbol->st_value == value)
			visit(map, symbol, function, call);
}

void mt_find_each_next(mt_find_visit *call)
{
	const uint32_t *bucket, *chain;
	struct dl_find_object own;
	const struct link_map *map;
	struct table t;

	if (_dl_find_object(&mt_tracer, &own) < 0)
		return;
	map = own.dlfo_link_map;
	t = table_of(map->l_addr, map->l_ld);
	bucket = t.hash + 4 + 2 * t.hash[2];
	chain = bucket + t.hash[0];
	for (uint32_t b = 0; b < t.hash[0]; b++)
		for (uint32_t i = bucket[b]; i; i = chain[i - t.hash[1]] & 1 ? 0 : i + 1)
			visit_next(map, t.strings + t.symbols[i].st_name,
				map->l_addr + t.symbols[i].st_value, call);
}

/* ---- the caller's own scope ------------------------------------------------------------------ */

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
	o->strings = table_of(o->base, o->dynamic).strings;
	o->function = find(o->base, o->dynamic, name, hash_of(name));
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

	if (_dl_find_object(&mt_tracer, &own) < 0)
		return NULL;
	for (map = own.dlfo_link_map; map->l_prev; map = map->l_prev)
		;
	return map;
}

static const struct link_map *unloaded; /* of which no more than its place in the list is left */
/* In a forked child nobody locks the list: one thread walks it at a time, and none while others
 * unload. */
static const struct mt_tls *walker;
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
	blind = map && may_unload(map) && mt_load(&mt_tracer.sealed);
	if (map && may_unload(map))
		for (; map && !unloaded; map = map->l_next)
			unloaded = is_mapped(map->l_ld) ? NULL : map;
}

/* In a forked child, where a thread that is no more may hold the lock: what it was unloading is
 * left out. */
static void collect_unlocked(struct search *search)
{
	struct dl_find_object object;

	for (const struct link_map *map = first_object(); map; map = map->l_next)
		if (_dl_find_object(map->l_ld, &object) == 0 && object.dlfo_link_map == map
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

static uint32_t epoch; /* of what is remembered below */

/* The walker may be about to read what this thread unloads; those to come do not begin. */
void mt_find_unload_begins(void)
{
	mt_swap_add(&epoch, 1);
	mt_tls.unloading++;
	mt_swap_add(&unloadings, 1);
	if (is_forked_child())
		for (int i = 0; i < PATIENCE && mt_load(&walker); i++)
			mt_sys0(SYS_sched_yield);
}

void mt_find_unload_ends(void)
{
	mt_swap_add(&unloadings, -1);
	mt_tls.unloading--;
	mt_swap_add(&epoch, 1);
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
		const struct mt_tls *none = NULL;
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
static bool search_for(const struct link_map *caller, const char *name, struct mt_found *found)
{
	struct search search = {.caller = caller ? caller->l_ld : NULL, .name = name};
	void *p;

	if (is_forked_child()) {
		bool certain = walk(&search);

		for (uint32_t i = 0; certain && i < search.count && !search.found; i++)
			search.found = objects[i].function; /* what else could it be bound to */
		describe(found, search.found);
		return certain;
	}
	dl_iterate_phdr(search_locked, &search);
	if (!search.done || search.definitions != (search.found != NULL)) {
		p = dlsym(RTLD_NEXT, name);
		if (p)
			search.found = p;
		else
			dlerror();
	}
	describe(found, search.found);
	return search.done;
}

/* ---- what was found, by call and by object --------------------------------------------------- */

struct entry {
	uint32_t turn; /* odd while it is written */
	uint32_t epoch;
	uint64_t caller; /* the call's return address, or the start of its object */
	const char *name;
	struct mt_found found;
};

static struct entry entries[FOUND_COUNT];
static struct entry *entry_of(uint64_t caller, const char *name)
{
	return &entries[((caller ^ (uint64_t)name << 20) * 0x9e3779b97f4a7c15ull >> 32)
		% FOUND_COUNT];
}

static bool recall(uint64_t caller, const char *name, struct mt_found *found)
{
	const struct entry *e = entry_of(caller, name);
	uint32_t turn = mt_load_acquire(&e->turn);
	bool same = !(turn & 1) && mt_load(&e->caller) == caller && mt_load(&e->name) == name
		&& mt_load(&e->epoch) == mt_load(&epoch);

	found->function = mt_load(&e->found.function);
	found->start = mt_load(&e->found.start);
	found->end = mt_load(&e->found.end);
	found->plain = mt_load(&e->found.plain);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return same && mt_load(&e->turn) == turn;
}

static void remember(uint64_t caller, const char *name, const struct mt_found *found, uint32_t now)
{
	struct entry *e = entry_of(caller, name);
	uint32_t turn = mt_load(&e->turn);

	if (turn & 1 || !mt_swap_if(&e->turn, &turn, turn + 1))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	mt_store(&e->caller, caller);
	mt_store(&e->name, name);
	mt_store(&e->epoch, now);
	mt_store(&e->found.function, found->function);
	mt_store(&e->found.start, found->start);
	mt_store(&e->found.end, found->end);
	mt_store(&e->found.plain, found->plain);
	mt_store_release(&e->turn, turn + 2);
}

bool mt_find_in_scope(uint64_t caller, const char *name, struct mt_found *found)
{
	struct dl_find_object object;

	search_for(_dl_find_object((void *)caller, &object) == 0 ? object.dlfo_link_map : NULL,
		name, found);
	return found->function != NULL;
}

bool mt_find_for(uint64_t caller, const char *name, struct mt_found *found, mt_find_judge *judge)
{
	uint32_t now = mt_load_acquire(&epoch);
	struct dl_find_object object;
	uint64_t start = 1; /* code that was made at run time: all of it is the same */

	if (mt_is_own(caller))
		caller = (uint64_t)mt_tls.called;
	if (recall(caller, name, found))
		return found->function != NULL;
	if (_dl_find_object((void *)caller, &object) == 0)
		start = (uint64_t)object.dlfo_map_start;
	if (!recall(start, name, found)) {
		bool certain = search_for(start == 1 ? NULL : object.dlfo_link_map, name, found);

		found->plain = judge && found->function && judge(name, found);
		if (!certain)
			return found->function != NULL;
		remember(start, name, found, now);
	}
	if (start != 1)
		remember(caller, name, found, now);
	return found->function != NULL;
}
