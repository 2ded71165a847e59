#include "core/leakcheck/describe.h"
#include "core/base/buffer.h"
#include "core/base/elf.h"
#include "core/base/proc.h"
#include "core/query/frame.h"
#include "core/symbol/debug_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_MOST 4096u

/* A variable of a module. */
struct variable {
	uint64_t value, size;
	bool thread_local;
	char *name;
};
struct module {
	const char *path; /* of the mappings */
	bool known;       /* false: the file cannot be read, or has no such part */
	unsigned part;    /* PF_W or PF_X: of which the bias is */
	uint64_t bias;
	struct variable *variables;
	uint32_t variable_count, variable_capacity;
	/* words by which the storage of a thread is found */
	struct mt_elf_local_word *locals;
	uint32_t local_count, local_capacity;
};
/* A stack, walked once. */
struct stack {
	struct mt_tracee_frame *frames;
	uint32_t count;
	bool walked;
};
/* A pc that was looked up. */
struct place {
	uint64_t pc;
	bool found;
	char *function, *source, *module;
	uint32_t line;
	uint64_t offset;
};
struct mt_describer {
	const struct mt_leakcheck *check;
	const struct mt_still *still;
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	struct module *modules;
	uint32_t module_count, module_capacity;
	struct stack *stacks; /* by thread */
	struct place *places;
	uint32_t place_count, place_capacity;
	uint64_t specific; /* where glibc describes its record of a thread; 0: nowhere */
	bool specific_asked;
};
struct describing {
	struct mt_root_description *to;
	struct mt_describer *by;
	const struct mt_still *still;
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

static void keep_variable(void *context, const struct mt_elf_variable *v)
{
	struct module *m = context;

	if (!*v->name || !v->size)
		return;
	MT_GROW(m->variables, m->variable_count, m->variable_capacity);
	m->variables[m->variable_count++] =
		(struct variable){v->value, v->size, v->is_thread_local, mt_strdup(v->name)};
}

static void keep_local(void *context, const struct mt_elf_local_word *w)
{
	struct module *m = context;

	MT_GROW(m->locals, m->local_count, m->local_capacity);
	m->locals[m->local_count++] = *w;
}

static int by_value(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	return x->value != y->value  ? (x->value < y->value ? -1 : 1)
		: x->size != y->size ? (x->size < y->size ? -1 : 1)
				     : strcmp(x->name, y->name);
}

static void read_module(struct module *to, const struct mt_still *s,
	const struct mt_tracee_mapping *m)
{
	int fd = mt_tracee_open_file(s->tracee, m->path), debug;

	to->known = fd >= 0 && mt_elf_bias(fd, m->offset, m->low, to->part, &to->bias);
	if (to->known) {
		mt_elf_variables(fd, keep_variable, to);
		mt_elf_local_words(fd, keep_local, to);
		debug = mt_debug_file_open(fd, m->path, m->path, s->pid);
		if (debug >= 0) {
			mt_elf_variables(debug, keep_variable, to);
			close(debug);
		}
		if (to->variable_count)
			qsort(to->variables, to->variable_count, sizeof *to->variables, by_value);
	}
	if (fd >= 0)
		close(fd);
}

/* NULL: nothing is known of it. part: PF_W or PF_X, as the mapping is of. */
static const struct module *module_of(struct mt_describer *by, const struct mt_tracee_mapping *m,
	unsigned part)
{
	for (uint32_t i = 0; i < by->module_count; i++)
		if (by->modules[i].part == part && !strcmp(by->modules[i].path, m->path))
			return by->modules[i].known ? &by->modules[i] : NULL;
	MT_GROW(by->modules, by->module_count, by->module_capacity);
	struct module *module = &by->modules[by->module_count++];

	*module = (struct module){.path = m->path, .part = part};
	read_module(module, by->still, m);
	return module->known ? module : NULL;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The one that begins last before the value, and has it inside; or one before, which is larger. */
static bool find_variable(struct mt_root_description *to, const struct module *m, uint64_t value,
	bool thread_local)
{
	uint32_t low = 0, high = m->variable_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->variables[middle].value <= value)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t tries = 0; low-- > 0 && tries < 64; tries++) {
		const struct variable *v = &m->variables[low];

		if (v->thread_local != thread_local || value - v->value >= v->size)
			continue;
		to->variable = mt_demangle(v->name);
		to->variable_offset = value - v->value;
		return true;
	}
	return false;
}

