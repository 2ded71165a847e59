/* What the files of core/inject share. */
#ifndef MT_INJECT_INTERNAL_H
#define MT_INJECT_INTERNAL_H

#include "core/base/buffer.h"
#include "core/base/proc.h"
#include "core/inject/arch.h"
#include "core/inject/inject.h"

#include <sys/stat.h>

#define MT_INJECT_PAGE 4096u
#define MT_INJECT_STOP_NS \
	100000000ull /* a thread that does not stop for so long is judged by /proc */
#define MT_INJECT_STOP_MOST_NS 1600000000ull /* the same, when it was tried before */
#define MT_INJECT_CALL_NS 10000000000ull

/* ---- what is known of a process before it is touched ---- */

struct mt_inject_facts {
	pid_t pid, process; /* the process that pid is a thread of */
	bool exists, ended, is_kernel, is_self, is_32_bit, is_other_machine, can_open, is_stopped;
	bool has_shadow_stack;
	uid_t uid, own_uid;
	pid_t tracer;
	char tracer_name[64];
	int seccomp, ptrace_scope; /* -1: there is no Yama */
};
void mt_inject_gather(pid_t, struct mt_inject_facts *);
/* 0, or the refusal. */
int mt_inject_judge(const struct mt_inject_facts *, unsigned flags, struct mt_err *);

/* ---- mappings ---- */

struct mt_inject_map {
	uint64_t low, high, offset, inode;
	bool readable, writable, executable, shared;
	char *path; /* "" when there is none */
};
struct mt_inject_maps {
	struct mt_inject_map *items;
	uint32_t count, capacity;
};
int mt_inject_read_maps(pid_t, struct mt_inject_maps *, struct mt_err *);
void mt_inject_free_maps(struct mt_inject_maps *);
const struct mt_inject_map *mt_inject_map_at(const struct mt_inject_maps *, uint64_t address);
/* Opens the file of a mapping; -1: it cannot be opened, or another one has its name now. */
int mt_inject_open_map(pid_t, const struct mt_inject_map *);

/* ---- a tracee ---- */

enum mt_inject_state {
	MT_INJECT_SEEN,    /* not asked yet */
	MT_INJECT_ASKED,   /* to stop */
	MT_INJECT_STOPPED, /* by us */
	MT_INJECT_HELD,    /* has not stopped; waits in the kernel, which it leaves stopped */
	MT_INJECT_GONE,
};
struct mt_inject_thread {
	pid_t id;
	enum mt_inject_state state;
	uint64_t asked_ns;
	bool is_group_stop; /* of job control */
	bool listed;        /* in the pass that runs */
	struct mt_arch_registers registers;
};
struct mt_inject_range {
	uint64_t low, high;
	char *name;
};
/* A module in which only functions with a name are trusted. */
struct mt_inject_module {
	uint64_t low, high;
	struct mt_inject_range *known; /* by address, without names */
	uint32_t count;
};
/* What is ours in the process. */
struct mt_inject_place {
	uint64_t foothold; /* 0: not looked for yet */
	uint64_t base;     /* of the mapping; 0: none is chosen */
	unsigned slot;     /* the next */
	bool is_settled;   /* no call of a killed injector can change it any more */
};
struct mt_tracee {
	pid_t pid;
	int memory; /* /proc/PID/mem */
	uint64_t start_time, stack_start;
	unsigned flags;
	int timer_slack, nice; /* the caller's */
	bool all_stopped;
	uint64_t patience_ns; /* for a thread to stop */
	pid_t refused;        /* a thread that the kernel does not let us seize */
	unsigned turn;
	struct mt_inject_maps maps;
	struct mt_inject_thread **threads; /* each stays in its place while it is stopped */
	uint32_t thread_count, thread_capacity;
	struct mt_inject_range *ranges;
	uint32_t range_count, range_capacity;
	uint64_t allowed_low, allowed_high;
	struct mt_inject_module *modules;
	uint32_t module_count, module_capacity;
	struct mt_tracee_stop *stops;
	uint32_t stop_count, stop_capacity;
	struct mt_inject_place place;
	struct mt_inject_walker *walker;
};

