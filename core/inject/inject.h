/* One call in a process that already runs, from outside. doc/inject.md has the picture: what is
 * safe at which step if this process is killed, and what a called function must keep to.
 * ptrace belongs to a thread: one thread makes all calls for a tracee. */
#ifndef MT_INJECT_INJECT_H
#define MT_INJECT_INJECT_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_tracee;

#define MT_TRACEE_SECCOMP 1u /* open it although it has a system-call filter */

/* Opens a process, and touches nothing of it. NULL: err says in one sentence why it is refused. */
struct mt_tracee *mt_tracee_open(pid_t, unsigned flags, struct mt_err *);
/* Lets all threads go. What was mapped stays for the next who opens the process, unless
 * mt_tracee_leave was called. Returns the number of threads that could not be let go, since they
 * have not left the kernel: only the end of the calling process lets these go. */
unsigned mt_tracee_close(struct mt_tracee *);

/* No thread is borrowed while its pc or a return address is in low to high, exclusive. The name is
 * that of the function for people. */
void mt_tracee_avoid(struct mt_tracee *, uint64_t low, uint64_t high, const char *name);
/* But this part of it does not matter. There is one such part at the most. */
void mt_tracee_allow(struct mt_tracee *, uint64_t low, uint64_t high);
/* The dynamic linker, allocators, fork, dlopen, pthread_create and exit. */
int mt_tracee_avoid_usual(struct mt_tracee *, struct mt_err *);

/* Stops all threads, and waits for vfork children to leave the memory. When it fails, all threads
 * run again. */
int mt_tracee_stop(struct mt_tracee *, unsigned deadline_ms, struct mt_err *);
/* Lets all threads go. Returns the number of those that have to be let go later, since they have
 * not left the kernel: call it again. */
unsigned mt_tracee_resume(struct mt_tracee *);

/* Whether any thread has a system-call filter (seccomp). */
bool mt_tracee_has_filters(struct mt_tracee *);
/* While all are stopped: whether the system-call filters (seccomp) of all threads let these calls
 * through, whatever their arguments are. */
struct mt_tracee_call_wanted {
	long number;
	const char *name;
	bool may_fail; /* with an error, which is no harm */
};
int mt_tracee_check_filters(struct mt_tracee *, const struct mt_tracee_call_wanted *,
	uint32_t count, struct mt_err *);

/* How long threads stood still since the last mt_tracee_forget_stops. */
struct mt_tracee_stop {
	pid_t thread;
	uint64_t ns; /* from the request to stop until it was let go */
};
const struct mt_tracee_stop *mt_tracee_stops(const struct mt_tracee *, uint32_t *count);
void mt_tracee_forget_stops(struct mt_tracee *);

/* Stops one thread that can make a call: the wanted one, or, if that is 0, the one that suits best.
 * If all are stopped, it is one of them. Returns its id, or a negative errno; then err names the
 * function that held the last thread. */
pid_t mt_tracee_borrow(struct mt_tracee *, pid_t wanted, unsigned deadline_ms, struct mt_err *);
/* Lets a borrowed thread make a call and go on with what it did. Fails before the thread is touched
 * or, with -ETIMEDOUT, while the thread may still make the call. In all cases the thread was let
 * go. */
int mt_tracee_call(struct mt_tracee *, pid_t thread, uint64_t function, const uint64_t arguments[6],
	uint64_t *result, struct mt_err *);
/* The same for a system call, which must not wait with a time limit. The result is the kernel's. */
int mt_tracee_system_call(struct mt_tracee *, pid_t thread, long number,
	const uint64_t arguments[6], int64_t *result, struct mt_err *);
/* After a call: an address that lies beside what is ours in the process, the same for everybody who
 * opens it until mt_tracee_leave. Whatever is mapped exactly there is the caller's, or was that of
 * one who was killed. 0: no call was made. */
uint64_t mt_tracee_beside(const struct mt_tracee *);
/* Takes code and memory out of the process again, with borrowed threads. */
int mt_tracee_leave(struct mt_tracee *, struct mt_err *);

struct mt_tracee_symbol {
	uint64_t address, size; /* the size never goes beyond the module's code */
	bool is_indirect;       /* the address is that of a resolver (STT_GNU_IFUNC) */
	bool is_local;          /* no other module can call it by its name */
};
/* A function of the first mapped file whose name begins with `module`, such as "libc.so"; "" is the
 * executable. */