static void describe_data(struct describing *d, const struct mt_root *root)
{
	const struct mt_tracee_mapping *m = &d->still->maps[root->map];
	const struct module *module;

	/* zeroes have a mapping of their own behind the file's */
	while (!m->is_file && m > d->still->maps)
		m--;
	d->to->module = mt_strdup(m->path);
	module = module_of(d->by, m, PF_W);
	if (!module)
		return;
	d->to->module_offset = d->address - module->bias;
	find_variable(d->to, module, d->address - module->bias, false);
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

/* Where a file has its storage in a thread: the executable is the first that has any; the dynamic
 * linker has written into the data of others where theirs is. */
static uint64_t find_storage(const struct mt_still *s, uint64_t thread_pointer,
	const struct module *m, bool is_program)
{
	const struct mt_elf_local_word *w = m->locals;

	if (is_program)
		return storage_by_number(s, thread_pointer, 1);
	if (!m->local_count)
		return 0;
	uint64_t word = word_at(s, w->at + m->bias);

	return w->kind == MT_ELF_LOCAL_MODULE ? storage_by_number(s, thread_pointer, word)
					      : thread_pointer + word - w->value;
}

static bool try_storage(struct describing *d, const struct mt_tracee_mapping *m,
	uint64_t thread_pointer)
{
	const struct module *module = module_of(d->by, m, PF_X);
	uint64_t storage =
		module ? find_storage(d->still, thread_pointer, module, m->is_program) : 0;

	if (!storage || storage > d->address
		|| !find_variable(d->to, module, d->address - storage, true))
		return false;
	d->to->module = mt_strdup(m->path);
	return true;
}

/* ---- keys of pthread_setspecific ------------------------------------------------------------- */

#define KEYS_AT_ONCE 32u /* glibc has tables of so many */
#define KEY_BYTES 16u    /* a count, and the value */

/* For debuggers, glibc tells where its record of a thread has what: bits of an element, how many,
 * and the offset. */
static uint64_t find_specific(struct mt_describer *by)
{
	for (uint32_t i = 0; i < by->still->map_count; i++) {
		const struct mt_tracee_mapping *m = &by->still->maps[i];
		const char *name = strrchr(m->path, '/');
		const struct module *module;

		if (!m->is_code || !name || strcmp(name, "/libc.so.6")
			|| !(module = module_of(by, m, PF_X)))
			continue;
		for (uint32_t k = 0; k < module->variable_count; k++)
			if (!strcmp(module->variables[k].name, "_thread_db_pthread_specific"))
				return module->variables[k].value + module->bias;
	}
	return 0;
}

static bool find_key(struct describing *d, uint64_t thread_pointer)
{
	uint64_t table;

	if (!d->by->specific_asked)
		d->by->specific = find_specific(d->by);
	d->by->specific_asked = true;
	if (!d->by->specific)
		return false;
	uint32_t offset = (uint32_t)word_at(d->still, d->by->specific + 8);

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
static bool take_module(struct mt_describer *by, uint64_t pc, struct mt_profile *p)
{
	const struct mt_tracee_mapping *m = map_at(by->still, pc);
	const struct mt_profile *known = by->profile;
	struct mt_module module = {0};
	const struct module *mapped;

	for (uint32_t i = known->module_count; i-- > 0;)
		if (pc >= known->modules[i].start && pc < known->modules[i].end) {
			module = known->modules[i];
			module.path = mt_strings_add(&p->strings,
				mt_strings_get(&known->strings, module.path));
			mt_profile_add_module(p, &module);
			return true;
		}
	mapped = m && m->is_file ? module_of(by, m, PF_X) : NULL;
	if (!mapped)
		return false;
	module = (struct mt_module){.start = m->low, .end = m->high, .bias = mapped->bias};
	module.path = mt_strings_add(&p->strings, m->path);
	mt_profile_add_module(p, &module);
	return true;
}

/* The frame of the pc that is not inlined: only that has a part of the stack. */
static void take_frame(struct place *to, const struct mt_profile *p,
	const struct mt_symbols *symbols, uint32_t pc)
{
	struct mt_backtrace_frame frame;
	uint32_t first, count = mt_pc_frames(symbols, pc, &first);

	if (!count)
		return;
	mt_frame_describe(&frame, p, symbols, pc, first + count - 1);
	to->function = mt_strdup(frame.function);
	to->source = mt_strdup(frame.source);
	to->module = mt_strdup(frame.module);
	to->offset = frame.offset;
	to->line = frame.line;
	to->found = true;
}

static void look_up(struct mt_describer *by, struct place *place)
{
	struct mt_resolver_options options = {.root_pid = (uint32_t)by->still->pid};
	struct mt_lookup lookup = {.looks = MT_LOOKUP_LOOKS};
	struct mt_symbols symbols;
	struct mt_profile p;
	struct mt_err ignored;

	mt_profile_init(&p);
	mt_symbols_init(&symbols);
	if (take_module(by, place->pc, &p)) {
		uint32_t id = mt_profile_add_pc(&p, &(struct mt_pc){.address = place->pc});

		lookup.resolver = mt_resolver_new(&options);
		mt_lookup(&lookup, &p, &symbols, &ignored);
		take_frame(place, &p, &symbols, id);
	}
	mt_symbols_free(&symbols);
	mt_profile_free(&p);
}

static const struct place *place_of(struct mt_describer *by, uint64_t pc)
{
	for (uint32_t i = 0; i < by->place_count; i++)
		if (by->places[i].pc == pc)
			return &by->places[i];
	MT_GROW(by->places, by->place_count, by->place_capacity);
	struct place *place = &by->places[by->place_count++];

	*place = (struct place){.pc = pc};
	look_up(by, place);
	return place;
}

static const struct stack *stack_of(struct mt_describer *by, uint32_t thread)
{
	struct stack *s = &by->stacks[thread];

	if (s->walked)
		return s;
	s->walked = true;
	s->frames = mt_alloc(FRAMES_MOST * sizeof *s->frames);
	s->count = mt_tracee_frames(by->still->tracee, by->still->threads[thread], read_still,
		(void *)(uintptr_t)by->still, s->frames, FRAMES_MOST);
	return s;
}

/* The frame whose part of the stack has the word; of a register, the innermost. What is behind the
 * last one that is known is its, too. */
static void describe_frame(struct describing *d, const struct mt_root *root)
{
	const struct stack *s = stack_of(d->by, root->thread);
	uint32_t at = 0;

	while (d->address && at + 1 < s->count && s->frames[at + 1].sp <= d->address)
		at++;
	if (at == s->count)
		return;
	const struct place *place = place_of(d->by, s->frames[at].pc);

	if (!place->found)
		return;
	d->to->has_frame = true;
	d->to->function = mt_strdup(place->function);
	d->to->source = mt_strdup(place->source);
	d->to->module = mt_strdup(place->module);
	d->to->module_offset = place->offset;
	d->to->line = place->line;
}

/* The C library puts a thread's own storage and its record of the thread behind the thread's stack,
 * into the same mapping. */
static bool describe_behind_stack(struct describing *d, const struct mt_root *root)
{
	uint64_t thread_pointer = d->still->threads[root->thread]->thread_pointer;
	const struct stack *s = stack_of(d->by, root->thread);

	if (!thread_pointer || thread_pointer < root->low || thread_pointer >= root->high
		|| !s->count || d->address < s->frames[s->count - 1].sp)
		return false;
	describe_thread_local(d, root);
	return d->to->variable || d->to->key >= 0 || d->address >= thread_pointer;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Who has mapped it. While the program ends, names of the recording are still to come. */
static void describe_caller(struct describing *d)
{
	struct mt_backtrace backtrace = {0};
	const struct mt_backtrace_frame *own;
	const struct place *place = NULL;
	const char *name;

	if (!d->to->map_node)
		return;
	mt_backtrace_of(&backtrace, d->by->profile, d->by->symbols, d->to->map_node);
	own = backtrace.count ? mt_backtrace_own(&backtrace) : NULL;
	if (own && own->pc >= MT_PC_FIRST && !*own->function)
		place = place_of(d->by, d->by->profile->pcs[own->pc].address);
	name = place && place->found ? place->function : own ? own->function : "";
	if (*name)
		d->to->function = mt_strdup(name);
	mt_backtrace_free(&backtrace);
}

static void describe_mapped(struct describing *d)
{
	const struct mt_maps *maps = &d->by->check->roots.mapped;

	for (uint32_t i = 0; i < maps->pieces.count; i++) {
		const struct mt_map *m = &maps->pieces.items[i];

		if (d->address - m->address >= m->length)
			continue;
		d->to->map_address = m->address;
		d->to->map_bytes = m->length;
		d->to->map_node = m->node;
		describe_caller(d);
	}
}

static void describe_thread(struct describing *d, const struct mt_root *root)
{
	d->to->thread = d->still->threads[root->thread]->thread;
	mt_proc_read(d->to->thread, "comm", d->to->thread_name, sizeof d->to->thread_name);
	d->to->thread_name[strcspn(d->to->thread_name, "\n")] = '\0';
}

void mt_root_describe(struct mt_describer *by, uint32_t root, uint32_t index,
	struct mt_root_description *to)
{
	const struct mt_root *r = &by->check->roots.items[root];
	struct describing d = {to, by, by->still, 0};

	*to = (struct mt_root_description){.kind = r->kind, .key = -1};
	if (r->kind != MT_ROOT_REGISTERS)
		to->address = d.address = r->low + 8ull * index;
	if (r->kind <= MT_ROOT_THREAD_LOCAL)
		describe_thread(&d, r);
	switch (r->kind) {
	case MT_ROOT_REGISTERS:
		mt_tracee_word_name(index, to->reg);
		describe_frame(&d, r);
		break;
	case MT_ROOT_STACK:
		if (describe_behind_stack(&d, r))
			to->kind = MT_ROOT_THREAD_LOCAL;
		else
			describe_frame(&d, r);
		break;
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

struct mt_describer *mt_describer_new(const struct mt_leakcheck *c,
	const struct mt_profile *profile, const struct mt_symbols *symbols)
{
	struct mt_describer *by = mt_alloc(sizeof *by);

	by->check = c;
	by->still = &c->still;
	by->profile = profile;
	by->symbols = symbols;
	by->stacks = mt_alloc((c->still.thread_count + 1ull) * sizeof *by->stacks);
	return by;
}

void mt_describer_free(struct mt_describer *by)
{
	if (!by)
		return;
	for (uint32_t i = 0; i < by->module_count; i++) {
		for (uint32_t k = 0; k < by->modules[i].variable_count; k++)
			free(by->modules[i].variables[k].name);
		free(by->modules[i].variables);
		free(by->modules[i].locals);
	}
	for (uint32_t i = 0; i < by->still->thread_count; i++)
		free(by->stacks[i].frames);
	for (uint32_t i = 0; i < by->place_count; i++) {
		free(by->places[i].function);
		free(by->places[i].source);
		free(by->places[i].module);
	}
	free(by->modules);
	free(by->stacks);
	free(by->places);
	free(by);
}

/* ---- in words -------------------------------------------------------------------------------- */

static void add(struct mt_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct mt_buffer *b, const char *format, ...)
{
	char text[2048];
	va_list arguments;

	va_start(arguments, format);
	int n = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	mt_buffer_add(b, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

static void add_thread(struct mt_buffer *b, const struct mt_root_description *d)
{
	add(b, " of thread %d", (int)d->thread);
	if (*d->thread_name)
		add(b, " (%s)", d->thread_name);
}

static void add_frame(struct mt_buffer *b, const struct mt_root_description *d)
{
	if (!d->has_frame)
		return;
	add(b, ", in %s", d->function);
	if (d->line)
		add(b, "  %s:%u", d->source, d->line);
}

static void add_variable(struct mt_buffer *b, const struct mt_root_description *d)
{
	add(b, "variable %s", d->variable);
	if (d->variable_offset)
		add(b, "+%" PRIu64, d->variable_offset);
}

static void add_data(struct mt_buffer *b, const struct mt_root_description *d)
{
	if (d->variable) {
		add_variable(b, d);
		add(b, ", ");
	}
	add(b, "data of %s", d->module ? d->module : "?");
	if (d->module_offset)
		add(b, "+%#" PRIx64, d->module_offset);
}

static void add_thread_local(struct mt_buffer *b, const struct mt_root_description *d)
{
	if (d->key >= 0) {
		add(b, "value of pthread key %d", d->key);
	} else if (d->variable) {
		add(b, "thread-local ");
		add_variable(b, d);
	} else {
		add(b, "thread-local storage");
	}
	add_thread(b, d);
	if (d->module)
		add(b, ", %s", d->module);
}

static void add_mapped(struct mt_buffer *b, const struct mt_root_description *d)
{
	add(b, "memory that the program has mapped");
	if (d->map_bytes)
		add(b, " at %#" PRIx64 "+%" PRIu64, d->map_address, d->address - d->map_address);
	if (d->function)
		add(b, ", by %s", d->function);
}

char *mt_root_words(const struct mt_root_description *d)
{
	struct mt_buffer b = {0};

	switch (d->kind) {
	case MT_ROOT_REGISTERS:
		add(&b, "register %s", d->reg);
		add_thread(&b, d);
		add_frame(&b, d);
		break;
	case MT_ROOT_STACK:
		add(&b, "stack");
		add_thread(&b, d);
		add_frame(&b, d);
		break;
	case MT_ROOT_THREAD_LOCAL: add_thread_local(&b, d); break;
	case MT_ROOT_DATA: add_data(&b, d); break;
	case MT_ROOT_MAPPED: add_mapped(&b, d); break;
	default: add(&b, "unrecorded memory at %#" PRIx64, d->address); break;
	}
	mt_buffer_add(&b, "", 1);
	return (char *)b.data;
}
