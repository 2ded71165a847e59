#include "core/leakcheck/describe.h"
#include "core/base/buffer.h"
#include "core/base/elf.h"
#include "core/base/proc.h"
#include "core/query/frame.h"
#include "core/symbol/debug_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_MOST 4096u

struct describing {
	struct mt_root_description *to;
	const struct mt_leakcheck *check;
	const struct mt_still *still;
	const struct mt_profile *profile;
	uint64_t address; /* of the word; in registers 0 */
};

/* ---- files ----------------------------------------------------------------------------------- */

static const struct mt_tracee_mapping *map_at(const struct mt_still *s, uint64_t address)
{
	for (uint32_t i = 0; i < s->map_count; i++)
		if (address >= s->maps[i].low && address < s->maps[i].high)
			return &s->maps[i];
	return NULL;
}

/* A file that is mapped, and the separate one with its symbols, or -1. */
struct opened {
	int fd, debug;
	uint64_t bias;
};

static bool open_module(struct opened *o, const struct mt_still *s,
	const struct mt_tracee_mapping *m, unsigned flags)
{
	o->fd = mt_tracee_open_file(s->tracee, m->path);
	o->debug = -1;
	if (o->fd < 0)
		return false;
	if (!mt_elf_bias(o->fd, m->offset, m->low, flags, &o->bias)) {
		close(o->fd);
		return false;
	}
	o->debug = mt_debug_file_open(o->fd, m->path, m->path, s->pid);
	return true;
}

static void close_module(struct opened *o)
{
	close(o->fd);
	if (o->debug >= 0)
		close(o->debug);
}

/* ---- variables ------------------------------------------------------------------------------- */

struct variable_search {
	uint64_t value; /* the address that is looked for, in the terms of the file */
	bool thread_local;
	char *name;
	uint64_t begin, size;
};

/* Of several that have the address, as a member of a union may, the smallest. */
static void try_variable(void *context, const struct mt_elf_variable *v)
{
	struct variable_search *s = context;
	uint64_t into = s->value - v->value;

	if (v->is_thread_local != s->thread_local || !*v->name || into >= v->size
		|| (s->name && v->size >= s->size))
		return;
	free(s->name);
	s->name = mt_strdup(v->name);
	s->begin = v->value;
	s->size = v->size;
}

static bool find_variable(struct mt_root_description *to, const struct opened *o, uint64_t value,
	bool thread_local)
{
	struct variable_search s = {.value = value, .thread_local = thread_local};

	mt_elf_variables(o->fd, try_variable, &s);
	if (!s.name && o->debug >= 0)
		mt_elf_variables(o->debug, try_variable, &s);
	if (!s.name)
		return false;
	to->variable = mt_demangle(s.name);
	to->variable_offset = value - s.begin;
	free(s.name);
	return true;
}

static void describe_data(struct describing *d, const struct mt_root *root)
{
	const struct mt_tracee_mapping *m = &d->still->maps[root->map];
	struct opened o;

	/* zeroes have a mapping of their own behind the file's */
	while (!m->is_file && m > d->still->maps)
		m--;
	d->to->module = mt_strdup(m->path);
	if (!open_module(&o, d->still, m, PF_W))
		return;
	d->to->module_offset = d->address - o.bias;
	find_variable(d->to, &o, d->address - o.bias, false);
	close_module(&o);
}

/* ---- thread-local storage -------------------------------------------------------------------- */

static uint64_t word_at(const struct mt_still *s, uint64_t address)
{
	struct mt_span span = {address, 8};
	uint64_t word;

	mt_still_memory_read(&s->memory, &span, 1, &word);
	return word;
}

/* As glibc has it: behind the word at the thread pointer stands the address of a vector, of which
 * each file has two words, the first with where its storage is. */
static uint64_t storage_by_number(const struct mt_still *s, uint64_t thread_pointer,
	uint64_t number)
{
	uint64_t vector = word_at(s, thread_pointer + 8);

	return number && number < 1u << 16 ? word_at(s, vector + 16 * number) : 0;
}

struct storage_search {
	const struct mt_still *still;
	uint64_t thread_pointer, bias, storage; /* 0: not found yet */
};

