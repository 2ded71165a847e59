/* Which processes are refused and why, without such processes; and bytes that are recognised. */
#include "core/inject/internal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>

static const struct mt_inject_facts fine = {.pid = 7,
	.process = 7,
	.exists = true,
	.can_open = true,
	.uid = 1000,
	.own_uid = 1000,
	.ptrace_scope = -1};

static void refused(const struct mt_inject_facts *f, unsigned flags, int code, const char *words)
{
	struct mt_err err = {0};

	assert_int_equal(mt_inject_judge(f, flags, &err), code);
	if (code && !strstr(err.text, words))
		fail_msg("'%s' does not say '%s'", err.text, words);
}

static void sentences(void **unused)
{
	struct mt_inject_facts f = fine;

	(void)unused;
	refused(&f, 0, 0, "");
	f.has_shadow_stack = true;
	refused(&f, 0, -ENOTSUP, "shadow stacks");
	f = fine;
	f.is_32_bit = true;
	refused(&f, 0, -ENOTSUP, "32-bit");
	f = fine;
	f.is_other_machine = true;
	refused(&f, 0, -ENOTSUP, "another processor");
	f = fine;
	f.seccomp = 2;
	refused(&f, 0, -ENOTSUP, "seccomp");
	refused(&f, MT_TRACEE_SECCOMP, 0, "");
	f = fine;
	f.tracer = 12;
	strcpy(f.tracer_name, "gdb");
	refused(&f, 0, -EBUSY, "traced by gdb (process 12)");
	f = fine;
	f.is_self = true;
	refused(&f, 0, -EINVAL, "memtui itself");
}

/* The kernel has said no; the sentence says which of its rules that was. */
static void rights(void **unused)
{
	struct mt_inject_facts f = fine;

	(void)unused;
	f.can_open = false;
	refused(&f, 0, -EPERM, "PR_SET_DUMPABLE");
	f.ptrace_scope = 1;
	refused(&f, 0, -EPERM, "kernel.yama.ptrace_scope=1");
	f.ptrace_scope = 3;
	refused(&f, 0, -EPERM, "until it is started again");
	f.uid = 0;
	refused(&f, 0, -EPERM, "another user (uid 0)");
}

static void calls(void **unused)
{
	static const uint8_t direct[] = {0, 0, 0xe8, 1, 2, 3, 4},
			     reg[] = {0, 0, 0, 0, 0, 0xff, 0xd0},
			     rip[] = {0, 0xff, 0x15, 1, 2, 3, 4},
			     jump[] = {0, 0xff, 0x25, 1, 2, 3, 4};

	(void)unused;
	assert_true(mt_arch_is_call(direct));
	assert_true(mt_arch_is_call(reg));
	assert_true(mt_arch_is_call(rip));
	assert_false(mt_arch_is_call(jump));
}

/* An interrupted call goes on where the kernel would have let it go on. */
static void places(void **unused)
{
	struct mt_arch_registers r = {.all = {.rip = 1002, .orig_rax = 0, .rax = (uint64_t)-512}};
	struct mt_arch_foothold f;
	uint8_t code[MT_ARCH_CODE_SIZE];
	uint64_t base, at[2];
	pid_t thread;

	(void)unused;
	mt_arch_foothold(&f, 5, 0x1000, &r);
	assert_true(mt_arch_foothold_read(&f, &thread, &base));
	assert_int_equal(thread, 5);
	assert_int_equal(base, 0x1000);
	memcpy(at, f.bytes + 104, 8);
	memcpy(at + 1, f.bytes + 104 + 72, 8);
	assert_int_equal(at[0], SYS_read);
	assert_int_equal(at[1], 1000);
	r.all.orig_rax = (uint64_t)-1; /* not in a call: the value is the program's */
	mt_arch_foothold(&f, 5, 0x1000, &r);
	memcpy(at, f.bytes + 104, 8);
	memcpy(at + 1, f.bytes + 104 + 72, 8);
	assert_int_equal(at[0], (uint64_t)-512);
	assert_int_equal(at[1], 1002);
	mt_arch_code(code);
	for (unsigned i = 1; i < MT_ARCH_SLOTS; i++)
		assert_memory_equal(code, code + i * mt_arch_gate_entry(0, 1), 256);
	f.bytes[0] ^= 1;
	assert_false(mt_arch_foothold_read(&f, &thread, &base));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences),
		cmocka_unit_test(rights),
		cmocka_unit_test(calls),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
