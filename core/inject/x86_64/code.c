/* The two pieces of code that run in the target, as bytes, and their data. They are position
 * independent and are never called here. doc/inject.md says why each looks as it does. */
#include "core/base/assert.h"
#include "core/inject/arch.h"

#include <cpuid.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define STRIDE 480u    /* from one gate to the next, and from one slot to the next */
#define SLOTS 69632u   /* of the base: behind the code and 64 KiB of stack */
#define VECTORS 73728u /* where xsave writes */
#define VECTORS_SIZE 16384u
#define FUNCTION (MT_ARCH_SLOTS * STRIDE) /* the one that makes a system call */

/* A slot as the gate sees it. The offsets are repeated in its text below. */
struct slot {
	uint32_t state;
	int32_t thread;
	uint64_t function, arguments[6], result;
	uint64_t back_pc, back_rax;
	uint64_t rdi, rsi, rdx, r10, rcx, r11, rsp; /* the gate's */
	uint64_t mask, all;                         /* of signals: the thread's; all of them */
	uint64_t stack, vectors;
	uint64_t number;
};
_Static_assert(offsetof(struct slot, arguments) == 16, "the gate's text");
_Static_assert(offsetof(struct slot, result) == 64, "the gate's text");
_Static_assert(offsetof(struct slot, back_pc) == 72, "the gate's text");
_Static_assert(offsetof(struct slot, rdi) == 88, "the gate's text");
_Static_assert(offsetof(struct slot, rsp) == 136, "the gate's text");
_Static_assert(offsetof(struct slot, mask) == 144, "the gate's text");
_Static_assert(offsetof(struct slot, stack) == 160, "the gate's text");
_Static_assert(offsetof(struct slot, number) == 176, "the gate's text");
_Static_assert(sizeof(struct slot) <= sizeof(struct mt_arch_slot), "a slot has room");

/* A foothold's data behind its code. */
struct foothold {
	char magic[MT_ARCH_FOOTHOLD_MAGIC];
	int32_t thread, unused;
	uint64_t base;
	uint8_t code[72]; /* the text below, filled up with zeroes */
	uint64_t rax, rdi, rsi, rdx, r10, r8, r9, rcx, r11, pc;
};
#define FOOTHOLD_CODE 32
_Static_assert(offsetof(struct foothold, code) == FOOTHOLD_CODE, "the entry");
_Static_assert(sizeof(struct foothold) <= MT_ARCH_FOOTHOLD_SIZE, "a foothold has room");
static const char magic[MT_ARCH_FOOTHOLD_MAGIC] = "memtui inject 1";

/* Only mov stands between the program's flags and the jump: it changes none of them, and a system
 * call keeps them. */
