/* Registers of a stopped thread, and the system call that it is in. */
#include "core/inject/arch.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define ERESTARTNOHAND 514 /* the kernel's: EINTR if a handler runs, else again */
#define USER_CODE_64 0x33u

int mt_arch_get(pid_t thread, struct mt_arch_registers *r)
{
	return ptrace(PTRACE_GETREGS, thread, NULL, &r->all) ? -errno : 0;
}

uint64_t mt_arch_pc(const struct mt_arch_registers *r)
{
	return r->all.rip;
}
uint64_t mt_arch_sp(const struct mt_arch_registers *r)
{
	return r->all.rsp;
}
uint64_t mt_arch_thread_pointer(const struct mt_arch_registers *r)
{
	return r->all.fs_base;
}
bool mt_arch_is_64_bit(const struct mt_arch_registers *r)
{
	return r->all.cs == USER_CODE_64;
}

long mt_arch_system_call(const struct mt_arch_registers *r)
{
	return (long)r->all.orig_rax < 0 ? -1 : (long)r->all.orig_rax;
}

void mt_arch_dwarf(const struct mt_arch_registers *r, uint64_t to[MT_ARCH_DWARF_COUNT])
{
	const struct user_regs_struct *u = &r->all;
	const uint64_t in_order[MT_ARCH_DWARF_COUNT] = {u->rax, u->rdx, u->rcx, u->rbx, u->rsi,
		u->rdi, u->rbp, u->rsp, u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14,
		u->r15, u->rip};

	for (unsigned i = 0; i < MT_ARCH_DWARF_COUNT; i++)
		to[i] = in_order[i];
}

uint32_t mt_arch_words(pid_t thread, const struct mt_arch_registers *r, uint64_t *to, uint32_t most)
{
	const struct user_regs_struct *u = &r->all;
	const uint64_t general[] = {u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp, u->r8,
		u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15};
	uint32_t count = sizeof general / sizeof *general;

	if (most < count)
		return 0;
	memcpy(to, general, sizeof general);
	struct iovec rest = {to + count, (most - count) * sizeof *to};

	if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_X86_XSTATE, &rest))
		return count;
	return count + (uint32_t)(rest.iov_len / sizeof *to);
}

#define GENERAL 15u /* of the words */

void mt_arch_dwarf_of_words(const uint64_t *words, uint64_t sp, uint64_t pc,
	uint64_t to[MT_ARCH_DWARF_COUNT])
{
	memcpy(to, words, MT_ARCH_DWARF_SP * sizeof *to);
	to[MT_ARCH_DWARF_SP] = sp;
	memcpy(to + MT_ARCH_DWARF_SP + 1, words + MT_ARCH_DWARF_SP,
		(GENERAL - MT_ARCH_DWARF_SP) * sizeof *to);
	to[MT_ARCH_DWARF_COUNT - 1] = pc;
}

/* Intel's manual, volume 1, "Legacy region of an XSAVE area": 16 bytes each from 160 on. */
void mt_arch_word_name(uint32_t word, char to[16])
{
	static const char general[GENERAL][4] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
	uint32_t byte = (word - GENERAL) * 8;

	if (word < GENERAL)
		snprintf(to, 16, "%s", general[word]);
	else if (byte >= 160 && byte < 160 + 16 * 16)
		snprintf(to, 16, "xmm%u", (byte - 160) / 16);
	else
		snprintf(to, 16, "vector register");
}

/* signal(7), "Interruption of system calls and library functions by stop signals". The calls on
 * sockets do so only with a time limit (SO_RCVTIMEO). Calls that a restart would repeat in part,
 * such as send and connect, are not among them. */
bool mt_arch_is_interrupted_by_stop(long number)
{
	switch (number) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg: return true;
	default: return false;
	}
}

bool mt_arch_is_wait(long number)
{
	return number == SYS_wait4 || number == SYS_waitid;
}

bool mt_arch_is_fork(long number)
{
	return number == SYS_fork || number == SYS_vfork || number == SYS_clone
		|| number == SYS_clone3 || number == SYS_execve || number == SYS_execveat;
}

int mt_arch_repair(pid_t thread, struct mt_arch_registers *r)
{
	if (!mt_arch_is_interrupted_by_stop(mt_arch_system_call(r))
		|| (int64_t)r->all.rax != -EINTR)
		return 0;
	r->all.rax = (uint64_t)-ERESTARTNOHAND;
	return ptrace(PTRACE_SETREGS, thread, NULL, &r->all) ? -errno : 0;
}

/* Direct (e8), and indirect through a register or memory (ff /2) in two to seven bytes. */
bool mt_arch_is_call(const uint8_t before[MT_ARCH_CALL_MOST])
{
	if (before[MT_ARCH_CALL_MOST - 5] == 0xe8)
		return true;
	for (unsigned size = 2; size <= MT_ARCH_CALL_MOST; size++) {
		const uint8_t *at = before + MT_ARCH_CALL_MOST - size;

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}

/* mov $15, %rax or %eax; syscall */
bool mt_arch_is_restorer(const uint8_t *at)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	bool is_wide = true, is_narrow = true;

	for (unsigned i = 0; i < sizeof wide; i++)
		is_wide &= at[i] == wide[i];
	for (unsigned i = 0; i < sizeof narrow; i++)
		is_narrow &= at[i] == narrow[i];
	return is_wide || is_narrow;
}

/* All that the thread needs from here on lies in its memory. orig_rax keeps the kernel from
 * restarting a system call with our pc. */
static int commit(pid_t thread, struct user_regs_struct *to, uint64_t pc)
{
	to->rip = pc;
	to->orig_rax = (unsigned long long)-1;
	return ptrace(PTRACE_SETREGS, thread, NULL, to) ? -errno : 0;
}

int mt_arch_commit_foothold(pid_t thread, const struct mt_arch_registers *r, uint64_t foothold,
	long number, const uint64_t arguments[6])
{
	struct user_regs_struct to = r->all;

	to.rax = (unsigned long long)number;
	to.rdi = arguments[0];
	to.rsi = arguments[1];
	to.rdx = arguments[2];
	to.r10 = arguments[3];
	to.r8 = arguments[4];
	to.r9 = arguments[5];
	return commit(thread, &to, mt_arch_foothold_entry(foothold));
}

int mt_arch_commit_gate(pid_t thread, const struct mt_arch_registers *r, uint64_t base,
	unsigned slot)
{
	struct user_regs_struct to = r->all;

	return commit(thread, &to, mt_arch_gate_entry(base, slot));
}
