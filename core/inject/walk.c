/* Return addresses of a stopped thread: by call frame information as far as it goes, then by
 * searching the stack. */
#include "core/inject/internal.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_MOST (1u << 20) /* bytes of a stack */

struct mt_inject_walker {
	Dwfl *dwfl;
	struct mt_tracee *tracee;
	uint64_t registers[MT_ARCH_DWARF_COUNT];
	struct mt_inject_walk *walk; /* NULL: frames are wanted, and not a walk */
	struct mt_tracee_frame *frames;
	uint32_t frame_count, frames_most;
	mt_tracee_reader *read; /* NULL: the process's memory as it is */
	void *read_context;
	uint64_t maps; /* what the mappings were when the modules were reported */
};

/* ---- modules ---- */

static int no_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)found;
	return -1; /* .eh_frame is in the file itself, and nothing else is needed */
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = no_file,
};

static uint64_t hash_maps(const struct mt_inject_maps *maps)
{
	uint64_t hash = maps->count;

	for (uint32_t i = 0; i < maps->count; i++)
		if (maps->items[i].executable && maps->items[i].inode)
			hash = (hash ^ maps->items[i].low ^ maps->items[i].inode << 20)
				* 0x9e3779b97f4a7c15u;
	return hash;
}

/* Each file, once, from where its first byte is mapped. */
static void report(struct mt_inject_walker *w)
{
	const struct mt_inject_maps *maps = &w->tracee->maps;

	dwfl_report_begin(w->dwfl);
	for (uint32_t i = 0; i < maps->count; i++) {
		const struct mt_inject_map *map = &maps->items[i];
		int fd;

		if (map->offset)
			continue;
		fd = mt_inject_open_map(w->tracee->pid, map);
		if (fd >= 0
			&& !dwfl_report_elf(w->dwfl, mt_base_name(map->path), map->path, fd,
				map->low, false))
			close(fd);
	}
	dwfl_report_end(w->dwfl, NULL, NULL);
}

/* ---- the thread ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	struct mt_inject_walker *w = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = w;
	return w->tracee->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t thread, void *arg, void **thread_arg)
{
	(void)dwfl, (void)thread;
	*thread_arg = arg;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *to, void *arg)
{
	struct mt_inject_walker *w = arg;

	(void)dwfl;
	return w->read ? !w->read(w->read_context, address, to, sizeof *to)
		       : !mt_tracee_read(w->tracee, address, to, sizeof *to);
}

static bool set_registers(Dwfl_Thread *thread, void *thread_arg)
{
	struct mt_inject_walker *w = thread_arg;

	return dwfl_thread_state_registers(thread, 0, MT_ARCH_DWARF_COUNT, w->registers);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct mt_inject_walker *w = arg;
	struct mt_inject_walk *walk = w->walk;
	uint8_t code[MT_ARCH_RESTORER_SIZE];
	Dwarf_Addr pc;
	Dwarf_Word sp;
	bool is_exact;

	if (walk->count == sizeof walk->pc / sizeof *walk->pc
		|| !dwfl_frame_pc(frame, &pc, &is_exact))
		return DWARF_CB_ABORT;
	if (walk->count
		&& (is_exact
			|| (!mt_tracee_read(w->tracee, pc, code, sizeof code)
				&& mt_arch_is_restorer(code))))
		walk->signal_handler = true;
	walk->pc[walk->count++] = pc;
	if (!dwfl_frame_reg(frame, MT_ARCH_DWARF_SP, &sp))
		walk->rest = sp;
	return DWARF_CB_OK;
}

static int read_frames(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr at, void *arg)
{
	Dwarf_Addr bias;

	(void)data, (void)name, (void)at, (void)arg;
	dwfl_module_eh_cfi(module, &bias);
	return DWARF_CB_OK;
}

static struct mt_inject_walker *walker(struct mt_tracee *t)
{
	struct mt_inject_walker *w = t->walker;
	uint64_t maps = hash_maps(&t->maps);

	if (w && w->maps == maps)
		return w;
	mt_inject_free_walker(t);
	w = t->walker = mt_alloc(sizeof *w);
	w->tracee = t;
	w->maps = maps;
	w->dwfl = dwfl_begin(&callbacks);
	report(w);
	dwfl_attach_state(w->dwfl, NULL, t->pid, &thread_callbacks, w);
	dwfl_getmodules(w->dwfl, read_frames, NULL, 0);
	return w;
}

void mt_inject_free_walker(struct mt_tracee *t)
{
	if (!t->walker)
		return;
	dwfl_end(t->walker->dwfl);
	free(t->walker);
	t->walker = NULL;
}

void mt_inject_ready_walker(struct mt_tracee *t)
{
	walker(t);
}

void mt_inject_walk(struct mt_tracee *t, const struct mt_arch_registers *registers,
	struct mt_inject_walk *walk)
{
	struct mt_inject_walker *w = walker(t);

	*walk = (struct mt_inject_walk){.rest = mt_arch_sp(registers)};
	mt_arch_dwarf(registers, w->registers);
	w->walk = walk;
	w->read = NULL;
	if (!dwfl_getthread_frames(w->dwfl, t->pid, add_frame, w))
		walk->rest = 0;
	if (!walk->count)
		walk->pc[walk->count++] = mt_arch_pc(registers);
}

static int keep_frame(Dwfl_Frame *frame, void *arg)
{
	struct mt_inject_walker *w = arg;
	Dwarf_Addr pc;
	Dwarf_Word sp;
	bool is_exact;

	if (w->frame_count == w->frames_most || !dwfl_frame_pc(frame, &pc, &is_exact)
		|| dwfl_frame_reg(frame, MT_ARCH_DWARF_SP, &sp))
		return DWARF_CB_ABORT;
	w->frames[w->frame_count++] = (struct mt_tracee_frame){is_exact ? pc : pc - 1, sp};
	return DWARF_CB_OK;
}

uint32_t mt_tracee_frames(struct mt_tracee *t, const struct mt_tracee_registers *registers,
	mt_tracee_reader *read, void *context, struct mt_tracee_frame *frames, uint32_t most)
{
	struct mt_inject_walker *w = walker(t);

	if (!registers->count)
		return 0; /* nobody knows them */
	mt_arch_dwarf_of_words(registers->words, registers->sp, registers->pc, w->registers);
	w->walk = NULL;
	w->frames = frames;
	w->frame_count = 0;
	w->frames_most = most;
	w->read = read;
	w->read_context = context;
	dwfl_getthread_frames(w->dwfl, t->pid, keep_frame, w);
	return w->frame_count;
}

