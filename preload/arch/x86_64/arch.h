/* All that depends on x86-64: entry state, registers, signal frame, clock, system calls.
 * Another architecture offers the same names in a folder of its own. */
#ifndef MT_ARCH_H
#define MT_ARCH_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* What an unwinder needs of a function's caller: where the call returns to, and the stack and frame
 * pointer as they are after the return. */
struct mt_entry {
	uint64_t pc, sp, fp;
};

/* The entry state of the function that uses it; that function must keep a frame pointer. */
#define MT_ENTRY() \
	({ \
		const uint64_t *mt_frame_ = __builtin_frame_address(0); \
		(struct mt_entry){mt_frame_[1], (uint64_t)(mt_frame_ + 2), mt_frame_[0]}; \
	})

/* DWARF register numbers (System V ABI, AMD64 supplement, figure 3.36). */
enum { MT_DWARF_FP = 6, MT_DWARF_SP = 7, MT_DWARF_PC = 16, MT_DWARF_RETURN_ADDRESS = 16 };

/* Where the kernel's signal frame keeps the interrupted registers, from the sp of __restore_rt:
 * ucontext.uc_mcontext.gregs[REG_RBP], [REG_RSP], [REG_RIP]. */
enum { MT_SIGNAL_FP = 120, MT_SIGNAL_SP = 160, MT_SIGNAL_PC = 168 };

/* The call instruction leaves the return address directly below the CFA. */
enum { MT_RETURN_ADDRESS_AT_CFA = -8 };

#define MT_ADDRESS_BITS 47
#define MT_ELF_MACHINE EM_X86_64 /* of files that this tracer can be loaded into */

static inline uint64_t mt_arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* The same, not before all loads that come before are done. Without this the counter is read ahead
 * of them, and a free may seem earlier than the allocation whose result it was handed by another
 * thread. */
static inline uint64_t mt_arch_ticks_after_loads(void)
{
	__asm__ volatile("lfence" : : : "memory");
	return __builtin_ia32_rdtsc();
}

struct mt_arch_cpuid {
	uint32_t a, b, c, d;
};
static inline struct mt_arch_cpuid mt_arch_cpuid(uint32_t leaf)
{
	struct mt_arch_cpuid r = {.a = leaf};

	__asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
	return r;
}

/* Whether the ticks come at one rate in all states of the processor: CPUID, leaf 80000007H, EDX bit
 * 8. */
static inline int mt_arch_invariant_ticks(void)
{
	return mt_arch_cpuid(0x80000000u).a >= 0x80000007u && mt_arch_cpuid(0x80000007u).d >> 8 & 1;
}

/* 0 when count words are what they were, else the bits that differ. All of them can be read. */
static inline __attribute__((always_inline)) uint64_t mt_arch_differ_few(const uint64_t *const *at,
	const uint64_t *was, size_t count)
{
	uint64_t differ = 0;

	for (; count >= 8; count -= 8, at += 8, was += 8) {
		/* GCC would keep sixteen addresses in place of two */
		__asm__("" : "+r"(at), "+r"(was));
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			differ |= *at[i] ^ was[i];
	}
	/* without a loop: half the instructions */
	if (count & 4) {
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			differ |= *at[i] ^ was[i];
		at += 4;
		was += 4;
	}
	if (count & 2) {
		differ |= (*at[0] ^ was[0]) | (*at[1] ^ was[1]);
		at += 2;
		was += 2;
	}
	return count & 1 ? differ | (*at[0] ^ was[0]) : differ;
}

/* Not 0 where any of them differs, in vector registers; pays for a call from so many words on. */
#define MT_ARCH_DIFFER_MANY 16
typedef uint64_t mt_arch_differ_way(const uint64_t *const *at, const uint64_t *was, size_t count);
extern mt_arch_differ_way *mt_arch_differ_many;
/* Tries the ways that there are on this processor, for some ten microseconds, and takes the fastest
 * from now on. Reads ticks. */
void mt_arch_differ_choose(void);
#define MT_ARCH_DIFFER_WAYS 3
unsigned mt_arch_differ_ways(mt_arch_differ_way *[MT_ARCH_DIFFER_WAYS]); /* how many */

/* The first word that the thread pointer leads to is its own address. */
static inline uint64_t mt_arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* The word so many bytes behind the thread pointer. */
static inline __attribute__((always_inline)) uint32_t mt_arch_thread_word(uint64_t offset)
{
	uint32_t word;

	__asm__("movl %%fs:(%1), %0" : "=r"(word) : "r"(offset));
	return word;
}

/* Adds to a word of this thread in one instruction, so that a signal handler sees it done or not
 * begun. Returns the value before. */
static inline uint64_t mt_arch_add(uint64_t *word, uint64_t n)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*word) : : "memory", "cc");
	return n;
}

/* Between looks at a word that another thread is about to change. */
static inline void mt_arch_pause(void)
{
	__asm__ volatile("pause");
}

/* The way back from a signal handler, in the bytes by which debuggers know it. */
static __attribute__((naked, used)) void mt_arch_sigreturn(void)
{
	__asm__ volatile("mov $15, %rax\n\tsyscall");
}

/* A system call that leaves errno alone and is no cancellation point. Returns -errno on failure. */
static inline long mt_arch_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