uint64_t mt_inject_now(void);
/* A short pause between two looks. */
void mt_inject_pause(unsigned *looks);
/* 0, or a sentence if the process has ended or executed another program. */
int mt_inject_check_alive(const struct mt_tracee *, struct mt_err *);

/* ---- threads ---- */

/* What /proc says of a thread that was not stopped. */
struct mt_inject_wait {
	bool is_waiting; /* in the kernel; else nothing below holds */
	long number;     /* of the system call; -1: a fault or an interrupt */
	uint64_t sp, pc;
};
void mt_inject_read_wait(const struct mt_tracee *, pid_t, struct mt_inject_wait *);
bool mt_inject_is_worker(pid_t thread);
struct mt_inject_thread *mt_inject_thread(struct mt_tracee *, pid_t);
/* Adds the threads that are not known; returns how many. */
uint32_t mt_inject_list(struct mt_tracee *);
/* Seizes and interrupts. */
void mt_inject_ask(struct mt_tracee *, struct mt_inject_thread *);
/* Sees whether it has stopped. */
void mt_inject_look(struct mt_tracee *, struct mt_inject_thread *);
/* Waits for the stop for at most 100 ms. */
bool mt_inject_await(struct mt_tracee *, struct mt_inject_thread *);
/* Lets a stopped thread go. */
void mt_inject_release(struct mt_tracee *, struct mt_inject_thread *);
/* Lets those go that have stopped late. */
void mt_inject_release_late(struct mt_tracee *);
/* A process that shares the memory: 0: none. */
pid_t mt_inject_sharer(const struct mt_tracee *);

/* ---- judgement ---- */

/* 0: the stopped thread can be borrowed. */
int mt_inject_usable(struct mt_tracee *, struct mt_inject_thread *, struct mt_err *);
/* The return addresses of a stopped thread, innermost first, the pc first of all. */
struct mt_inject_walk {
	uint64_t pc[256];
	uint32_t count;
	uint64_t rest;       /* from here on, the stack has to be searched; 0: the walk is whole */
	bool signal_handler; /* a frame is that of a signal */
};
/* Reads the modules, so that no thread has to stand still for it. */
void mt_inject_ready_walker(struct mt_tracee *);
void mt_inject_walk(struct mt_tracee *, const struct mt_arch_registers *, struct mt_inject_walk *);
void mt_inject_free_walker(struct mt_tracee *);
/* True if the stack from sp on has a signal frame that returns into low to high; high 0: any. */
bool mt_inject_signal_frame(struct mt_tracee *, uint64_t sp, uint64_t low, uint64_t high);
/* The range that a return address on the stack from sp on is in, or NULL. */
const struct mt_inject_range *mt_inject_search(struct mt_tracee *, uint64_t sp);
/* The range that the address is in, or NULL. */
const struct mt_inject_range *mt_inject_range(const struct mt_tracee *, uint64_t address);

/* ---- functions of a mapped file ---- */

/* Calls each for every function of a file, with its address in the process. debug: a descriptor of
 * the separate file with its symbols, or -1. */
int mt_inject_symbols(struct mt_tracee *, const struct mt_inject_map *code, int debug,
	mt_tracee_each *, void *context);

/* ---- inside the process ---- */

/* True if no thread can be inside any more: the one that was sent there last has ended, or stands
 * outside. */
bool mt_inject_is_outside(struct mt_tracee *, pid_t last, uint64_t low, uint64_t high);
/* Finds or makes code and memory, with system calls of the stopped thread, which is stopped again
 * afterwards. -EAGAIN: it can no longer be borrowed, and was let go. */
int mt_inject_prepare(struct mt_tracee *, struct mt_inject_thread *, struct mt_err *);

/* The end of a file's code in the process, where unused bytes of its last page begin; 0: it is not
 * known. */
uint64_t mt_inject_code_end(struct mt_tracee *, const struct mt_inject_map *code);

#endif