void mt_tracee_word_name(uint32_t word, char to[16])
{
	mt_arch_word_name(word, to);
}

/* ---- searching ---- */

struct search {
	uint64_t at; /* the address of the first word */
	size_t count;
	uint64_t *words;
};

/* The stack from sp to the end of its mapping; words is to be freed. */
static struct search read_stack(struct mt_tracee *t, uint64_t sp)
{
	const struct mt_inject_map *map = mt_inject_map_at(&t->maps, sp);
	struct search s = {.at = (sp + 7) & ~7ull};
	size_t size;

	if (!map || s.at >= map->high)
		return s;
	size = map->high - s.at < SEARCH_MOST ? (size_t)(map->high - s.at) : SEARCH_MOST;
	s.words = mt_alloc(size);
	s.count = mt_tracee_read(t, s.at, s.words, size) ? 0 : size / sizeof *s.words;
	return s;
}

static bool is_executable(const struct mt_tracee *t, uint64_t address)
{
	const struct mt_inject_map *map = mt_inject_map_at(&t->maps, address);

	return map && map->executable;
}

bool mt_inject_signal_frame(struct mt_tracee *t, uint64_t sp, uint64_t low, uint64_t high)
{
	struct search s = read_stack(t, sp);
	uint8_t code[MT_ARCH_RESTORER_SIZE];
	size_t pc = MT_ARCH_SIGNAL_PC / sizeof *s.words;
	bool found = false;

	for (size_t i = 0; i < s.count && i + pc < s.count && !found; i++) {
		if (high ? s.words[i + pc] < low || s.words[i + pc] >= high
			 : !is_executable(t, s.words[i + pc]))
			continue;
		found = is_executable(t, s.words[i])
			&& !mt_tracee_read(t, s.words[i], code, sizeof code)
			&& mt_arch_is_restorer(code);
	}
	free(s.words);
	return found;
}

const struct mt_inject_range *mt_inject_search(struct mt_tracee *t, uint64_t sp)
{
	struct search s = read_stack(t, sp);
	uint8_t before[MT_ARCH_CALL_MOST];
	const struct mt_inject_range *found = NULL;

	for (size_t i = 0; i < s.count && !found; i++) {
		found = mt_inject_range(t, s.words[i]);
		if (found
			&& (mt_tracee_read(t, s.words[i] - sizeof before, before, sizeof before)
				|| !mt_arch_is_call(before)))
			found = NULL;
	}
	free(s.words);
	return found;
}

/* ---- all threads ---- */

static bool has_word(struct mt_tracee *t, uint64_t sp, uint64_t low, uint64_t high)
{
	struct search s = read_stack(t, sp);
	bool found = false;

	for (size_t i = 0; i < s.count && !found; i++)
		found = s.words[i] - low < high - low;
	free(s.words);
	return found;
}

/* A word of the stack stands for a return address and for the pc in a signal frame alike. */
pid_t mt_tracee_inside(struct mt_tracee *t, uint64_t low, uint64_t high)
{
	for (uint32_t i = 0; i < t->thread_count; i++) {
		struct mt_inject_thread *thread = t->threads[i];
		struct mt_inject_wait w = {.is_waiting = true};

		if (thread->state == MT_INJECT_STOPPED) {
			w.pc = mt_arch_pc(&thread->registers);
			w.sp = mt_arch_sp(&thread->registers);
		} else if (thread->state == MT_INJECT_HELD) {
			mt_inject_read_wait(t, thread->id, &w);
		} else {
			continue;
		}
		if (!w.is_waiting || w.pc - low < high - low || has_word(t, w.sp, low, high))
			return thread->id;
	}
	return 0;
}