static void try_local_word(void *context, const struct mt_elf_local_word *w)
{
	struct storage_search *s = context;
	uint64_t word;

	if (s->storage)
		return;
	word = word_at(s->still, w->at + s->bias);
	s->storage = w->kind == MT_ELF_LOCAL_MODULE
		? storage_by_number(s->still, s->thread_pointer, word)
		: s->thread_pointer + word - w->value;
}

/* Where a file has its storage in a thread: the executable is the first that has any; the dynamic
 * linker has written into the data of others where theirs is. */
static uint64_t find_storage(const struct mt_still *s, uint64_t thread_pointer,
	const struct opened *o, bool is_program)
{
	struct storage_search search = {s, thread_pointer, o->bias, 0};

	if (is_program)
		return storage_by_number(s, thread_pointer, 1);
	mt_elf_local_words(o->fd, try_local_word, &search);
	return search.storage;
}

static bool try_storage(struct describing *d, const struct mt_tracee_mapping *m,
	uint64_t thread_pointer)
{
	struct opened o;
	uint64_t storage;
	bool found = false;

	if (!open_module(&o, d->still, m, PF_X))
		return false;
	storage = find_storage(d->still, thread_pointer, &o, m->is_program);
	if (storage && storage <= d->address)
		found = find_variable(d->to, &o, d->address - storage, true);
	close_module(&o);
	if (found)
		d->to->module = mt_strdup(m->path);
	return found;
}

/* ---- keys of pthread_setspecific ------------------------------------------------------------- */

#define KEYS_AT_ONCE 32u /* glibc has tables of so many */
#define KEY_BYTES 16u    /* a count, and the value */

/* For debuggers, glibc tells where its record of a thread has what: bits of an element, how many,
 * and the offset. */
static void take_specific(void *context, const struct mt_elf_variable *v)
{
	if (!strcmp(v->name, "_thread_db_pthread_specific"))
		*(uint64_t *)context = v->value;
}

static bool find_key(struct describing *d, uint64_t thread_pointer)
{
	uint64_t described = 0, table;
	struct opened o;

	for (uint32_t i = 0; i < d->still->map_count && !described; i++) {
		const struct mt_tracee_mapping *m = &d->still->maps[i];
		const char *name = strrchr(m->path, '/');

		if (!m->is_code || !name || strcmp(name, "/libc.so.6")
			|| !open_module(&o, d->still, m, PF_X))
			continue;
		mt_elf_variables(o.fd, take_specific, &described);
		close_module(&o);
	}
	if (!described)
		return false;
	uint32_t offset = (uint32_t)word_at(d->still, described + o.bias + 8);

	table = word_at(d->still, thread_pointer + offset); /* of the first keys: it is there */
	if (d->address - table >= KEYS_AT_ONCE * KEY_BYTES)
		return false;
	d->to->key = (int)((d->address - table) / KEY_BYTES);
	return true;
}