// clang-format off
__asm__(
	".pushsection .rodata.mt_inject, \"a\"\n"
	".balign 16\n"
	"mt_inject_foothold_text:\n"
	".set regs, mt_inject_foothold_text + 72\n"
	"	syscall\n"
	"	mov regs+0(%rip), %rax\n"
	"	mov regs+8(%rip), %rdi\n"
	"	mov regs+16(%rip), %rsi\n"
	"	mov regs+24(%rip), %rdx\n"
	"	mov regs+32(%rip), %r10\n"
	"	mov regs+40(%rip), %r8\n"
	"	mov regs+48(%rip), %r9\n"
	"	mov regs+56(%rip), %rcx\n"
	"	mov regs+64(%rip), %r11\n"
	"	jmp *regs+72(%rip)\n"
	"mt_inject_foothold_end:\n"
	".balign 16\n"
	"mt_inject_gate_text:\n"
	".set slot, mt_inject_gate_text + 69632\n"
	"	mov %rdi, slot+88(%rip)\n"
	"	mov %rsi, slot+96(%rip)\n"
	"	mov %rdx, slot+104(%rip)\n"
	"	mov %r10, slot+112(%rip)\n"
	"	mov %rcx, slot+120(%rip)\n"
	"	mov %r11, slot+128(%rip)\n"
	"	movl $2, slot+0(%rip)\n"            /* MT_ARCH_ENTERED */
	"	mov $0, %edi\n"                     /* SIG_BLOCK */
	"	lea slot+152(%rip), %rsi\n"
	"	lea slot+144(%rip), %rdx\n"
	"	mov $8, %r10d\n"
	"	mov $14, %eax\n"                    /* rt_sigprocmask */
	"	syscall\n"
	"	mov %rsp, slot+136(%rip)\n"
	"	mov slot+160(%rip), %rsp\n"         /* the program's stack is left */
	"	pushfq\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %rbx\n"
	"	cld\n"
	"	mov slot+168(%rip), %rbx\n"
	"	mov $-1, %eax\n"
	"	mov $-1, %edx\n"
	"	xsave64 (%rbx)\n"
	"	fninit\n"                           /* as the ABI promises to a function */
	"	movl $0x1f80, -4(%rsp)\n"
	"	ldmxcsr -4(%rsp)\n"
	"	mov slot+16(%rip), %rdi\n"
	"	mov slot+24(%rip), %rsi\n"
	"	mov slot+32(%rip), %rdx\n"
	"	mov slot+40(%rip), %rcx\n"
	"	mov slot+48(%rip), %r8\n"
	"	mov slot+56(%rip), %r9\n"
	"	mov slot+176(%rip), %rax\n"
	"	call *slot+8(%rip)\n"
	"	mov %rax, slot+64(%rip)\n"
	"	mov $-1, %eax\n"
	"	mov $-1, %edx\n"
	"	xrstor64 (%rbx)\n"
	"	pop %rbx\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	popfq\n"
	"	mov slot+136(%rip), %rsp\n"
	"	movl $3, slot+0(%rip)\n"            /* MT_ARCH_RETURNED: our stack is free */
	"	mov $2, %edi\n"                     /* SIG_SETMASK: from here on a handler may run */
	"	lea slot+144(%rip), %rsi\n"
	"	mov $0, %edx\n"
	"	mov $8, %r10d\n"
	"	mov $14, %eax\n"
	"	syscall\n"
	"	mov slot+80(%rip), %rax\n"
	"	mov slot+88(%rip), %rdi\n"
	"	mov slot+96(%rip), %rsi\n"
	"	mov slot+104(%rip), %rdx\n"
	"	mov slot+112(%rip), %r10\n"
	"	mov slot+120(%rip), %rcx\n"
	"	mov slot+128(%rip), %r11\n"
	"	movl $4, slot+0(%rip)\n"            /* MT_ARCH_LEFT */
	"	jmp *slot+72(%rip)\n"
	"mt_inject_gate_end:\n"
	".balign 16\n"
	"mt_inject_system_call_text:\n"             /* the number is in rax */
	"	mov %rcx, %r10\n"
	"	syscall\n"
	"	ret\n"
	"mt_inject_system_call_end:\n"
	".popsection\n");
// clang-format on
extern const uint8_t mt_inject_foothold_text[], mt_inject_foothold_end[];
extern const uint8_t mt_inject_gate_text[], mt_inject_gate_end[];
extern const uint8_t mt_inject_system_call_text[], mt_inject_system_call_end[];

/* ---- where a thread goes back to ---- */

#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516
#define SYSCALL_SIZE 2u /* bytes of the instruction */

/* What the kernel would do if the thread went on by itself. */
static void back(const struct mt_arch_registers *r, uint64_t *pc, uint64_t *rax)
{
	int64_t result = (int64_t)r->all.rax;

	*pc = r->all.rip;
	*rax = r->all.rax;
	if ((int64_t)r->all.orig_rax < 0)
		return;
	if (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND)
		*rax = r->all.orig_rax;
	else if (result == -ERESTART_RESTARTBLOCK)
		*rax = SYS_restart_syscall;
	else
		return;
	*pc -= SYSCALL_SIZE;
}

