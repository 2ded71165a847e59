/* A library that is opened with RTLD_DEEPBIND is bound to what it needs itself, so to libc, before
 * what comes first in the program: it would pass the tracer by. Nothing of ours runs between the
 * dynamic linker's look at the symbols and the library's first call. So before the first such
 * opening the entries in the symbol tables of libc, and of what else our functions go on to, are
 * made to say where ours are: whoever is bound to one of these functions from then on is bound to
 * ours, at whatever time, and a function that the library brings itself is found before as ever. */
#include "preload/install/deepbind.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "preload/base/installed.h"
#include "preload/base/sys.h"
#include "preload/install/patched.h"
#include "preload/segment/segment.h"
#include "preload/symbols/find.h"

/* Looks at another thread that is at it: that takes less than a millisecond, but it may be kept
 * from running. */
#define LOOK_NS 10000000
#define LOOKS 200

void *(*mt_real_dlopen)(const char *, int);
void *(*mt_real_dlmopen)(Lmid_t, const char *, int);

enum { FRESH, AT_WORK, DONE, FAILED };
static uint32_t state;
static const struct mt_thread_local *worker; /* whose thread was at it last */
static bool refused;

/* What the dynamic linker has mapped from one part of a file. */
struct part {
	uint64_t start, end;
	int protection;
};

static bool find_part(uint64_t address, struct part *part)
{
	struct dl_find_object object;
	const Elf64_Ehdr *file;
	const Elf64_Phdr *phdr;

	if (mt_object_of((void *)address, &object) < 0)
		return false;
	file = object.dlfo_map_start;
	phdr = (const void *)((const uint8_t *)file + file->e_phoff);
	if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_phoff > MT_WIRE_PAGE
		|| file->e_phnum > 64)
		return false;
	for (int i = 0; i < file->e_phnum; i++, phdr++) {
		uint64_t start = object.dlfo_link_map->l_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD || address - start >= phdr->p_memsz)
			continue;
		part->start = start / MT_WIRE_PAGE * MT_WIRE_PAGE;
		part->end = start + phdr->p_memsz;
		part->protection = (phdr->p_flags & PF_R ? PROT_READ : 0)
			| (phdr->p_flags & PF_W ? PROT_WRITE : 0)
			| (phdr->p_flags & PF_X ? PROT_EXEC : 0);
		return true;
	}
	return false;
}

/* What the tracer must see for the program to go on as it would alone. */
static bool is_vital(const char *name)
{
	static const char *const names[] = {"prctl", "syscall", "dlclose", "dlopen", "dlmopen",
		"_Fork", "setrlimit", "setrlimit64", "prlimit", "prlimit64", "mlockall"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Where another library provides malloc, libc's goes on to be libc's: ours would give the other's
 * blocks. */
static bool is_libcs(void)
{
	return mt_tracer.allocator.rule == MT_USABLE_GLIBC;
}

/* Others may be reading the entry. All of the part is opened, so that it stays one mapping. Where
 * others may be running in it, too, it is left alone: some filters kill who asks for memory that
 * can be written and run. */
static void lead_here(const struct link_map *map, Elf64_Sym *symbol, const char *name,
	uint64_t function)
{
	struct part p;

	if (!is_libcs() && !is_vital(name))
		return;
	if (!find_part((uint64_t)symbol, &p) || p.protection & PROT_EXEC
		|| mt_sys3(SYS_mprotect, p.start, p.end - p.start, p.protection | PROT_WRITE) < 0) {
		refused = true;
		return;
	}
	mt_store(&symbol->st_value, function - map->l_addr); /* wraps where ours lies below */
	mt_sys3(SYS_mprotect, p.start, p.end - p.start, p.protection);
}

/* The thread that is at it may be this one, below a signal handler, or not have come along with a
 * fork that nobody has told of. */
static bool all_lead_here(void)
{
	uint32_t found = FRESH;

	if (mt_swap_if(&state, &found, AT_WORK)) {
		worker = &mt_tls;
		mt_store(&mt_tracer.found_for_good, true);
		mt_find_each_next(lead_here);
		mt_store_release(&state, refused ? FAILED : DONE);
		mt_sys_futex_wake(&state);
	} else if (found == AT_WORK) {
		for (int i = 0; i < LOOKS && worker != &mt_tls && mt_load(&state) == AT_WORK; i++)
			mt_sys_futex_wait_bits(&state, AT_WORK,
				mt_sys_clock(CLOCK_MONOTONIC) + LOOK_NS, UINT32_MAX);
		mt_swap_if(&state, &found, FAILED);
	}
	return mt_load_acquire(&state) == DONE;
}

void mt_deepbind_in_child(void)
{
	if (mt_load(&state) == AT_WORK && worker != &mt_tls)
		mt_store(&state, FRESH);
}

static void count_unseen(void)
{
	mt_add(&mt_tracer.unseen_libraries, 1);
	mt_segment_count_unseen();
}

static bool is_off(void)
{
	return mt_load(&mt_tracer.phase) == MT_PHASE_OFF;
}

/* The program itself, and what is there already, is bound as it is. */
static bool may_bind(const char *path, int flags)
{
	return path && *path && !(flags & RTLD_NOLOAD);
}

static void lead_deep(const char *path, int flags)
{
	if (!(flags & RTLD_DEEPBIND) || !may_bind(path, flags) || is_off())
		return;
	if ((!mt_tracer.allocator.address && !mt_real_ready()) || !all_lead_here() || !is_libcs())
		count_unseen();
}

/* From the hook of dlopen, before the real one. */
void mt_before_dlopen(const char *path, int flags);
void mt_before_dlopen(const char *path, int flags)
{
	/* not by dlsym: the program's own may have come here to find the real one */
	mt_find_once("dlopen", &mt_real_dlopen);
	if (may_bind(path, flags))
		mt_patched_watch();
	lead_deep(path, flags);
}

/* From that of dlmopen. Another name space has a libc of its own. */
void mt_before_dlmopen(Lmid_t space, const char *path, int flags);
void mt_before_dlmopen(Lmid_t space, const char *path, int flags)
{
	mt_find_once("dlmopen", &mt_real_dlmopen);
	if (space == LM_ID_BASE)
		lead_deep(path, flags);
	else if (may_bind(path, flags) && !is_off())
		count_unseen();
}