int mt_tracee_find(struct mt_tracee *, const char *module, const char *name,
	struct mt_tracee_symbol *, struct mt_err *);

/* Its mappings by address, as of the last mt_tracee_refresh; false: there are no so many. */
struct mt_tracee_mapping {
	uint64_t low, high;
	const char *path; /* until the next refresh; "" when there is none */
	bool is_program;  /* of the executable's file */
	bool is_code;     /* can be executed */
	bool is_readable, is_writable, is_shared;
	bool is_file; /* has an inode: path is that of a file, or of shared memory */
	uint64_t offset;
};
bool mt_tracee_mapping(const struct mt_tracee *, uint32_t index, struct mt_tracee_mapping *);
/* The path of the executable's mappings. */
void mt_tracee_program_path(const struct mt_tracee *, char *to, size_t size);
/* Reads the mappings again. */
int mt_tracee_refresh(struct mt_tracee *, struct mt_err *);
/* Takes those of another process, which is a copy of it. */
int mt_tracee_refresh_from(struct mt_tracee *, pid_t copy, struct mt_err *);

/* Calls each for every function that the symbol tables of a mapped file define, with its address in
 * the process; a function that two tables name comes twice. path is that of its mappings; debug
 * a descriptor of the separate file with its symbols, or -1. Returns -ENOENT if the file cannot be
 * read. */
typedef void mt_tracee_each(void *context, const char *name, const struct mt_tracee_symbol *);
int mt_tracee_functions(struct mt_tracee *, const char *path, int debug, mt_tracee_each *,
	void *context);
/* Opens a mapped file; path is that of its mappings. -1: it cannot be. */
int mt_tracee_open_file(struct mt_tracee *, const char *path);
pid_t mt_tracee_pid(const struct mt_tracee *);
/* What the file has that is mapped at the address; -ENOENT: no file, or not so many bytes. */
int mt_tracee_read_file(struct mt_tracee *, uint64_t address, void *to, size_t size);

/* How many threads mt_tracee_stop has stopped. */
uint32_t mt_tracee_stopped(const struct mt_tracee *);
/* While all are stopped: what a thread keeps in its registers. */
#define MT_TRACEE_WORDS 2048u
struct mt_tracee_registers {
	pid_t thread;
	uint64_t sp, pc;
	uint64_t thread_pointer; /* 0: not known */
	/* what else can hold a pointer; 0: it waits in the kernel and has not stopped, so nobody
	 * can tell */
	uint32_t count;
	uint64_t words[MT_TRACEE_WORDS];
};
/* The name of the register that has such a word: "rbx", "xmm3". */
void mt_tracee_word_name(uint32_t word, char to[16]);
/* The frames of a thread whose registers were so, innermost first, by call frame information, as
 * far as that goes; also when the thread runs again: read gives the memory of then, or is negative.
 * sp: a frame's part of the stack begins there, and ends where that of the next one begins. Returns
 * how many there are, at most `most`. */
struct mt_tracee_frame {
	uint64_t pc; /* of a caller: of its call */
	uint64_t sp;
};
typedef int mt_tracee_reader(void *context, uint64_t address, void *to, size_t size);
uint32_t mt_tracee_frames(struct mt_tracee *, const struct mt_tracee_registers *,
	mt_tracee_reader *, void *context, struct mt_tracee_frame *, uint32_t most);
/* false: there are no so many threads. */
bool mt_tracee_registers(struct mt_tracee *, uint32_t index, struct mt_tracee_registers *);
/* While all are stopped: a thread whose pc, or a word of whose stack, is in low to high, exclusive;
 * 0: there is none. A word that only looks like an address counts. */
pid_t mt_tracee_inside(struct mt_tracee *, uint64_t low, uint64_t high);
/* While all are stopped: whether every thread has its number, as the process sees it, so many bytes
 * behind its thread pointer. */
bool mt_tracee_has_number_at(struct mt_tracee *, uint64_t offset);

int mt_tracee_read(const struct mt_tracee *, uint64_t address, void *to, size_t size);
int mt_tracee_write(const struct mt_tracee *, uint64_t address, const void *from, size_t size);

#endif
