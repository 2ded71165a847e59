/* Filters of system calls: every way through them that arguments can take is seen. */
#include "core/inject/filters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define COUNT(code) ((unsigned)(sizeof(code) / sizeof *(code)))

static unsigned judge_of(const struct sock_filter *code, unsigned count, long number)
{
	return mt_filters_judge(code, count, (uint32_t)number);
}
#define JUDGE(code, number) judge_of((code), COUNT(code), (number))

static void numbers_are_told_apart(void **state)
{
	const struct sock_filter code[] = {
		LOAD(arch),
		IS(AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		IS(SYS_mmap, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		IS(SYS_futex, 0, 1),
		RETURN(SECCOMP_RET_LOG),
		IS(SYS_openat, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | 13),
		IS(SYS_socket, 0, 1),
		RETURN(SECCOMP_RET_TRAP),
		RETURN(SECCOMP_RET_KILL_THREAD),
	};

	(void)state;
	assert_int_equal(JUDGE(code, SYS_mmap), MT_FILTER_ALLOWS);
	assert_int_equal(JUDGE(code, SYS_futex), MT_FILTER_ALLOWS);
	assert_int_equal(JUDGE(code, SYS_openat), MT_FILTER_FAILS);
	assert_int_equal(JUDGE(code, SYS_socket), MT_FILTER_HARMS);
	assert_int_equal(JUDGE(code, SYS_read), MT_FILTER_HARMS);
}

/* The way that is taken hangs on an argument: all that may come of it is told. */
static void arguments_are_unknown(void **state)
{
	const struct sock_filter code[] = {
		LOAD(nr),
		IS(SYS_prctl, 0, 4),
		LOAD(args[0]),
		IS(15, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_filter masked[] = {
		LOAD(args[2]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 4),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_ST, 3),
		LOAD(nr),
		BPF_STMT(BPF_LD | BPF_MEM, 3),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_X, 0, 0, 1),
		RETURN(SECCOMP_RET_TRAP),
		RETURN(SECCOMP_RET_ALLOW),
	};

	(void)state;
	assert_int_equal(JUDGE(code, SYS_prctl), MT_FILTER_ALLOWS | MT_FILTER_FAILS);
	assert_int_equal(JUDGE(code, SYS_read), MT_FILTER_HARMS);
	assert_int_equal(JUDGE(masked, SYS_mmap), MT_FILTER_ALLOWS | MT_FILTER_HARMS);
}

static void sums_are_computed(void **state)
{
	const struct sock_filter code[] = {
		LOAD(nr),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1),
		BPF_STMT(BPF_ST, 15),
		BPF_STMT(BPF_LDX | BPF_MEM, 15),
		BPF_STMT(BPF_LD | BPF_IMM, 3 * SYS_munmap + 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 31),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	(void)state;
	assert_int_equal(JUDGE(code, SYS_munmap), MT_FILTER_ALLOWS);
	assert_int_equal(JUDGE(code, SYS_mmap), MT_FILTER_FAILS);
}

/* The kernel installs none of these; whoever hands them to us does no harm. */
static void what_is_damaged_is_unclear(void **state)
{
	const struct sock_filter endless[] = {LOAD(nr)};
	const struct sock_filter away[] = {BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
		RETURN(SECCOMP_RET_ALLOW)};
	const struct sock_filter memory[] = {BPF_STMT(BPF_ST, 16), RETURN(SECCOMP_RET_ALLOW)};
	const struct sock_filter of_argument[] = {LOAD(args[0]), BPF_STMT(BPF_RET | BPF_A, 0)};
	struct sock_filter ways[2 * 40 + 1];

	(void)state;
	assert_true(JUDGE(endless, SYS_mmap) & MT_FILTER_UNCLEAR);
	assert_true(JUDGE(away, SYS_mmap) & MT_FILTER_UNCLEAR);
	assert_true(JUDGE(memory, SYS_mmap) & MT_FILTER_UNCLEAR);
	assert_true(JUDGE(of_argument, SYS_mmap) & MT_FILTER_UNCLEAR);
	assert_true(judge_of(NULL, 0, SYS_mmap) & MT_FILTER_UNCLEAR);
	/* 2^40 ways */
	for (unsigned i = 0; i < 40; i++) {
		ways[2 * i] = (struct sock_filter)LOAD(args[0]);
		ways[2 * i + 1] = (struct sock_filter)IS(i, 0, 0);
	}
	ways[2 * 40] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	assert_true(JUDGE(ways, SYS_mmap) & MT_FILTER_UNCLEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_told_apart),
		cmocka_unit_test(arguments_are_unknown),
		cmocka_unit_test(sums_are_computed),
		cmocka_unit_test(what_is_damaged_is_unclear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