static void describe_thread_local(struct describing *d, const struct mt_root *root)
{
	uint64_t thread_pointer = d->still->threads[root->thread]->thread_pointer;

	if (d->address >= thread_pointer) {
		find_key(d, thread_pointer);
		return;
	}
	for (uint32_t i = 0; i < d->still->map_count; i++)
		if (d->still->maps[i].is_code && d->still->maps[i].is_file
			&& try_storage(d, &d->still->maps[i], thread_pointer))
			return;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int read_still(void *context, uint64_t address, void *to, size_t size)
{
	const struct mt_still *s = context;

	mt_still_memory_read(&s->memory, &(struct mt_span){address, size}, 1, to);
	return 0;
}

/* The module as the recording has it, with which names are looked up; or as it is mapped. */
static bool take_module(const struct describing *d, uint64_t pc, struct mt_profile *p)
{
	const struct mt_tracee_mapping *m = map_at(d->still, pc);
	struct mt_module module = {0};
	struct opened o;

	for (uint32_t i = d->profile->module_count; i-- > 0;)
		if (pc >= d->profile->modules[i].start && pc < d->profile->modules[i].end) {
			module = d->profile->modules[i];
			module.path = mt_strings_add(&p->strings,
				mt_strings_get(&d->profile->strings, module.path));
			mt_profile_add_module(p, &module);
			return true;
		}
	if (!m || !m->is_file || !open_module(&o, d->still, m, PF_X))
		return false;
	module = (struct mt_module){.start = m->low, .end = m->high, .bias = o.bias};
	module.path = mt_strings_add(&p->strings, m->path);
	mt_profile_add_module(p, &module);
	close_module(&o);
	return true;
}

/* The innermost frame of the pc that is not inlined: only that has a part of the stack. */
static void take_frame(struct describing *d, const struct mt_profile *p,
	const struct mt_symbols *symbols, uint32_t pc)
{
	struct mt_backtrace_frame frame;
	uint32_t first, count = mt_pc_frames(symbols, pc, &first);

	if (!count)
		return;
	mt_frame_describe(&frame, p, symbols, pc, first + count - 1);
	d->to->function = mt_strdup(frame.function);
	d->to->source = mt_strdup(frame.source);
	d->to->module = mt_strdup(frame.module);
	d->to->module_offset = frame.offset;
	d->to->line = frame.line;
	d->to->has_frame = true;
}

static void look_up(struct describing *d, uint64_t pc)
{
	struct mt_resolver_options options = {.root_pid = (uint32_t)d->still->pid};
	struct mt_lookup lookup = {.looks = MT_LOOKUP_LOOKS};
	struct mt_symbols symbols;
	struct mt_profile p;
	struct mt_err ignored;

	mt_profile_init(&p);
	mt_symbols_init(&symbols);
	if (take_module(d, pc, &p)) {
		uint32_t id = mt_profile_add_pc(&p, &(struct mt_pc){.address = pc});

		lookup.resolver = mt_resolver_new(&options);
		mt_lookup(&lookup, &p, &symbols, &ignored);
		take_frame(d, &p, &symbols, id);
	}
	mt_symbols_free(&symbols);
	mt_profile_free(&p);
}

/* The frame whose part of the stack has the word; of a register, the innermost. */
static void describe_frame(struct describing *d, const struct mt_root *root)
{
	struct mt_tracee_frame *frames = mt_alloc(FRAMES_MOST * sizeof *frames);
	uint32_t at = 0,
		 count = mt_tracee_frames(d->still->tracee, d->still->threads[root->thread],
			 read_still, (void *)(uintptr_t)d->still, frames, FRAMES_MOST);

	while (d->address && at + 1 < count && frames[at + 1].sp <= d->address)
		at++;
	/* nobody knows where the last one ends, unless it is the outermost */
	if (at < count)
		look_up(d, frames[at].pc);
	free(frames);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void describe_mapped(struct describing *d)
{
	const struct mt_maps *maps = &d->check->roots.mapped;

	for (uint32_t i = 0; i < maps->pieces.count; i++) {
		const struct mt_map *m = &maps->pieces.items[i];

		if (d->address - m->address >= m->length)
			continue;
		d->to->map_address = m->address;
		d->to->map_bytes = m->length;
		d->to->map_node = m->node;
	}
}

static void describe_thread(struct describing *d, const struct mt_root *root)
{
	d->to->thread = d->still->threads[root->thread]->thread;
	mt_proc_read(d->to->thread, "comm", d->to->thread_name, sizeof d->to->thread_name);
	d->to->thread_name[strcspn(d->to->thread_name, "\n")] = '\0';
}

void mt_root_describe(struct mt_root_description *to, const struct mt_leakcheck *c,
	const struct mt_profile *profile, uint32_t root, uint32_t index)
{
	const struct mt_root *r = &c->roots.items[root];
	struct describing d = {to, c, &c->still, profile, 0};

	*to = (struct mt_root_description){.kind = r->kind, .key = -1};
	if (r->kind != MT_ROOT_REGISTERS)
		d.address = r->low + 8ull * index;
	if (r->kind <= MT_ROOT_THREAD_LOCAL)
		describe_thread(&d, r);
	switch (r->kind) {
	case MT_ROOT_REGISTERS:
		mt_tracee_word_name(index, to->reg);
		describe_frame(&d, r);
		break;
	case MT_ROOT_STACK: describe_frame(&d, r); break;
	case MT_ROOT_THREAD_LOCAL: describe_thread_local(&d, r); break;
	case MT_ROOT_DATA: describe_data(&d, r); break;
	case MT_ROOT_MAPPED: describe_mapped(&d); break;
	default: break;
	}
}

void mt_root_description_free(struct mt_root_description *d)
{
	free(d->function);
	free(d->source);
	free(d->variable);
	free(d->module);
}
