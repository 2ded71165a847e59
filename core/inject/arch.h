/* What depends on the processor: the code that runs in the target, registers, and restarts of
 * system calls. x86_64/ has it. */
#ifndef MT_INJECT_ARCH_H
#define MT_INJECT_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct mt_arch_registers {
	struct user_regs_struct all;
};

int mt_arch_get(pid_t thread, struct mt_arch_registers *);
uint64_t mt_arch_pc(const struct mt_arch_registers *);
uint64_t mt_arch_sp(const struct mt_arch_registers *);
uint64_t mt_arch_thread_pointer(const struct mt_arch_registers *);
bool mt_arch_is_64_bit(const struct mt_arch_registers *);
/* The system call that the thread is in, or -1. */
long mt_arch_system_call(const struct mt_arch_registers *);
/* By the numbers of DWARF, the pc last. */
#define MT_ARCH_DWARF_COUNT 17u
#define MT_ARCH_DWARF_SP 7u
void mt_arch_dwarf(const struct mt_arch_registers *, uint64_t to[MT_ARCH_DWARF_COUNT]);

/* All words of the registers of a stopped thread that can hold a pointer, vector registers, too, as
 * far as they fit. Returns how many. */
uint32_t mt_arch_words(pid_t thread, const struct mt_arch_registers *, uint64_t *to, uint32_t most);

/* The inverse of mt_arch_words: by the numbers of DWARF, the pc last. */
void mt_arch_dwarf_of_words(const uint64_t *words, uint64_t sp, uint64_t pc,
	uint64_t to[MT_ARCH_DWARF_COUNT]);
void mt_arch_word_name(uint32_t word, char to[16]);

/* System calls that end with EINTR when their thread is stopped, without a signal. */
bool mt_arch_is_interrupted_by_stop(long number);
/* System calls that wait for a child. */
bool mt_arch_is_wait(long number);
/* System calls that make a process or thread; some of them wait for it. */
bool mt_arch_is_fork(long number);
/* Turns such an EINTR into a restart that the kernel makes. 0: there was none, or it was done. */
int mt_arch_repair(pid_t thread, struct mt_arch_registers *);

/* Bytes before a return address: true if they end with a call. */
#define MT_ARCH_CALL_MOST 7u
bool mt_arch_is_call(const uint8_t before[MT_ARCH_CALL_MOST]);
/* Bytes to which a signal handler returns: true if they call rt_sigreturn. */
#define MT_ARCH_RESTORER_SIZE 9u
bool mt_arch_is_restorer(const uint8_t *at);
/* The pc in a signal frame, from where the address of the restorer stands. */
#define MT_ARCH_SIGNAL_PC 176u

/* ---- foothold: one system call in unused bytes ---- */

#define MT_ARCH_FOOTHOLD_SIZE 256u
#define MT_ARCH_FOOTHOLD_MAGIC 16u /* it begins with so many bytes that are always the same */
struct mt_arch_foothold {
	uint8_t bytes[MT_ARCH_FOOTHOLD_SIZE];
};
/* The image of a foothold. base: where the mapping is, or is to be. */
void mt_arch_foothold(struct mt_arch_foothold *, pid_t thread, uint64_t base,
	const struct mt_arch_registers *);
bool mt_arch_foothold_read(const struct mt_arch_foothold *, pid_t *thread, uint64_t *base);

/* ---- gate: a call on a stack of its own, in one of several slots ---- */

#define MT_ARCH_SLOTS 8u
#define MT_ARCH_CODE_SIZE 4096u
#define MT_ARCH_DATA_SIZE (4096u * (16 + 1 + 4)) /* stack, slots, vector registers */
#define MT_ARCH_SIZE (MT_ARCH_CODE_SIZE + MT_ARCH_DATA_SIZE)
enum mt_arch_state {
	MT_ARCH_IDLE,
	MT_ARCH_ARMED,    /* the commit may come */
	MT_ARCH_ENTERED,  /* a thread is inside */
	MT_ARCH_RETURNED, /* the result is there */
	MT_ARCH_LEFT,
};
struct mt_arch_slot {
	uint8_t bytes[256];
};
/* The page of code, the same for each process. */
void mt_arch_code(uint8_t to[MT_ARCH_CODE_SIZE]);
uint64_t mt_arch_slot_address(uint64_t base, unsigned slot);
uint64_t mt_arch_system_call_function(uint64_t base);
/* number: what the function finds in the register that holds the number of a system call. */
struct mt_arch_call {
	uint64_t function, number, arguments[6];
};
void mt_arch_slot(struct mt_arch_slot *, uint64_t base, pid_t thread, const struct mt_arch_call *,
	const struct mt_arch_registers *);
enum mt_arch_state mt_arch_slot_read(const struct mt_arch_slot *, pid_t *thread, uint64_t *result);
/* Why the gate cannot save the vector registers here; NULL: it can. */
const char *mt_arch_refusal(void);

/* ---- the commits ---- */

uint64_t mt_arch_foothold_entry(uint64_t foothold);
uint64_t mt_arch_gate_entry(uint64_t base, unsigned slot);
int mt_arch_commit_foothold(pid_t thread, const struct mt_arch_registers *, uint64_t foothold,
	long number, const uint64_t arguments[6]);
int mt_arch_commit_gate(pid_t thread, const struct mt_arch_registers *, uint64_t base,
	unsigned slot);

#endif