/* ---- foothold ---- */

void mt_arch_foothold(struct mt_arch_foothold *f, pid_t thread, uint64_t base,
	const struct mt_arch_registers *r)
{
	struct foothold to = {.thread = thread,
		.base = base,
		.rdi = r->all.rdi,
		.rsi = r->all.rsi,
		.rdx = r->all.rdx,
		.r10 = r->all.r10,
		.r8 = r->all.r8,
		.r9 = r->all.r9,
		.rcx = r->all.rcx,
		.r11 = r->all.r11};
	size_t size = (size_t)(mt_inject_foothold_end - mt_inject_foothold_text);

	mt_assert(size <= sizeof to.code);
	memcpy(to.magic, magic, sizeof magic);
	memcpy(to.code, mt_inject_foothold_text, size);
	back(r, &to.pc, &to.rax);
	memset(f, 0, sizeof *f);
	memcpy(f->bytes, &to, sizeof to);
}

bool mt_arch_foothold_read(const struct mt_arch_foothold *f, pid_t *thread, uint64_t *base)
{
	struct foothold from;

	memcpy(&from, f->bytes, sizeof from);
	*thread = from.thread;
	*base = from.base;
	return !memcmp(from.magic, magic, sizeof magic);
}

/* ---- gate ---- */

void mt_arch_code(uint8_t to[MT_ARCH_CODE_SIZE])
{
	size_t size = (size_t)(mt_inject_gate_end - mt_inject_gate_text);

	mt_assert(size <= STRIDE);
	memset(to, 0xcc, MT_ARCH_CODE_SIZE);
	for (unsigned i = 0; i < MT_ARCH_SLOTS; i++)
		memcpy(to + i * STRIDE, mt_inject_gate_text, size);
	memcpy(to + FUNCTION, mt_inject_system_call_text,
		(size_t)(mt_inject_system_call_end - mt_inject_system_call_text));
}

uint64_t mt_arch_slot_address(uint64_t base, unsigned slot)
{
	return base + SLOTS + (uint64_t)slot * STRIDE;
}

uint64_t mt_arch_system_call_function(uint64_t base)
{
	return base + FUNCTION;
}

void mt_arch_slot(struct mt_arch_slot *s, uint64_t base, pid_t thread,
	const struct mt_arch_call *call, const struct mt_arch_registers *r)
{
	struct slot to = {.state = MT_ARCH_ARMED,
		.thread = thread,
		.function = call->function,
		.number = call->number,
		.all = ~0ull,
		.stack = base + SLOTS,
		.vectors = base + VECTORS};

	memcpy(to.arguments, call->arguments, sizeof to.arguments);
	back(r, &to.back_pc, &to.back_rax);
	memset(s, 0, sizeof *s);
	memcpy(s->bytes, &to, sizeof to);
}

enum mt_arch_state mt_arch_slot_read(const struct mt_arch_slot *s, pid_t *thread, uint64_t *result)
{
	struct slot from;

	memcpy(&from, s->bytes, sizeof from);
	*thread = from.thread;
	*result = from.result;
	return from.state <= MT_ARCH_LEFT ? (enum mt_arch_state)from.state : MT_ARCH_ENTERED;
}

const char *mt_arch_refusal(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid_count(1, 0, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return "this processor has no xsave";
	if (!__get_cpuid_count(13, 0, &a, &b, &c, &d) || b > VECTORS_SIZE)
		return "the vector registers of this processor are larger than 16 KiB";
	return NULL;
}

/* ---- the commits ---- */

uint64_t mt_arch_foothold_entry(uint64_t foothold)
{
	return foothold + FOOTHOLD_CODE;
}

uint64_t mt_arch_gate_entry(uint64_t base, unsigned slot)
{
	return base + (uint64_t)slot * STRIDE;
}
